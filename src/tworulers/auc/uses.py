"""Which AUC metrics a use of the score calls for, and what each metric can and cannot say."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Appraisal(StrEnum):
    """How far a metric may be trusted as a statement about fairness."""

    RECOMMENDED = "recommended"
    WITH_CAUTION = "with_caution"
    NOT_RECOMMENDED = "not_recommended"


class AucMetric(StrEnum):
    """The AUC metrics by name; each is a row kind of the metrics table."""

    OVERALL = "overall_auc"
    CELL = "auc_cell"
    WITHIN_DIFFERENCE = "within_difference"
    WITHIN_RATIO = "within_ratio"
    CROSS_DIFFERENCE = "cross_difference"
    XAUC1 = "xauc1"
    XAUC0 = "xauc0"
    XAUC1_DIFFERENCE = "xauc1_difference"
    XAUC0_DIFFERENCE = "xauc0_difference"
    GAP_TO_OVERALL = "gap_to_overall"
    EQUITY_SCALED_PARITY = "equity_scaled_parity"
    EQUITY_SCALED_GAPS = "equity_scaled_gaps"
    MINIMUM = "minimum"


class Use(StrEnum):
    """What the score is for."""

    RISK_ESTIMATION = "risk_estimation"
    SINGLE_THRESHOLD = "single_threshold"
    GROUP_THRESHOLDS = "group_thresholds"
    RANKING = "ranking"


_GOOD, _CARE, _POOR = Appraisal.RECOMMENDED, Appraisal.WITH_CAUTION, Appraisal.NOT_RECOMMENDED

APPRAISALS: dict[AucMetric, Appraisal] = {
    AucMetric.OVERALL: _GOOD,
    AucMetric.CELL: _GOOD,
    AucMetric.WITHIN_DIFFERENCE: _GOOD,
    AucMetric.WITHIN_RATIO: _GOOD,
    AucMetric.CROSS_DIFFERENCE: _CARE,
    AucMetric.XAUC1: _CARE,
    AucMetric.XAUC0: _CARE,
    AucMetric.XAUC1_DIFFERENCE: _CARE,
    AucMetric.XAUC0_DIFFERENCE: _CARE,
    AucMetric.GAP_TO_OVERALL: _POOR,
    AucMetric.EQUITY_SCALED_PARITY: _POOR,
    AucMetric.EQUITY_SCALED_GAPS: _POOR,
    AucMetric.MINIMUM: _POOR,
}


@dataclass(frozen=True)
class UsePlan:
    """What a use puts first, and what stands beside it."""

    primary: tuple[AucMetric, ...]
    beside: tuple[AucMetric, ...]
    also_shown: tuple[str, ...]


USES: dict[Use, UsePlan] = {
    Use.RISK_ESTIMATION: UsePlan(
        (AucMetric.OVERALL, AucMetric.CELL, AucMetric.WITHIN_DIFFERENCE, AucMetric.WITHIN_RATIO),
        (AucMetric.CROSS_DIFFERENCE,),
        ("calibration", "mean_scores"),
    ),
    Use.SINGLE_THRESHOLD: UsePlan(
        (AucMetric.OVERALL, AucMetric.CELL, AucMetric.CROSS_DIFFERENCE),
        (
            AucMetric.WITHIN_DIFFERENCE,
            AucMetric.WITHIN_RATIO,
            AucMetric.XAUC1,
            AucMetric.XAUC0,
            AucMetric.XAUC1_DIFFERENCE,
            AucMetric.XAUC0_DIFFERENCE,
        ),
        ("rates_at_threshold", "mean_scores"),
    ),
    Use.GROUP_THRESHOLDS: UsePlan(
        (AucMetric.OVERALL, AucMetric.CELL, AucMetric.WITHIN_DIFFERENCE, AucMetric.WITHIN_RATIO),
        (),
        ("group_thresholds",),
    ),
    Use.RANKING: UsePlan(
        (
            AucMetric.OVERALL,
            AucMetric.CELL,
            AucMetric.XAUC1,
            AucMetric.XAUC0,
            AucMetric.XAUC1_DIFFERENCE,
            AucMetric.XAUC0_DIFFERENCE,
        ),
        (AucMetric.WITHIN_DIFFERENCE, AucMetric.WITHIN_RATIO),
        ("mean_scores",),
    ),
}


def choose_metrics(use: Use, *, all_metrics: bool) -> dict[AucMetric, str]:
    """Give the role of every metric that a use shows: primary, beside, or on request."""
    plan = USES[use]
    roles = dict.fromkeys(plan.primary, "primary") | dict.fromkeys(plan.beside, "beside")
    if all_metrics:
        roles |= {metric: "on_request" for metric in AucMetric if metric not in roles}
    return roles
