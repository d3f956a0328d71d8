"""What the stored values of a label map stand for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

WIDEST_TABLE = 2**16
"""Most values between the smallest and the largest that are looked up in a table."""


def count_from(stored: npt.NDArray[Any], low: int) -> npt.NDArray[np.int64]:
    """Return how far integers, of any type and size, lie above the smallest of them, where that is no great way."""
    if stored.dtype.kind == "u":
        above: npt.NDArray[np.int64] = (stored - stored.dtype.type(low)).astype(np.int64)
        return above
    shifted: npt.NDArray[np.int64] = stored.astype(np.int64) - low
    return shifted


@dataclass(frozen=True)
class ValueMap:
    """Which structure's value each stored value stands for.

    Attributes
    ----------
    named : stored value to structure's value (0 to 255), 0 for background.
    others : what every value that is not named stands for; where it is None such values are unexpected.
    files : structure's value by the file, without extension, that holds it alone, where a map is a folder of masks.
    threshold : smallest probability that counts as the structure, where a map holds probabilities.
    """

    named: Mapping[int, int]
    others: int | None = None
    files: Mapping[str, int] = field(default_factory=dict)
    threshold: float | None = None

    def __post_init__(self) -> None:
        """Refuse structures' values that no label map of ours can hold."""
        targets = [*self.named.values(), *([] if self.others is None else [self.others])]
        if wrong := sorted({value for value in targets if not 0 <= value <= 255}):
            raise ValueError(
                f"a structure's value is from 1 to 255, found {wrong}; say with a label_map which stored values stand "
                "for it"
            )

    @classmethod
    def of_own(cls, labels: Iterable[int]) -> "ValueMap":
        """Let every value stand for itself."""
        return cls({0: 0} | {int(label): int(label) for label in labels})

    def knows(self, value: int) -> bool:
        """Tell whether a stored value stands for anything."""
        return value == 0 or self.others is not None or value in self.named

    def apply(self, stored: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
        """Put what each stored whole number stands for in its place; unexpected ones become 0."""
        stored = stored.astype(np.int64) if stored.dtype.kind not in "iu" else stored
        if not stored.size:
            return np.zeros(stored.shape, np.uint8)
        low, high = int(stored.min()), int(stored.max())
        if high - low < WIDEST_TABLE:
            table = self._look_up(range(low, high + 1))
            if low >= 0 and np.array_equal(table, np.arange(low, high + 1)):
                return stored.astype(np.uint8)
            return table[count_from(stored, low)]
        values, places = np.unique(stored, return_inverse=True)
        return self._look_up(values.tolist())[places].reshape(stored.shape)

    def _look_up(self, values: Iterable[int]) -> npt.NDArray[np.uint8]:
        default = self.others or 0
        meant = [self.named.get(value, default if value else 0) for value in values]
        return np.array(meant, np.uint8)
