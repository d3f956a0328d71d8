"""Exams of which few have an expert's score and all a machine's, and what failed by either."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tworulers.schema.metric import Metric
from tworulers.stats.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class FewLabels:
    """Scores of one metric by two rulers, the expert's of some exams alone.

    Attributes
    ----------
    gold : (n,) by the expert's label; NaN without one.
    silver : (n,) by the machine's label, finite.
    patients : (n,) whose each exam is, numbered from 0 to `n_patients` - 1.
    n_patients : in all, of other exams too, so that parts of a whole number them alike.
    metric : of the scores.
    threshold : what a score has to surpass not to count as failed; None where none was fixed and none fails.

    Raises
    ------
    ValueError : a silver score is not finite.
    """

    gold: FloatArray
    silver: FloatArray
    patients: IntArray
    n_patients: int
    metric: Metric
    threshold: float | None = None

    def __post_init__(self) -> None:
        """Refuse silver scores that are not there."""
        if not np.isfinite(self.silver).all():
            raise ValueError("silver scores: expected finite ones, leave the other exams out")

    @classmethod
    def of(
        cls,
        gold: FloatArray,
        silver: FloatArray,
        patients: object,
        metric: Metric,
        threshold: float | None = None,
    ) -> "FewLabels":
        """Number the patients of exams with a finite silver score, and leave the others out."""
        known = np.isfinite(silver)
        names, place = np.unique(np.asarray(patients)[known], return_inverse=True)
        return cls(gold[known], silver[known], place, len(names), metric, threshold)

    def part(self, inside: BoolArray) -> "FewLabels":
        """Keep some of the exams, (n,)."""
        kept = self.gold[inside], self.silver[inside], self.patients[inside]
        return FewLabels(*kept, self.n_patients, self.metric, self.threshold)

    @cached_property
    def labelled(self) -> BoolArray:
        """Tell which exams have an expert's score."""
        return np.isfinite(self.gold)

    @cached_property
    def failed(self) -> BoolArray:
        """Tell which exams failed by the expert's label; none without one."""
        return self.labelled & self._fails(self.gold)

    @cached_property
    def silver_failed(self) -> BoolArray:
        """Tell which exams failed by the machine's label."""
        return self._fails(self.silver)

    def _fails(self, scores: FloatArray) -> BoolArray:
        if self.threshold is None:
            return np.zeros(len(scores), dtype=np.bool_)
        return ~self.metric.succeeds(scores, self.threshold)
