"""Where in space an image lies, and whether its label lies in the same place."""

import nibabel as nib
import numpy as np

from tworulers.ingest.faults import Fault, FaultKind
from tworulers.io.images import SAME_PLACE_MM, Header, same_grid

MAX_SHEAR = 1e-3
"""Largest cosine between two axes that is still rounding."""

DISAGREEMENT_MM = 0.1
"""Sform and qform that lie closer than this differ by rounding."""

PLAUSIBLE_MM = (0.05, 20.0)
"""Voxel sizes outside this range are rather micrometres, metres, or no sizes at all."""


TOLERANCE = f"voxels within {SAME_PLACE_MM:g} mm of each other lie at one place"

NO_POSITION = "no position in the header (in NIfTI: sform and qform codes are 0)"


def check_affine(header: Header, exam: str, file: str) -> list[Fault]:
    """List what is wrong with the geometry of one file.

    A sheared, singular or non-finite affine and an implausible voxel size are faults.
    """
    linear = header.affine[:3, :3]
    if not np.isfinite(header.affine).all() or abs(np.linalg.det(linear)) < 1e-9:
        found = f"an affine that is singular or not finite: {np.round(linear, 4).tolist()}"
        mend = "export the file again with its geometry"
        return [Fault(FaultKind.GEOMETRY, "a usable affine", found, mend, file, exam)]
    faults = []
    if header.shear > MAX_SHEAR:
        faults.append(
            Fault(
                FaultKind.GEOMETRY,
                "orthogonal axes",
                f"sheared axes (cosine {header.shear:.4f}), columns {_show(header.spacing)} mm",
                "resample the exam to an orthogonal grid",
                file,
                exam,
                details={"column_lengths_mm": list(header.spacing), "cosine": header.shear},
            )
        )
    low, high = PLAUSIBLE_MM
    if min(header.spacing) < low or max(header.spacing) > high:
        faults.append(
            Fault(
                FaultKind.GEOMETRY,
                f"voxels of {low:g} to {high:g} mm",
                f"implausible spacing {_show(header.spacing)}",
                "correct the header; are these micrometres or metres?",
                file,
                exam,
                details={"spacing_mm": list(header.spacing)},
            )
        )
    return faults


def note_positions(header: Header, exam: str, file: str) -> list[Fault]:
    """Note that the two positions a NIfTI header can hold disagree, or that it holds none.

    The sform is in force where its code is above 0, otherwise the qform.
    """
    if not header.placed:
        found = f"{NO_POSITION}: only spacing is known"
        return [Fault(FaultKind.GEOMETRY, "", found, "", file, exam, note=True)]
    apart = measure_disagreement(header)
    if apart < DISAGREEMENT_MM:
        return []
    found = f"sform and qform lie {apart:.4g} mm apart; the sform is in force"
    return [Fault(FaultKind.GEOMETRY, "", found, "", file, exam, note=True)]


def measure_disagreement(header: Header) -> float:
    """Return how far apart sform and qform put a corner, in mm; 0 where the header holds one of them or none."""
    if header.second is None:
        return 0.0
    corners = np.array([[0, 0, 0, 1], [*(size - 1 for size in header.shape), 1]]).T
    apart = (header.affine - header.second) @ corners
    return float(np.linalg.norm(apart[:3], axis=0).max())


def compare_grids(
    image: Header, label: Header, exam: str, file: str, *, trusted: bool = False
) -> list[Fault]:
    """List how the grid of a label differs from its image's: shape, orientation, spacing or place.

    Parameters
    ----------
    image, label : the headers.
    exam, file : the exam, and the label's file as shown.
    trusted : a different place is only noted, because a person said that voxels correspond.
    """
    if image.shape != label.shape:
        return [
            Fault(
                FaultKind.GEOMETRY,
                f"the image's shape {image.shape}",
                f"{label.shape}",
                "export the label on the grid of its image",
                file,
                exam,
                details={"image": list(image.shape), "label": list(label.shape)},
            )
        ]
    if image.placed and label.placed and same_grid(image, label):
        return []
    expected, found, details = _tell_difference(image, label)
    mend = (
        "voxels are taken to correspond, as dataset.reading.trust_grid says"
        if trusted
        else "export the label on the grid of its image, or set dataset.reading.trust_grid=true if the "
        "voxels correspond"
    )
    return [
        Fault(FaultKind.GEOMETRY, expected, found, mend, file, exam, note=trusted, details=details)
    ]


def _tell_difference(image: Header, label: Header) -> tuple[str, str, dict[str, object]]:
    """Say what was expected of the grid of a label and what was found, and the numbers for machines."""
    details: dict[str, object] = {}
    codes = [orientation(header) if header.placed else "unknown" for header in (image, label)]
    if not same_spacing(image, label):
        expected = f"the image's spacing {_show(image.spacing)} mm"
        found = f"{_show(label.spacing)} mm"
    elif "unknown" in codes:
        lacking = [
            name for name, code in zip(("image", "label"), codes, strict=True) if code == "unknown"
        ]
        expected, found = (
            "a position in both headers",
            f"{NO_POSITION} of the {' and of the '.join(lacking)}",
        )
    elif codes[0] != codes[1]:
        expected, found = f"the image's orientation {codes[0]}", codes[1]
        details = {"orientation_image": codes[0], "orientation_label": codes[1]}
    elif not np.allclose(image.affine[:3, :3], label.affine[:3, :3], rtol=1e-3, atol=1e-3):
        expected = "the image's axes"
        found = f"axes turned by {_angle(image, label):.2f} degrees"
        details = {"degrees": _angle(image, label)}
    else:
        origins = [header.affine[:3, 3] for header in (image, label)]
        offset = float(np.linalg.norm(origins[1] - origins[0]))
        expected = f"the image's origin {_show(tuple(origins[0]))}"
        found = f"{_show(tuple(origins[1]))}, {offset:.4g} mm away ({TOLERANCE})"
        details = {
            "origin_image_xyz_mm": [float(x) for x in origins[0]],
            "origin_label_xyz_mm": [float(x) for x in origins[1]],
            "offset_mm": offset,
        }
    return expected, found, details


def same_spacing(first: Header, second: Header) -> bool:
    """Tell whether two images have voxels of one size, but for rounding."""
    return bool(np.allclose(first.spacing, second.spacing, rtol=1e-3, atol=1e-4))


def orientation(header: Header) -> str:
    """Return where the array axes point, such as RAS."""
    return "".join(code or "?" for code in nib.aff2axcodes(header.affine))


def _angle(first: Header, second: Header) -> float:
    """Return the largest angle in degrees between corresponding axes."""
    axes = [h.affine[:3, :3] / np.linalg.norm(h.affine[:3, :3], axis=0) for h in (first, second)]
    cosines = np.clip((axes[0] * axes[1]).sum(axis=0), -1, 1)
    return float(np.degrees(np.arccos(cosines)).max())


def _show(values: tuple[float, ...]) -> str:
    return " x ".join(f"{value:.6g}" for value in values)
