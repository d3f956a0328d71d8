"""Whether a risk score serves all groups equally: the whole AUC audit of one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from tworulers.stats.auc import AucMatrix, AucSample, compute_matrix, stratify_scores
from tworulers.stats.auc_fairness import (
    compare_within_groups,
    describe_overall,
    measure_fairness,
    tabulate_cells,
)
from tworulers.stats.auc_intervals import (
    AucCovariance,
    Estimate,
    bootstrap_matrices,
    compute_covariance,
    estimate_overall,
    percentile_interval,
)
from tworulers.stats.auc_uses import USES, AucMetric, Use, choose_metrics
from tworulers.stats.calibration import (
    choose_bin_edges,
    find_group_thresholds,
    tabulate_calibration,
    tabulate_mean_scores,
    tabulate_rates,
)

HALF = 0.5 - 1e-12
"""Below this an AUC says that the score ranks the wrong way round; rounding does not."""


@dataclass(frozen=True)
class RiskQuestion:
    """What is asked of a score.

    Attributes:
        use: what the score is for, which decides what is shown.
        all_metrics: also show the metrics that are not recommended.
        probability: the score is a predicted probability, so calibration can be judged.
        threshold: the one for all groups, or None where none was named.
        sensitivity: share of events that each group's own threshold has to reach.
        bins, level, draws, seed: calibration bins, confidence level, bootstrap draws (0 for none)
            and the seed of their streams.
    """

    use: Use
    all_metrics: bool
    probability: bool
    threshold: float | None
    sensitivity: float
    bins: int
    level: float
    draws: int
    seed: int


@dataclass(frozen=True)
class RiskAudit:
    """The audit's tables, each with a column `grouping`; one the use does not call for is empty.

    `overall` is the AUC over all valid rows; `sentences` say what stands out, grouping by grouping.
    """

    question: RiskQuestion
    overall: Estimate
    matrices: Mapping[str, AucMatrix]
    cells: pd.DataFrame
    metrics: pd.DataFrame
    tests: pd.DataFrame
    mean_scores: pd.DataFrame
    calibration: pd.DataFrame
    rates: pd.DataFrame
    sentences: list[str] = field(default_factory=list)


def audit_risk(
    frame: pd.DataFrame, groups: Mapping[str, pd.Series], question: RiskQuestion
) -> RiskAudit:
    """Audit a score by every grouping.

    Parameters:
        frame: columns score, outcome (1 event, 0 not) and cluster_id, one row a unit.
        groups: by grouping, the group of every row of `frame`; missing where it has none. An
            ordered categorical keeps its order.
        question: what is asked.
    """
    cluster = frame["cluster_id"].to_numpy() if frame["cluster_id"].duplicated().any() else None
    uncertain: dict[str, AucCovariance] = {}
    cells, metrics, means, calibration, rates = [], [], [], [], []
    sentences: list[str] = []
    roles = choose_metrics(question.use, all_metrics=question.all_metrics)
    shown = USES[question.use].also_shown
    overall: Estimate | None = None
    for name, group in groups.items():
        order = list(group.cat.categories) if isinstance(group.dtype, pd.CategoricalDtype) else None
        labels = group.astype(object).to_numpy()
        sample = stratify_scores(frame["score"], frame["outcome"], labels, group_order=order)
        matrix = compute_matrix(sample)
        uncertain[name] = compute_covariance(sample, matrix, cluster=cluster)
        if overall is None:
            overall = estimate_overall(sample, level=question.level, cluster=cluster)
        cells.append(_name(_add_bootstrap(sample, uncertain[name], name, question), name))
        metrics.append(_name(measure_fairness(uncertain[name], level=question.level), name))
        arrays = (frame["score"], frame["outcome"], labels)
        means.append(
            _name(tabulate_mean_scores(*arrays, level=question.level, group_order=order), name)
        )
        if question.probability:
            edges = choose_bin_edges(frame["score"], bins=question.bins)
            table = tabulate_calibration(
                *arrays, edges=edges, level=question.level, group_order=order
            )
            calibration.append(_name(table, name))
        thresholds: float | dict[str, float] | None = None
        if "group_thresholds" in shown:
            thresholds = find_group_thresholds(
                *arrays, sensitivity=question.sensitivity, group_order=order
            )
        elif "rates_at_threshold" in shown:
            thresholds = question.threshold
        if thresholds is not None:
            table = tabulate_rates(
                *arrays, thresholds=thresholds, level=question.level, group_order=order
            )
            rates.append(_name(table, name))
        sentences += _describe(name, matrix)
    if overall is None:
        raise ValueError("no grouping was given: a score is audited by at least one")
    listed = pd.concat(metrics, ignore_index=True)
    listed.insert(1, "role", listed["metric"].map({str(m): role for m, role in roles.items()}))
    ranks = {str(metric): k for k, metric in enumerate(roles)}
    listed = listed[listed["role"].notna()]
    listed = listed.sort_values(
        ["grouping", "metric"],
        key=lambda column: column.map(ranks if column.name == "metric" else list(groups).index),
        kind="stable",
    ).reset_index(drop=True)
    return RiskAudit(
        question=question,
        overall=overall,
        matrices={name: table.matrix for name, table in uncertain.items()},
        cells=pd.concat(cells, ignore_index=True),
        metrics=listed,
        tests=compare_within_groups(uncertain, level=question.level),
        mean_scores=pd.concat(means, ignore_index=True),
        calibration=pd.concat(calibration, ignore_index=True) if calibration else pd.DataFrame(),
        rates=pd.concat(rates, ignore_index=True) if rates else pd.DataFrame(),
        sentences=[*_warn_direction(overall), *_warn(question, cluster is not None), *sentences],
    )


def _add_bootstrap(
    sample: AucSample, uncertain: AucCovariance, name: str, question: RiskQuestion
) -> pd.DataFrame:
    """Put the percentile interval of a stratified bootstrap beside DeLong's, as a check."""
    cells = tabulate_cells(uncertain, level=question.level)
    matrix = uncertain.matrix
    cells["bootstrap_low"], cells["bootstrap_high"] = np.nan, np.nan
    if question.draws == 0:
        return cells
    drawn = bootstrap_matrices(sample, draws=question.draws, seed=[question.seed, *name.encode()])
    for k, (g, h) in enumerate(np.ndindex(drawn.shape[1:])):
        # One row can only be drawn as itself: no interval, as for DeLong.
        if min(matrix.n_events[g], matrix.n_non_events[h]) < 2:
            continue
        chosen = np.zeros(drawn.shape[1:])
        chosen[g, h] = 1.0
        low, high = percentile_interval(drawn, chosen, level=question.level)
        cells.loc[k, ["bootstrap_low", "bootstrap_high"]] = low, high
    return cells


def _describe(name: str, matrix: AucMatrix) -> list[str]:
    sentences = [f"{name}: {describe_overall(matrix)}"]
    for k, group in enumerate(matrix.groups):
        if matrix.n_events[k] == 0 or matrix.n_non_events[k] == 0:
            lacking = "events" if matrix.n_events[k] == 0 else "non-events"
            sentences.append(
                f"{name}: {group} has no {lacking} ({matrix.n_events[k]} events, "
                f"{matrix.n_non_events[k]} non-events): its AUC is undefined, and it is not "
                "assessed for within-group parity."
            )
    sentences += [
        f"{name}: the AUC within {group} is {auc:.4f}, below one half: there the score ranks events "
        "below non-events."
        for group, auc in zip(matrix.groups, matrix.within, strict=True)
        if auc < HALF
    ]
    if matrix.n_without_group:
        sentences.append(
            f"{name}: {matrix.n_without_group} rows name no group; the AUC of the others is "
            f"{matrix.overall:.4f}, of all rows {matrix.overall_all:.4f}."
        )
    if matrix.no_variation.all():
        sentences.append(f"{name}: all scores are equal, so every AUC is one half by definition.")
    return sentences


def _warn_direction(overall: Estimate) -> list[str]:
    """Say that a score ranks the wrong way round, as one that is turned, or of another event, does."""
    if not overall.value < HALF:
        return []
    beyond = ", with its whole interval" if overall.high < HALF else ""
    return [
        f"The overall AUC {overall.value:.4f} lies below one half{beyond}: the score ranks events "
        "below non-events. Is a higher score a lower risk, or is the event the other level?"
    ]


def _warn(question: RiskQuestion, clustered: bool) -> list[str]:
    plan = USES[question.use]
    sentences = [plan.warning]
    if "rates_at_threshold" in plan.also_shown and question.threshold is None:
        sentences.append("No threshold was named, so no rates are given: set use.threshold.")
    if "calibration" in plan.also_shown and not question.probability:
        sentences.append(
            "The score is not declared a probability, so calibration is not judged: set "
            "risk.probability if it is one."
        )
    if AucMetric.CROSS_DIFFERENCE in (*plan.primary, *plan.beside):
        sentences.append(
            "A difference between the cells of two groups need not be a fault of the score: see "
            "the event rates and mean scores beside it."
        )
    if clustered:
        sentences.append(
            "Several rows belong to one person: DeLong's intervals and tests keep them together, "
            "the bootstrap beside them draws rows."
        )
    return sentences


def _name(table: pd.DataFrame, grouping: str) -> pd.DataFrame:
    table.insert(0, "grouping", grouping)
    return table
