"""Whether predictions made elsewhere and their references lie on one grid, and how they are brought onto one."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import nibabel as nib
import numpy as np
from numpy.typing import NDArray

from tworulers.ingest.faults import Fault, FaultKind
from tworulers.ingest.geometry import (
    DISAGREEMENT_MM,
    NO_POSITION,
    TOLERANCE,
    check_affine,
    measure_disagreement,
    orientation,
    same_spacing,
)
from tworulers.ingest.labels import read_mapped_label
from tworulers.ingest.pairing import Pairing
from tworulers.io.images import Header, ImageError, LabelVolume, Volume, read_header, same_grid
from tworulers.io.label_maps import read_label
from tworulers.io.label_values import ValueMap

SHOWN = 5


def read_pair(
    prediction: Path,
    reference: Path,
    labels: Iterable[int],
    label_map: ValueMap | None = None,
    reference_map: ValueMap | None = None,
    *,
    trust_grid: bool = False,
) -> tuple[LabelVolume, LabelVolume]:
    """Read a prediction and its reference onto one grid, the reference's.

    Parameters
    ----------
    prediction, reference : NIfTI label maps.
    labels : the values of the structures.
    label_map, reference_map : what the stored values of the prediction and of the reference stand for; where not given
        they are the structures' own.
    trust_grid : as of `bring_together`.

    Raises
    ------
    ImageError : unreadable, unexpected values, or grids that no turn brings together.
    """
    own = ValueMap.of_own(labels)
    judge = read_label(reference, stands_for=reference_map or own)
    judged = read_label(prediction, stands_for=label_map or own)
    return bring_together(judged, judge, trust_grid=trust_grid), judge


def bring_together(
    volume: LabelVolume, target: LabelVolume, *, trust_grid: bool = False
) -> LabelVolume:
    """Bring a label map onto the grid of another of the same exam.

    One that is stored with flipped or swapped axes is turned, since both files say where their voxels are. Where one
    of them does not, or they differ otherwise, they are refused.

    Parameters
    ----------
    volume, target : the label maps.
    trust_grid : voxels correspond by index whatever the headers say, because a person said so.

    Raises
    ------
    ImageError : no turn brings them together.
    """
    first, second = _head(volume), _head(target)
    if corresponds(first, second, trust_grid=trust_grid):
        return volume
    if volume.placed and target.placed and not trust_grid:
        turned = turn_to(volume, target)
        if same_grid(turned, target):
            return turned
    raise ImageError(
        f"{volume.path} (shape {first.shape}, orientation {_orient(first)}) and {target.path} (shape {second.shape}, "
        f"orientation {_orient(second)}) do not lie on one grid; {_mend(first, second)}",
        "grid",
    )


def corresponds(first: Header, second: Header, *, trust_grid: bool = False) -> bool:
    """Tell whether the voxels of two headers correspond by index."""
    if trust_grid:
        return first.shape == second.shape
    return first.placed and second.placed and same_grid(first, second)


def turn_to(volume: LabelVolume, target: LabelVolume) -> LabelVolume:
    """Flip and swap the axes of a volume until they point as the target's do."""
    turn = _find_turn(volume.affine, target.affine)
    array = nib.orientations.apply_orientation(volume.array, turn)
    affine = volume.affine @ nib.orientations.inv_ornt_aff(turn, volume.array.shape)
    return Volume(np.ascontiguousarray(array), affine, volume.path)


def turn_header(header: Header, target: Header) -> Header:
    """Say what a header would be once its image is turned to point as the target does."""
    turn = _find_turn(header.affine, target.affine)
    shape = [0, 0, 0]
    for axis, place in enumerate(turn[:, 0].astype(int)):
        shape[place] = header.shape[axis]
    affine = header.affine @ nib.orientations.inv_ornt_aff(turn, header.shape)
    return Header(header.path, tuple(shape), affine, header.dtype, header.placed)


def find_identical(pairing: Pairing, name: str) -> list[Fault]:
    """Say which references are the predictions themselves, voxel by voxel and not empty.

    A reference that is the prediction judges nothing: its Dice is 1 by construction.

    Parameters
    ----------
    pairing : the pairs.
    name : what the reference is called.
    """
    same = []
    for row in pairing.pairs.itertuples(index=False):
        try:
            first, second = (read_mapped_label(Path(p), range(256), {}) for p in row[1:])
        except ImageError:
            continue
        if second.array.any() and np.array_equal(first.array, second.array):
            same.append(str(row.exam_id))
    if not same:
        return []
    every = len(same) == len(pairing.pairs)
    found = f"reference {name} equals the prediction in {len(same)} of {len(pairing.pairs)} exams"
    mend = "use a reference made independently of the prediction"
    listed = ", ".join(same[:10]) + (" ..." if len(same) > 10 else "")
    expected = "a reference that differs from the prediction"
    return [Fault(FaultKind.IDENTITY, expected, f"{found}: {listed}", mend, note=not every)]


def check_pairs(pairing: Pairing, *, trust_grid: bool = False) -> list[Fault]:
    """List the pairs that cannot be read or do not lie on one grid, from headers alone.

    Files whose header holds no position are named in one note; they compare only where `trust_grid` says so.

    Parameters
    ----------
    pairing : the pairs.
    trust_grid : voxels correspond by index whatever the headers say, because a person said so.
    """
    faults = []
    unplaced: list[str] = []
    moved: list[str] = []
    divided: dict[str, float] = {}
    odd: dict[str, list[str]] = {}
    for row in pairing.pairs.itertuples(index=False):
        exam = str(row.exam_id)
        try:
            judged, judge = (read_header(Path(path)) for path in row[1:])
        except ImageError as error:
            faults.append(Fault(FaultKind.FILES, "", str(error), exam=exam))
            continue
        for header in (judged, judge):
            for fault in _check_header(header, exam):
                if fault.note:
                    odd.setdefault(fault.expected, []).append(_show(header.path))
                else:
                    faults.append(fault)
            apart = measure_disagreement(header)
            if apart >= DISAGREEMENT_MM:
                divided[_show(header.path)] = apart
        unplaced += [_show(header.path) for header in (judged, judge) if not header.placed]
        if not corresponds(judged, judge, trust_grid=trust_grid):
            faults.append(_compare_headers(judged, judge, exam))
        elif trust_grid and judged.placed and judge.placed and not same_grid(judged, judge):
            moved.append(exam)
    trusted = "; their voxels are taken to correspond by index, as trust_grid says" * trust_grid
    told = [
        (unplaced, f"{len(unplaced)} files hold {NO_POSITION}: {_list(unplaced)}{trusted}"),
        (
            moved,
            f"{len(moved)} pairs lie at different places by their headers: {_list(moved)}{trusted}",
        ),
    ]
    told += [
        (
            names,
            f"{len(names)} files have no {expected}: {_list(names)}; surface distances take them as they are",
        )
        for expected, names in odd.items()
    ]
    if divided:
        apart = max(divided.values())
        found = f"sform and qform lie up to {apart:.4g} mm apart in {len(divided)} files, the sform is in force"
        told.append((list(divided), f"{found}: {_list(list(divided))}"))
    faults += [Fault(FaultKind.GEOMETRY, "", found, note=True) for names, found in told if names]
    return faults


def _check_header(header: Header, exam: str) -> list[Fault]:
    """List what is wrong with one affine; a sheared or odd one is a note, since overlap does not ask for it."""
    found = check_affine(header, exam, _show(header.path))
    usable = np.isfinite(header.affine).all() and abs(np.linalg.det(header.affine[:3, :3])) > 1e-9
    return [replace(fault, note=bool(usable)) for fault in found]


def _list(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + f" and {len(names) - SHOWN} more" * (len(names) > SHOWN)


def _compare_headers(judged: Header, judge: Header, exam: str) -> Fault:
    """Say how two grids differ; a difference of orientation alone is a note, since it can be turned."""
    placed = judged.placed and judge.placed
    turned = turn_header(judged, judge) if placed else judged
    mend = _mend(judged, judge)
    if turned.shape != judge.shape:
        expected, found = f"the reference's shape {judge.shape}", f"{judged.shape}"
        return Fault(FaultKind.GEOMETRY, expected, found, mend, exam=exam)
    if not placed and not same_spacing(judged, judge):
        found = f"spacing {_write_spacing(turned, judge)}"
        return Fault(FaultKind.GEOMETRY, "the reference's spacing", found, mend, exam=exam)
    if not placed:
        expected, found = "a position in both headers", "none in one of them or in both"
        return Fault(FaultKind.GEOMETRY, expected, found, mend, exam=exam)
    if not same_grid(turned, judge):
        offset = float(np.linalg.norm(turned.affine[:3, 3] - judge.affine[:3, 3]))
        expected = f"the reference's place and spacing ({TOLERANCE})"
        found = f"origins {offset:.4g} mm apart, spacing {_write_spacing(turned, judge)}"
        return Fault(FaultKind.GEOMETRY, expected, found, mend, exam=exam)
    found = f"orientations differ: {orientation(judged)}/{orientation(judge)}; turned"
    return Fault(FaultKind.GEOMETRY, "", found, exam=exam, note=True)


def _mend(first: Header, second: Header) -> str:
    unplaced = [_show(header.path) for header in (first, second) if not header.placed]
    if not unplaced:
        return "resample the prediction to the reference"
    return (
        f"the header of {' and '.join(unplaced)} holds no position (in NIfTI: sform and qform codes are 0), so nobody "
        "knows which voxels correspond: export the files with their positions, or set predictions.trust_grid=true if "
        "voxels correspond by index"
    )


def _show(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _head(volume: LabelVolume) -> Header:
    array = volume.array
    return Header(volume.path, array.shape, volume.affine, array.dtype, volume.placed)


def _find_turn(affine: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the axes and flips that make one affine's axes point as another's."""
    start, end = (nib.io_orientation(matrix) for matrix in (affine, target))
    turn: NDArray[np.float64] = nib.orientations.ornt_transform(start, end)
    return turn


def _write_spacing(first: Header, second: Header) -> str:
    texts = [" x ".join(f"{size:.4g}" for size in header.spacing) for header in (first, second)]
    return f"{texts[0]} and {texts[1]} mm"


def _orient(header: Header) -> str:
    return orientation(header) if header.placed else "unknown"
