"""Our metrics as MONAI's loops take them: called a batch at a time, aggregated at the end."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from monai.metrics import CumulativeIterationMetric
from monai.metrics.utils import do_metric_reduction
from numpy.typing import NDArray
from torch import Tensor

from tworulers.metrics.case import score_structure
from tworulers.metrics.known.ndsc import compute
from tworulers.metrics.overlap import Counts
from tworulers.schema.metric import EXAMS, Metric
from tworulers.schema.settings import Audit

BACKGROUND = 1
"""The channels that are left out: one-hot maps begin with the background."""


class ExamMetric(CumulativeIterationMetric):
    """One of our metrics of an exam (`HD95`, `VOXEL`, `POOLED`, `DICE`, ...) over one-hot label maps.

    MONAI's `HausdorffDistanceMetric` measures between border voxels; `HD95` weighs pieces of surface by their area, so
    ours stays.

    Parameters
    ----------
    metric : what is measured; one that needs all exams at once is `NormalisedDiceMetric`'s.
    settings : what the metric may read.
    reduction : how `aggregate` sums up, by MONAI's words; values that are NaN are left out.

    Raises
    ------
    ValueError : the metric needs the whole set.
    """

    def __init__(
        self, metric: Metric, settings: Audit | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if metric.needs == EXAMS:
            raise ValueError(
                f"{metric.name} is one of a whole set of exams; expected a metric of one exam"
            )
        self.metric, self.settings, self.reduction = metric, settings or Audit(), reduction

    def _compute_tensor(
        self, y_pred: Tensor, y: Tensor, spacing: Sequence[float] | None = None, **_: Any
    ) -> Tensor:
        """(batch, class, *axes) twice, voxel edges in mm: values (batch, class without background)."""
        edges = spacing or (1.0,) * (y.ndim - 2)
        pairs = _list_masks(y_pred, y)
        values = [
            [
                score_structure(pair, _count(*pair, edges), edges, [self.metric], self.settings)[
                    self.metric.name
                ]
                for pair in exam
            ]
            for exam in pairs
        ]
        return torch.tensor(values, dtype=torch.float64)

    def aggregate(self, reduction: str | None = None) -> Tensor:
        """Sum up what was measured since the last `reset`."""
        values: Tensor = do_metric_reduction(self.get_buffer(), reduction or self.reduction)[0]
        return values


class NormalisedDiceMetric(CumulativeIterationMetric):
    """nDSC (Raina et al. 2023) over one-hot label maps; MONAI has none.

    What it normalises to is the average over all exams since the last `reset`, unless the settings fix it, so values
    come with `aggregate`; a batch alone gives its counts: tp, fp, fn, voxels of the image, mm3 of the image.

    Parameters
    ----------
    settings : `ndsc_reference`, `ndsc_empty` and `ndsc_fractions`.
    reduction : how `aggregate` sums up, by MONAI's words.
    """

    def __init__(self, settings: Audit | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.settings, self.reduction = settings or Audit(), reduction

    def _compute_tensor(
        self, y_pred: Tensor, y: Tensor, spacing: Sequence[float] | None = None, **_: Any
    ) -> Tensor:
        """(batch, class, *axes) twice, voxel edges in mm: counts (batch, class without background, 5)."""
        edges = spacing or (1.0,) * (y.ndim - 2)
        counted = [[_count(*pair, edges) for pair in exam] for exam in _list_masks(y_pred, y)]
        numbers = [
            [(c.tp, c.fp, c.fn, c.image_voxels, c.image_voxels * c.voxel_mm3) for c in exam]
            for exam in counted
        ]
        return torch.tensor(numbers, dtype=torch.float64)

    def aggregate(self, reduction: str | None = None) -> Tensor:
        """Normalise all exams since the last `reset`, and sum up."""
        counts = self.get_buffer().numpy()
        exams = {str(index): _tabulate(counts[:, index]) for index in range(counts.shape[1])}
        values = compute(exams, self.settings)
        scores = torch.from_numpy(np.stack([values[name] for name in exams], axis=1))
        reduced: Tensor = do_metric_reduction(scores, reduction or self.reduction)[0]
        return reduced


def _tabulate(counts: NDArray[np.float64]) -> pd.DataFrame:
    names = ("tp", "fp", "fn", "image_voxels", "image_mm3")
    frame = pd.DataFrame(dict(zip(names, counts.T, strict=True)))
    voxel = frame["image_mm3"] / frame["image_voxels"]
    return frame.assign(
        exam_id=frame.index.astype(str), reference_mm3=(frame["tp"] + frame["fn"]) * voxel
    )


def _list_masks(
    predicted: Tensor, reference: Tensor
) -> list[list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]]:
    """List both masks of every structure of every exam."""
    if predicted.shape != reference.shape or reference.ndim < 4:
        raise ValueError(
            "expected one-hot label maps (batch, class, *axes) of one shape, found "
            f"{tuple(predicted.shape)} and {tuple(reference.shape)}"
        )
    both = [one.detach().cpu().numpy().astype(bool) for one in (predicted, reference)]
    return [
        [(both[0][exam, c], both[1][exam, c]) for c in range(BACKGROUND, reference.shape[1])]
        for exam in range(len(reference))
    ]


def _count(
    predicted: NDArray[np.bool_], reference: NDArray[np.bool_], spacing: Sequence[float]
) -> Counts:
    shared = int(np.count_nonzero(predicted & reference))
    return Counts(
        tp=shared,
        fp=int(np.count_nonzero(predicted)) - shared,
        fn=int(np.count_nonzero(reference)) - shared,
        image_voxels=reference.size,
        voxel_mm3=float(np.prod(spacing)),
    )
