"""The whole AUC audit of one score: whether it serves all groups equally."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from tworulers.auc.bootstrap import bootstrap_matrices
from tworulers.auc.calibration import (
    choose_bin_edges,
    find_group_thresholds,
    tabulate_calibration,
    tabulate_mean_scores,
    tabulate_rates,
)
from tworulers.auc.covariance import AucCovariance, compute_covariance
from tworulers.auc.fairness import (
    Within,
    compare_within_groups,
    estimate_within,
    measure_fairness,
    tabulate_cells,
)
from tworulers.auc.intervals import Estimate, estimate_overall
from tworulers.auc.matrix import AucMatrix, AucSample, stratify_scores
from tworulers.auc.uses import USES, Use, choose_metrics
from tworulers.schema.risk_settings import RiskUse
from tworulers.stats.interval import percentile_interval

MOST_RESAMPLED = 200_000
"""Rows up to which cells are resampled; beyond, the bootstrap says what DeLong's interval beside it says."""


@dataclass(frozen=True)
class RiskAudit:
    """The audit's tables, each with a column `grouping`; one the use does not call for is empty.

    Attributes
    ----------
    use : what the score is for, and how it was audited.
    probability : whether the score is a predicted probability.
    clustered : whether several rows belong to one person.
    rows : valid ones, with a score and an outcome.
    overall : AUC over all valid rows.
    matrices : by grouping.
    cells, metrics, tests : as `tabulate_cells`, `measure_fairness` (with the `role` of each metric in this use) and
        `compare_within_groups` give them.
    mean_scores, calibration, rates : as `tworulers.auc.calibration` gives them.
    """

    use: RiskUse
    probability: bool
    clustered: bool
    rows: int
    overall: Estimate
    matrices: Mapping[str, AucMatrix]
    cells: pd.DataFrame
    metrics: pd.DataFrame
    tests: pd.DataFrame
    mean_scores: pd.DataFrame
    calibration: pd.DataFrame
    rates: pd.DataFrame


def audit_risk(
    y_true: ArrayLike,
    y_score: ArrayLike,
    groups: Mapping[str, ArrayLike],
    use: RiskUse | None = None,
    *,
    probability: bool = False,
    cluster: ArrayLike | None = None,
    progress: Callable[[str], object] = str,
) -> RiskAudit:
    """Estimate the AUC of a score within and across the groups of every grouping, with intervals and tests.

    Parameters
    ----------
    y_true : shape (n,), 1 event, 0 not, NaN unknown.
    y_score : shape (n,), any real number; higher must mean a higher risk, for every group alike.
    groups : by grouping, the group of every row, shape (n,); missing where it has none. An ordered categorical Series
        keeps its order.
    use : what the score is for, which decides what is shown; confidence level, bootstrap draws and seed.
    probability : the score is a predicted probability in [0, 1], so calibration is judged as well.
    cluster : shape (n,), whose row it is, where a person has several.
    progress : told the name of each grouping as its turn comes.

    Raises
    ------
    ValueError : no grouping or an unknown use is given, or as `stratify_scores` does.
    """
    use = RiskUse() if use is None else use
    _refuse_unknown(use, groups)
    people = None if cluster is None else np.asarray(cluster, dtype=object)
    if people is not None and pd.Series(people).is_unique:
        people = None
    samples = {name: stratify_scores(y_score, y_true, group) for name, group in groups.items()}
    covariances = {name: compute_covariance(one, cluster=people) for name, one in samples.items()}
    within = {name: estimate_within(one, level=use.level) for name, one in covariances.items()}
    edges = choose_bin_edges(y_score, bins=use.bins) if probability else None
    tables: dict[str, list[pd.DataFrame]] = {}
    for name, sample in samples.items():
        progress(name)
        own = covariances[name], within[name]
        for kind, table in _tabulate(sample, *own, name, use, edges, people).items():
            table.insert(0, "grouping", name)
            tables.setdefault(kind, []).append(table)
    listed = {kind: pd.concat(parts, ignore_index=True) for kind, parts in tables.items()}
    return RiskAudit(
        use=use,
        probability=probability,
        clustered=people is not None,
        rows=next(iter(samples.values())).score.size,
        overall=estimate_overall(next(iter(samples.values())), level=use.level, cluster=people),
        matrices={name: uncertain.matrix for name, uncertain in covariances.items()},
        cells=listed["cells"],
        metrics=_choose_metrics(listed["metrics"], use),
        tests=compare_within_groups(covariances, level=use.level, within=within),
        mean_scores=listed["mean_scores"],
        calibration=listed.get("calibration", pd.DataFrame()),
        rates=listed.get("rates", pd.DataFrame()),
    )


def _refuse_unknown(use: RiskUse, groups: Mapping[str, ArrayLike]) -> None:
    if use.name not in list(Use):
        raise ValueError(f"use {use.name!r} is unknown; choose one of {[str(u) for u in Use]}")
    if not groups:
        raise ValueError("no grouping was given: a score is audited by at least one")


def _tabulate(
    sample: AucSample,
    uncertain: AucCovariance,
    within: Within,
    name: str,
    use: RiskUse,
    edges: ArrayLike | None,
    people: ArrayLike | None,
) -> dict[str, pd.DataFrame]:
    """Make the tables of one grouping."""
    level, shown = use.level, USES[Use(use.name)].also_shown
    cells = tabulate_cells(uncertain, level=level)
    bounds = _bootstrap_cells(sample, uncertain, name, use, people)
    cells["bootstrap_low"], cells["bootstrap_high"] = bounds
    wanted = choose_metrics(Use(use.name), all_metrics=use.all_metrics)
    tables = {
        "cells": cells,
        "metrics": measure_fairness(uncertain, level=level, wanted=tuple(wanted), within=within),
        "mean_scores": tabulate_mean_scores(sample, level=level),
    }
    if edges is not None:
        tables["calibration"] = tabulate_calibration(sample, edges=edges, level=level)
    thresholds: float | dict[str, float] | None = None
    if "group_thresholds" in shown:
        thresholds = find_group_thresholds(sample, sensitivity=use.sensitivity)
    elif "rates_at_threshold" in shown:
        thresholds = use.threshold
    if thresholds is not None:
        tables["rates"] = tabulate_rates(sample, thresholds=thresholds, level=level)
    return tables


def _bootstrap_cells(
    sample: AucSample,
    uncertain: AucCovariance,
    name: str,
    use: RiskUse,
    people: ArrayLike | None,
) -> tuple[list[float], list[float]]:
    """Give every cell the percentile interval of a stratified bootstrap, of patients where one has several rows; NaN of
    more than `MOST_RESAMPLED` rows.
    """
    side = len(sample.groups)
    drawn = np.full((1, side, side), np.nan)
    if use.bootstrap_draws and sample.score.size <= MOST_RESAMPLED:
        seed = [use.seed, *name.encode()]
        drawn = bootstrap_matrices(sample, draws=use.bootstrap_draws, seed=seed, cluster=people)
        # One row or patient can only be drawn as itself: no interval, as for DeLong.
        drawn[:, uncertain.events.patients < 2, :] = np.nan
        drawn[:, :, uncertain.non_events.patients < 2] = np.nan
    bounds = [percentile_interval(cell, use.level) for cell in drawn.reshape(len(drawn), -1).T]
    return [low for low, _ in bounds], [high for _, high in bounds]


def _choose_metrics(metrics: pd.DataFrame, use: RiskUse) -> pd.DataFrame:
    """Keep the metrics that a use shows, in its order, each with its role."""
    roles = choose_metrics(Use(use.name), all_metrics=use.all_metrics)
    metrics.insert(1, "role", metrics["metric"].map({str(m): role for m, role in roles.items()}))
    ranks = {str(metric): k for k, metric in enumerate(roles)}
    places = {name: k for k, name in enumerate(dict.fromkeys(metrics["grouping"]))}
    return (
        metrics[metrics["role"].notna()]
        .sort_values(
            ["grouping", "metric"],
            key=lambda column: column.map(ranks if column.name == "metric" else places),
            kind="stable",
        )
        .reset_index(drop=True)
    )
