"""Every sentence about a risk audit: what stands out, grouping by grouping, and what to keep in mind."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from tworulers.auc.audit import MOST_RESAMPLED, RiskAudit
from tworulers.auc.intervals import Estimate
from tworulers.auc.matrix import HALF, AucMatrix
from tworulers.auc.uses import USES, AucMetric, Use

MOST_NAMED = 5
"""Groups that a line on the terminal names."""

TITLES: Mapping[str, str] = {
    AucMetric.OVERALL: "Overall AUC",
    AucMetric.CELL: "AUC matrix",
    AucMetric.WITHIN_DIFFERENCE: "Within-group parity (difference of within-group AUCs)",
    AucMetric.WITHIN_RATIO: "Within-group parity (smaller AUC over larger)",
    AucMetric.CROSS_DIFFERENCE: "Cross-group parity (difference of mirrored cells)",
    AucMetric.XAUC1: "xAUC1: events of a group against all non-events",
    AucMetric.XAUC0: "xAUC0: all events against non-events of a group",
    AucMetric.XAUC1_DIFFERENCE: "xAUC1 parity",
    AucMetric.XAUC0_DIFFERENCE: "xAUC0 parity",
    AucMetric.GAP_TO_OVERALL: "Gap to overall",
    AucMetric.EQUITY_SCALED_PARITY: "Equity-scaled AUC, by within-group difference",
    AucMetric.EQUITY_SCALED_GAPS: "Equity-scaled AUC, by gaps to overall",
    AucMetric.MINIMUM: "Minimum of the within-group AUCs",
}

WHY: Mapping[str, str] = {
    AucMetric.OVERALL: (
        "Says how well the score ranks everybody; it also counts pairs from different groups, so "
        "it can lie outside the range of the groups' own values and needs the matrix beside it."
    ),
    AucMetric.CELL: (
        "Each cell is a plain probability for one pair of groups; together they add up to the "
        "overall value, so nothing is hidden."
    ),
    AucMetric.WITHIN_DIFFERENCE: (
        "Compares how well the score ranks the members of each group among themselves, which does "
        "not change with how common the event is in a group."
    ),
    AucMetric.WITHIN_RATIO: (
        "The same comparison as a ratio; 1 means that both groups are ranked equally well."
    ),
    AucMetric.CROSS_DIFFERENCE: (
        "Groups with different event rates get different scores even from a perfectly calibrated "
        "model, and that alone moves this value: read it with prevalence and calibration."
    ),
    AucMetric.XAUC1: (
        "Shows how events of one group fare against everybody's non-events; it mixes the ranking "
        "inside the group with the shift between groups."
    ),
    AucMetric.XAUC0: (
        "Shows how non-events of one group fare against everybody's events; it mixes the ranking "
        "inside the group with the shift between groups."
    ),
    AucMetric.XAUC1_DIFFERENCE: (
        "Fits decisions that benefit those ranked high, where missing an event does the harm; it "
        "moves with event rates and calibration."
    ),
    AucMetric.XAUC0_DIFFERENCE: (
        "Fits decisions that burden those ranked high, where a false alarm does the harm; it moves "
        "with event rates and calibration."
    ),
    AucMetric.GAP_TO_OVERALL: (
        "The overall value is no mean of the groups' values, so a gap to it is neither shared nor "
        "caused by the group: it can be large when all groups are equal."
    ),
    AucMetric.EQUITY_SCALED_PARITY: (
        "Trades performance for disparity at a rate nobody chose; two quite different situations "
        "get one number. This variant divides by the largest within-group difference."
    ),
    AucMetric.EQUITY_SCALED_GAPS: (
        "Trades performance for disparity at a rate nobody chose, and inherits the flaw of the gap "
        "to overall. This variant divides by the sum of those gaps (Luo et al. 2024)."
    ),
    AucMetric.MINIMUM: (
        "Falls with every small group that is added, because the lowest of several uncertain "
        "values is low by chance; it does not say which disparity there is."
    ),
}
"""Why each metric may, or may not, be trusted as a statement about fairness."""

OF_USE: Mapping[Use, str] = {
    Use.RISK_ESTIMATION: (
        "The number itself is told to a person: no single AUC value shows whether it is right. "
        "Read the calibration of every group as well."
    ),
    Use.SINGLE_THRESHOLD: (
        "Everyone meets one threshold, so members of different groups compete: equal within-group "
        "values are not enough, the cells between groups count as much."
    ),
    Use.GROUP_THRESHOLDS: (
        "Each group has its own threshold, so the cells between groups no longer compete: do not "
        "read a disparity from them here."
    ),
    Use.RANKING: (
        "Everyone stands in one list: within-group parity alone can hide that one group stands "
        "behind the other. Read xAUC1 where a high rank helps, xAUC0 where it harms."
    ),
}
"""What to keep in mind for each use."""

INTERVALS = (
    "Intervals are score-type (Newcombe 2006), those of differences MOVER (Zou and Donner 2008), and p values invert "
    "them: with few events DeLong's, in the column beside, reject too often."
)
"""How intervals and p values are made."""


def explain_metrics(metrics: pd.DataFrame) -> pd.DataFrame:
    """Add to a table of metrics why each may, or may not, be trusted."""
    return metrics.assign(why=metrics["metric"].map(WHY))


def describe_risk(audit: RiskAudit) -> list[str]:
    """Say what stands out in an audit: first of the score as a whole, then of each grouping."""
    sentences = [*_describe_direction(audit.overall), *_describe_use(audit)]
    for name, matrix in audit.matrices.items():
        sentences += [f"{name}: {sentence}" for sentence in _describe_matrix(matrix)]
    return sentences


def describe_overall(matrix: AucMatrix) -> str:
    """Say in words where the overall AUC lies among the within-group ones, and why."""
    within = matrix.within
    defined = np.flatnonzero(~np.isnan(within))
    if np.isnan(matrix.overall) or defined.size == 0:
        return "The overall AUC cannot be set beside within-group values: one side is undefined."
    share = float(np.trace(matrix.pair_weights))
    low = defined[np.argmin(within[defined])]
    high = defined[np.argmax(within[defined])]
    span = f"{within[low]:.4f} ({matrix.groups[low]})"
    if low != high:
        span += f" to {within[high]:.4f} ({matrix.groups[high]})"
    between = f"{1 - share:.1%} of the event/non-event pairs join different groups"
    if matrix.overall < within[low] - 1e-12 or matrix.overall > within[high] + 1e-12:
        side = "below" if matrix.overall < within[low] else "above"
        return (
            f"The overall AUC {matrix.overall:.4f} lies {side} the within-group values ({span}): "
            f"it is no mean of them, for {between}."
        )
    return (
        f"The overall AUC {matrix.overall:.4f} lies among the within-group values ({span}); "
        f"{between}, so it need not."
    )


def _describe_matrix(matrix: AucMatrix) -> Iterator[str]:
    yield describe_overall(matrix)
    for group, n1, n0 in zip(matrix.groups, matrix.n_events, matrix.n_non_events, strict=True):
        if n1 == 0 or n0 == 0:
            yield (
                f"{group} has no {'events' if n1 == 0 else 'non-events'} ({n1} events, {n0} non-events): its AUC is "
                "undefined, and it is not assessed for within-group parity."
            )
    for group, auc in zip(matrix.groups, matrix.within, strict=True):
        if auc < HALF:
            yield (
                f"the AUC within {group} is {auc:.4f}, below one half: there the score ranks events "
                "below non-events."
            )
    crossed = [
        f"events of {matrix.groups[g]} against non-events of {matrix.groups[h]} ({matrix.cells[g, h]:.4f})"
        for g, h in np.argwhere(matrix.cells < HALF)
        if g != h
    ]
    if crossed:
        yield f"below one half, too: {', '.join(crossed)}; a threshold for all misranks these pairs."
    if matrix.n_without_group:
        yield (
            f"{matrix.n_without_group} rows name no group; the AUC of the others is {matrix.overall:.4f}, of all rows "
            f"{matrix.overall_all:.4f}."
        )
    if matrix.no_variation.all():
        yield "all scores are equal, so every AUC is one half by definition."


def tell_turned(audit: RiskAudit) -> list[str]:
    """Say of everybody, and of the members of which groups, that the score ranks events below non-events."""
    groups = [
        f"{group} ({auc:.4f})"
        for matrix in audit.matrices.values()
        for group, auc in zip(matrix.groups, matrix.within, strict=True)
        if auc < HALF
    ]
    more = f"; {len(groups) - MOST_NAMED} more" if groups[MOST_NAMED:] else ""
    within = f"Below one half, too, is the AUC within {'; '.join(groups[:MOST_NAMED])}{more}."
    return [*_describe_direction(audit.overall), *([within] if groups else [])]


def _describe_direction(overall: Estimate) -> Iterator[str]:
    """Say that a score ranks the wrong way round, as one that is turned, or of another event, does."""
    if overall.value < HALF:
        beyond = ", with its whole interval" if overall.high < HALF else ""
        yield (
            f"The overall AUC {overall.value:.4f} lies below one half{beyond}: the score ranks events "
            "below non-events. Is a higher score a lower risk, or is the event the other level?"
        )


def _describe_use(audit: RiskAudit) -> Iterator[str]:
    use = Use(audit.use.name)
    plan = USES[use]
    yield OF_USE[use]
    if "rates_at_threshold" in plan.also_shown and audit.use.threshold is None:
        yield "No threshold was named, so no rates are given: set use.threshold (threshold= in Python)."
    if "calibration" in plan.also_shown and not audit.probability:
        yield (
            "The score is not declared a probability, so calibration is not judged: set "
            "risk.probability (probability=True in Python) if it is one."
        )
    if AucMetric.CROSS_DIFFERENCE in (*plan.primary, *plan.beside):
        yield (
            "A difference between the cells of two groups need not be a fault of the score: see "
            "the event rates and mean scores beside it."
        )
    if audit.clustered:
        yield (
            "Several rows belong to one person: intervals and tests keep them together, and the "
            "bootstrap beside them draws persons."
        )
    if audit.use.bootstrap_draws and audit.rows > MOST_RESAMPLED:
        yield (
            f"There is no bootstrap beside the intervals: {audit.rows:,} rows are more than the "
            f"{MOST_RESAMPLED:,} that are resampled."
        )


def say_why(undefined_because: str) -> str:
    """Write why an AUC is undefined in words; the name of its group stays as it is."""
    reason, where, group = undefined_because.partition(" in ")
    return f"{reason.replace('_', ' ')}{where}{group}"
