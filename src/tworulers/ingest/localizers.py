"""Which exams are localizers, told by how their slices lie among those of the others."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tworulers.ingest.inspect import Inspection

FACTOR = 2.0
"""More or fewer than so many times the usual is unusual."""

SLICED = 1.5
"""Voxels so many times longer along one axis than along the others are those of slices."""

FEWEST, SHARE = 4, 0.75
"""There is a usual geometry among at least so many exams, where at least this share of them has it."""

UNUSUAL = 2
"""In so many of plane, number of slices and their distance a localizer differs from the others."""


@dataclass(frozen=True)
class Slices:
    """How the slices of an exam lie.

    Attributes
    ----------
    count : how many.
    apart : their distance in mm.
    across : the direction across them, `R`, `A` or `S` for either end; empty where the header holds no position.
    sliced : whether their distance shows that they are slices.
    """

    count: int
    apart: float
    across: str
    sliced: bool


def find_localizers(inspections: Sequence[Inspection]) -> dict[str, str]:
    """Say of which exams slices lie unlike those of nearly all others, and how.

    An exam is a localizer where its slices differ in two of three: their number, their distance, and the plane they lie
    in. One alone is no sign: exams differ in coverage, and slices in thickness.

    Parameters
    ----------
    inspections : of all exams of a source; those whose image could not be read are passed over.
    """
    read = [one for one in inspections if one.shape]
    if len(read) < FEWEST:
        return {}
    common = Counter(measure_slices(one).across for one in read).most_common(1)[0][0]
    found = {one.exam_id: measure_slices(one, common) for one in read}
    usual = Slices(
        round(float(np.median([one.count for one in found.values()]))),
        float(np.median([one.apart for one in found.values()])),
        common,
        2 * sum(one.sliced for one in found.values()) > len(found),
    )
    unlike = {exam: compare(one, usual) for exam, one in found.items()}
    if sum(not differences for differences in unlike.values()) < SHARE * len(found):
        return {}
    return {
        exam: f"localizer by its geometry: {', '.join(differences)}"
        for exam, differences in unlike.items()
        if len(differences) >= UNUSUAL
    }


def measure_slices(inspection: Inspection, usual: str = "") -> Slices:
    """Take as the axis across slices that of the longest voxels, else the usual one, else that of the fewest."""
    sizes = inspection.spacing
    directions = [{"L": "R", "P": "A", "I": "S"}.get(end, end) for end in inspection.axes]
    axis = int(np.argmax(sizes))
    sliced = sizes[axis] > SLICED * max(size for place, size in enumerate(sizes) if place != axis)
    if not sliced:
        fewest = int(np.argmin(inspection.shape))
        axis = directions.index(usual) if usual in directions else fewest
    across = directions[axis] if directions else ""
    return Slices(inspection.shape[axis], sizes[axis], across, sliced)


def compare(one: Slices, usual: Slices) -> list[str]:
    """Say in what the slices of an exam are unlike the usual ones."""
    differences = []
    known = one.across and usual.across and one.sliced and usual.sliced
    if known and one.across != usual.across:
        differences.append(f"slices across {one.across}, where {usual.across} is usual")
    if not usual.count / FACTOR <= one.count <= usual.count * FACTOR:
        differences.append(f"{one.count} slices, where {usual.count} are usual")
    if not usual.apart / FACTOR <= one.apart <= usual.apart * FACTOR:
        differences.append(f"{one.apart:.3g} mm apart, where {usual.apart:.3g} mm are usual")
    return differences
