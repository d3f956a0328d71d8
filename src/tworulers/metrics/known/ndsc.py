"""nDSC: the Dice that an exam's error would have in a structure of average size (Raina et al. 2023)."""

from collections.abc import Mapping
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tworulers.metrics.overlap import (
    NdscEmpty,
    NdscReading,
    normalised_dice,
    reference_fractions,
    weigh_false_positives,
)
from tworulers.schema.metric import EXAMS, Metric
from tworulers.schema.settings import Audit


def average_references(exams: Mapping[str, pd.DataFrame], settings: Audit) -> dict[str, float]:
    """Return what nDSC normalises each structure to: as `ndsc_fractions` gives it, else the mean of these exams.

    Parameters
    ----------
    exams : by structure, the counts of one evaluated set, as `sets.spread_counts` gives them; exams without the
        structure count as 0.
    settings : `ndsc_reference` is `fraction` or `fraction_frozen` (share of the image), `volume` or `ratio` (mm3).
    """
    if settings.ndsc_fractions:
        return settings.ndsc_fractions
    if settings.ndsc_reference in ("volume", "ratio"):
        return {name: float(counts["reference_mm3"].mean()) for name, counts in exams.items()}
    return reference_fractions(
        {
            name: list(zip(counts["tp"] + counts["fn"], counts["image_voxels"], strict=True))
            for name, counts in exams.items()
        }
    )


def compute(exams: Mapping[str, pd.DataFrame], settings: Audit) -> dict[str, NDArray[np.float64]]:
    """Return by structure the nDSC of every exam, shape (n,).

    Where the reference is empty and the prediction is not, it is NaN or 0 as `ndsc_empty` says; where the reference
    fills its image, it is NaN.

    Raises
    ------
    ValueError : if a structure has no average, or one that is no share of the image.
    """
    averages = average_references(exams, settings)
    if missing := sorted(set(exams) - set(averages)):
        raise ValueError(f"nDSC needs an average for every structure; none is given for {missing}")
    values = {}
    for name, counts in exams.items():
        tp, fp, fn = (counts[count].to_numpy() for count in ("tp", "fp", "fn"))
        kappa = weigh_false_positives(
            cast("NdscReading", settings.ndsc_reference),
            tp + fn,
            counts["image_voxels"],
            averages[name],
            voxel_mm3=counts["image_mm3"] / counts["image_voxels"],
            exams=[f"{exam} ({name})" for exam in counts["exam_id"]],
        )
        values[name] = normalised_dice(
            tp, fp, fn, kappa, empty=cast("NdscEmpty", settings.ndsc_empty)
        )
    return values


NDSC = Metric("ndsc", "nDSC", True, low=0.0, high=1.0, perfect=1.0, needs=EXAMS, compute=compute)
