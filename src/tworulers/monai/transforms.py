"""The recipe's augmentation as a dictionary transform: one stream of draws, the very one that training uses."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from monai.config import KeysCollection
from monai.transforms.transform import MapTransform, Randomizable

from tworulers.recipe.augment import Augmentation, apply, draw


class Augmentd(Randomizable, MapTransform):
    """Change an image (C, *sampled) and its label (1, *sampled) as nnU-Net's training does, cut to (*patch).

    Parameters
    ----------
    keys : of the image and of the label, in this order.
    augmentation : from `plan_augmentation`.
    seed : of the draws; samples are drawn one after the other, as training draws them. `Compose` seeds what it holds
        anew.

    Raises
    ------
    ValueError : other than two keys.
    """

    def __init__(self, keys: KeysCollection, augmentation: Augmentation, seed: int = 0) -> None:
        MapTransform.__init__(self, keys)
        if len(self.keys) != 2:
            raise ValueError(f"expected the keys of an image and its label, found {self.keys}")
        self.augmentation = augmentation
        self.stream = np.random.default_rng(seed)

    def set_random_state(
        self, seed: int | None = None, state: np.random.RandomState | None = None
    ) -> "Augmentd":
        """Begin the draws anew from a seed; `state` gives one where no seed is given."""
        super().set_random_state(seed, state)
        self.stream = np.random.default_rng(int(self.R.randint(2**31)) if seed is None else seed)
        return self

    def __call__(self, data: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
        """Return the data with a changed image (C, *patch) and label (1, *patch)."""
        image, label = self.keys
        drawn = draw(self.stream, self.augmentation, len(data[image]))
        changed, labels = apply(data[image], data[label][0], drawn, self.augmentation)
        return {**data, image: changed, label: labels[None]}
