"""The margins that were asked for, in the unit of the scores, and why a test has none to be held against."""

import math
from dataclasses import dataclass

from tworulers.schema.metric import Metric
from tworulers.schema.settings import FAILURES, Audit, Provenance

PROVING = (Provenance.GOLD, Provenance.TRUTH)
"""Whose labels may prove that groups are alike: a machine's repeat the model, and agree with all it does."""


@dataclass(frozen=True)
class Margins:
    """What a test is held against.

    Attributes
    ----------
    shift : of the scores, in their unit (0.02 of a score from 0 to 1); NaN where none was given.
    failures : of the shares of failed exams, from 0 to 1; NaN where none was given.
    threshold : beyond which an exam succeeds; NaN where none was given.
    """

    shift: float
    failures: float
    threshold: float

    @property
    def missing(self) -> str | None:
        """Name what is lacking; None where nothing is."""
        parts = {
            "margin of the metric": self.shift,
            "margin of failures": self.failures,
            "threshold of success": self.threshold,
        }
        absent = [name for name, value in parts.items() if math.isnan(value)]
        return f"not asked: no {', no '.join(absent)}" if absent else None


def find_margins(metric: Metric, settings: Audit) -> Margins:
    """Return the margins of a metric: of points where its scores are shares, else of its own unit."""
    stated = settings.margin.get(metric.name, math.nan)
    return Margins(
        stated / 100 if metric.in_points else stated,
        settings.margin.get(FAILURES, math.nan) / 100,
        settings.thresholds.get(metric.name, math.nan),
    )


def find_fault_of_labels(provenance: str) -> str | None:
    """Say why labels prove nothing of equality; None where they may."""
    if provenance in list(PROVING):
        return None
    return f"{provenance} labels prove no equality"
