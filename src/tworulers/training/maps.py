"""Maps of what networks said of every voxel, beside the label maps: how probable a structure is, and how uncertain."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import log
from pathlib import Path

from tworulers.io.images import Header, read_image, write_map
from tworulers.recipe.axes import reverse_axes
from tworulers.recipe.fuse import Floats, measure_entropy
from tworulers.schema.file_names import name_file

PROBABILITY, UNCERTAINTY = "probability", "uncertainty"
"""Folders of maps, and how settings call them."""


@dataclass(frozen=True)
class Maps:
    """Which maps are kept of every exam, in steps of 1/255 of the most that each can hold.

    Attributes
    ----------
    kinds : `probability`, one map a structure, from 0 to 1; `uncertainty`, the entropy over structures and background
        in nats, from 0 to the logarithm of their number.
    structures : label values by name.
    """

    kinds: tuple[str, ...] = ()
    structures: Mapping[str, int] = field(default_factory=dict)

    def list_files(self, folder: Path, exam: str) -> list[Path]:
        """List the maps of an exam."""
        return [path for path, _ in self._place(folder, exam)]

    def are_whole(self, folder: Path, exam: str) -> bool:
        """Tell whether every map of an exam is there and can be read."""
        try:
            for path in self.list_files(folder, exam):
                read_image(path)
        except ValueError:
            return False
        return True

    def write(self, folder: Path, exam: str, probabilities: Floats, header: Header) -> None:
        """Write the maps of an exam on the grid of its image.

        Parameters
        ----------
        folder : of the predictions.
        exam : its id, which the files are called after.
        probabilities : (class, z, y, x), by label value, before any clean-up of the label map.
        header : of the image.
        """
        for path, value in self._place(folder, exam):
            path.parent.mkdir(parents=True, exist_ok=True)
            array = measure_entropy(probabilities) if value is None else probabilities[value]
            most = log(len(probabilities)) if value is None else 1.0
            write_map(path, reverse_axes(array), most, header.affine, header.placed)

    def _place(self, folder: Path, exam: str) -> Iterator[tuple[Path, int | None]]:
        """List each map with its label value, None of the one of uncertainty."""
        file = f"{exam}.nii.gz"
        if PROBABILITY in self.kinds:
            for name, value in self.structures.items():
                yield folder / PROBABILITY / name_file(name) / file, value
        if UNCERTAINTY in self.kinds:
            yield folder / UNCERTAINTY / file, None


NO_MAPS = Maps()
