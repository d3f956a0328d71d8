"""How much of a structure two label maps share: counts, and how nDSC weighs them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

NdscReading = Literal["fraction", "fraction_frozen", "volume", "ratio"]
NdscEmpty = Literal["nan", "zero"]
Emptiness = Literal["both_empty", "reference_empty", "prediction_empty"]


@dataclass(frozen=True)
class Counts:
    """Voxels of a structure: in both masks (tp), only predicted (fp), only in reference (fn); a voxel in mm3."""

    tp: int
    fp: int
    fn: int
    image_voxels: int
    voxel_mm3: float = 1.0

    @property
    def reference_voxels(self) -> int:
        """Voxels of the structure in the reference."""
        return self.tp + self.fn

    @property
    def predicted_voxels(self) -> int:
        """Voxels of the structure in the prediction."""
        return self.tp + self.fp

    @property
    def reference_mm3(self) -> float:
        """Volume of the structure in the reference."""
        return self.reference_voxels * self.voxel_mm3

    @property
    def predicted_mm3(self) -> float:
        """Volume of the structure in the prediction."""
        return self.predicted_voxels * self.voxel_mm3

    @property
    def emptiness(self) -> Emptiness | None:
        """Which of the two masks is empty, if any."""
        if not self.reference_voxels:
            return "reference_empty" if self.predicted_voxels else "both_empty"
        return None if self.predicted_voxels else "prediction_empty"


def count_overlap(
    prediction: NDArray[np.bool_],
    reference: NDArray[np.bool_],
    *,
    image_voxels: int | None = None,
    voxel_mm3: float = 1.0,
) -> Counts:
    """Count the voxels that two masks of a structure share.

    Parameters
    ----------
    prediction, reference : bool, of one shape, on one grid.
    image_voxels : voxels of the whole image, where the masks are a crop of it.
    voxel_mm3 : volume of a voxel.

    Raises
    ------
    ValueError : the shapes differ.
    """
    if prediction.shape != reference.shape:
        raise ValueError(
            "prediction and reference must lie on one grid, but their shapes are "
            f"{prediction.shape} and {reference.shape}; resample or reorient one of them first"
        )
    tp = int(np.count_nonzero(prediction & reference))
    return Counts(
        tp=tp,
        fp=int(np.count_nonzero(prediction)) - tp,
        fn=int(np.count_nonzero(reference)) - tp,
        image_voxels=prediction.size if image_voxels is None else image_voxels,
        voxel_mm3=voxel_mm3,
    )


def voxel_volume(affine: NDArray[np.float64]) -> float:
    """Return a voxel's volume in mm3, |det| of the affine's axes: right for sheared grids too."""
    return float(abs(np.linalg.det(np.asarray(affine, float)[:3, :3])))


def reference_fractions(sizes: Mapping[str, Sequence[tuple[int, int]]]) -> dict[str, float]:
    """Return the mean share of the image that each structure takes up, over a set of references.

    Parameters
    ----------
    sizes : for each structure one pair (reference voxels V, image voxels N) an exam; exams without
        it count as 0.
    """
    return {
        name: float(np.mean([voxels / image for voxels, image in pairs]))
        for name, pairs in sizes.items()
    }


def weigh_false_positives(
    reading: NdscReading,
    reference_voxels: ArrayLike,
    image_voxels: ArrayLike,
    average: float,
    *,
    voxel_mm3: ArrayLike = 1.0,
    exams: Sequence[str] | None = None,
) -> NDArray[np.float64]:
    """Return kappa, the weight of a false positive in nDSC: above 1 in a larger structure.

    With p = V / N and r the average structure's share of the image, kappa = odds(p) / odds(r). The
    readings differ in r: `fraction` and `fraction_frozen` take it as given, `volume` is average
    volume over this image's volume, and `ratio` is the limit of an endless image, kappa = V /
    average volume.

    Parameters
    ----------
    reading : how `average` is meant.
    reference_voxels, image_voxels : V and N, one an exam.
    average : mean fraction V / N (`fraction`, `fraction_frozen`) or mean volume in mm3 (`volume`,
        `ratio`).
    voxel_mm3 : volume of a voxel, for `volume` and `ratio`.
    exams : names for the error.

    Returns
    -------
    float64, one an exam; NaN where the reference is empty, and where it fills its image.

    Raises
    ------
    ValueError : r is not between 0 and 1.

    Raina et al. 2023, "Tackling bias in the Dice similarity coefficient: introducing nDSC for white
    matter lesion segmentation".
    """
    V, N, mm3 = np.broadcast_arrays(*np.atleast_1d(reference_voxels, image_voxels, voxel_mm3))
    present = V > 0
    if reading == "ratio":
        if present.any() and average <= 0:
            raise ValueError(
                f"the average volume must be above 0 mm3 to normalise by it, found {average:g}"
            )
        return np.where(present, V * mm3 / (average or 1.0), np.nan)
    r = np.broadcast_to(
        average / (N * mm3) if reading == "volume" else np.asarray(average, float), V.shape
    )
    names = np.asarray(exams) if exams is not None else np.arange(V.size).astype(str)
    V, N, r = V[present], N[present], r[present]
    _refuse_shares(V / N, r, names[present], reading)
    kappa = np.full(present.shape, np.nan)
    kappa[present] = (1 - r) / r * (V / np.where(V < N, N - V, np.nan))
    return kappa


def _refuse_shares(
    own: NDArray[np.float64], average: NDArray[np.float64], exams: NDArray[np.str_], reading: str
) -> None:
    faults = [
        f"  exam {name}: the structure fills {share:.6g} of the image, on average {mean:.6g}"
        for name, share, mean in zip(exams, own, average, strict=True)
        if not 0 < mean < 1
    ]
    if faults:
        raise ValueError(
            f"nDSC ({reading}) needs an average share of the image between 0 and 1:\n"
            + "\n".join(faults)
        )


def normalised_dice(
    tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, kappa: ArrayLike, *, empty: NdscEmpty = "nan"
) -> NDArray[np.float64]:
    """Return nDSC, 2tp / (2tp + kappa fp + fn): the Dice of this error at average size.

    Parameters
    ----------
    tp, fp, fn : voxel counts, one an exam.
    kappa : from `weigh_false_positives`.
    empty : the value where the reference is empty and the prediction is not, NaN or 0; NaN where
        both are empty.
    """
    shared, extra, missed, weight = np.broadcast_arrays(*np.atleast_1d(tp, fp, fn, kappa))
    scores = np.full(shared.shape, np.nan)
    present = shared + missed > 0
    scores[present] = (2 * shared / (2 * shared + weight * extra + missed))[present]
    if empty == "zero":
        scores[~present & (extra > 0)] = 0.0
    return scores
