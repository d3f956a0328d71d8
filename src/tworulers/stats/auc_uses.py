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


@dataclass(frozen=True)
class MetricAppraisal:
    """A metric's appraisal and the sentence that gives the reason."""

    appraisal: Appraisal
    why: str


_GOOD, _CARE, _POOR = Appraisal.RECOMMENDED, Appraisal.WITH_CAUTION, Appraisal.NOT_RECOMMENDED

APPRAISALS: dict[AucMetric, MetricAppraisal] = {
    AucMetric.OVERALL: MetricAppraisal(
        _GOOD,
        "Says how well the score ranks everybody; it also counts pairs from different groups, so "
        "it can lie outside the range of the groups' own values and needs the matrix beside it.",
    ),
    AucMetric.CELL: MetricAppraisal(
        _GOOD,
        "Each cell is a plain probability for one pair of groups; together they add up to the "
        "overall value, so nothing is hidden.",
    ),
    AucMetric.WITHIN_DIFFERENCE: MetricAppraisal(
        _GOOD,
        "Compares how well the score ranks the members of each group among themselves, which does "
        "not change with how common the event is in a group.",
    ),
    AucMetric.WITHIN_RATIO: MetricAppraisal(
        _GOOD,
        "The same comparison as a ratio; 1 means that both groups are ranked equally well.",
    ),
    AucMetric.CROSS_DIFFERENCE: MetricAppraisal(
        _CARE,
        "Groups with different event rates get different scores even from a perfectly calibrated "
        "model, and that alone moves this value: read it with prevalence and calibration.",
    ),
    AucMetric.XAUC1: MetricAppraisal(
        _CARE,
        "Shows how events of one group fare against everybody's non-events; it mixes the ranking "
        "inside the group with the shift between groups.",
    ),
    AucMetric.XAUC0: MetricAppraisal(
        _CARE,
        "Shows how non-events of one group fare against everybody's events; it mixes the ranking "
        "inside the group with the shift between groups.",
    ),
    AucMetric.XAUC1_DIFFERENCE: MetricAppraisal(
        _CARE,
        "Fits decisions that benefit those ranked high, where missing an event does the harm; it "
        "moves with event rates and calibration.",
    ),
    AucMetric.XAUC0_DIFFERENCE: MetricAppraisal(
        _CARE,
        "Fits decisions that burden those ranked high, where a false alarm does the harm; it moves "
        "with event rates and calibration.",
    ),
    AucMetric.GAP_TO_OVERALL: MetricAppraisal(
        _POOR,
        "The overall value is no mean of the groups' values, so a gap to it is neither shared nor "
        "caused by the group: it can be large when all groups are equal.",
    ),
    AucMetric.EQUITY_SCALED_PARITY: MetricAppraisal(
        _POOR,
        "Trades performance for disparity at a rate nobody chose; two quite different situations "
        "get one number. This variant divides by the largest within-group difference.",
    ),
    AucMetric.EQUITY_SCALED_GAPS: MetricAppraisal(
        _POOR,
        "Trades performance for disparity at a rate nobody chose, and inherits the flaw of the gap "
        "to overall. This variant divides by the sum of those gaps (Luo et al. 2024).",
    ),
    AucMetric.MINIMUM: MetricAppraisal(
        _POOR,
        "Falls with every small group that is added, because the lowest of several uncertain "
        "values is low by chance; it does not say which disparity there is.",
    ),
}


@dataclass(frozen=True)
class UsePlan:
    """What a use puts first, what stands beside it, and the warning that goes with it."""

    primary: tuple[AucMetric, ...]
    beside: tuple[AucMetric, ...]
    also_shown: tuple[str, ...]
    warning: str


USES: dict[Use, UsePlan] = {
    Use.RISK_ESTIMATION: UsePlan(
        (AucMetric.OVERALL, AucMetric.CELL, AucMetric.WITHIN_DIFFERENCE, AucMetric.WITHIN_RATIO),
        (AucMetric.CROSS_DIFFERENCE,),
        ("calibration", "mean_scores"),
        "The number itself is told to a person: no single AUC value shows whether it is right. "
        "Read the calibration of every group as well.",
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
        "Everyone meets one threshold, so members of different groups compete: equal within-group "
        "values are not enough, the cells between groups count as much.",
    ),
    Use.GROUP_THRESHOLDS: UsePlan(
        (AucMetric.OVERALL, AucMetric.CELL, AucMetric.WITHIN_DIFFERENCE, AucMetric.WITHIN_RATIO),
        (),
        ("group_thresholds",),
        "Each group has its own threshold, so the cells between groups no longer compete: do not "
        "read a disparity from them here.",
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
        "Everyone stands in one list: within-group parity alone can hide that one group stands "
        "behind the other. Read xAUC1 where a high rank helps, xAUC0 where it harms.",
    ),
}

ON_REQUEST: tuple[AucMetric, ...] = (
    AucMetric.GAP_TO_OVERALL,
    AucMetric.EQUITY_SCALED_PARITY,
    AucMetric.EQUITY_SCALED_GAPS,
    AucMetric.MINIMUM,
)
"""Metrics that are shown only when asked for, each with its appraisal."""


def choose_metrics(use: Use, *, all_metrics: bool) -> dict[AucMetric, str]:
    """Give the role of every metric that a use shows: primary, beside, or on request."""
    plan = USES[use]
    roles = dict.fromkeys(plan.primary, "primary") | dict.fromkeys(plan.beside, "beside")
    if all_metrics:
        roles |= {metric: "on_request" for metric in AucMetric if metric not in roles}
    return roles
