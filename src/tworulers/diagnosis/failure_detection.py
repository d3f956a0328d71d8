"""Whether a model's own confidence warns of failed exams equally well in every group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from tworulers.auc.concordance import (
    ConcordanceMatrix,
    Failures,
    mark_failures,
    measure_concordance,
)
from tworulers.auc.covariance import compute_covariance
from tworulers.auc.fairness import (
    compare_within_groups,
    measure_fairness,
    tabulate_cells,
)
from tworulers.auc.intervals import Estimate, estimate_overall
from tworulers.auc.matrix import AucMatrix, stratify_scores
from tworulers.schema.metric import Metric


@dataclass(frozen=True)
class FailureRule:
    """What counts as a failed exam.

    Attributes:
        metric, structure: the segmentation score.
        threshold: of success, strict.
        quantile: share of the worst exams of the whole set that fail instead, where the threshold
            leaves a group with fewer than `min_events` failures.
        provenance: whose labels judge (gold, silver, ..): a failure is one in their eyes only.
    """

    metric: Metric
    structure: str
    threshold: float
    quantile: float
    min_events: int
    provenance: str

    def mark(self, score: ArrayLike, labels: ArrayLike) -> Failures:
        """Mark the failed exams of groups (n,) by their score (n,)."""
        return mark_failures(
            score,
            labels,
            metric=self.metric,
            structure=self.structure,
            threshold=self.threshold,
            quantile=self.quantile,
            min_events=self.min_events,
        )


@dataclass(frozen=True)
class WarningAudit:
    """How well an uncertainty warns of failures, by grouping; each table has a column `grouping`.

    Attributes:
        overall: AUC of the uncertainty for failure over all exams, under the first grouping's rule.
        cells: chance that a failed exam of one group looks more suspect than an acceptable one of
            another, as `tabulate_cells` gives it, with the failure `rule` and `by_quantile`.
        metrics: as `measure_fairness` gives them.
        tests: as `compare_within_groups` gives them.
        concordance: the same question without a threshold, one row a cell.
        matrices: by grouping, the AUC of failed against acceptable exams.
    """

    overall: Estimate
    cells: pd.DataFrame
    metrics: pd.DataFrame
    tests: pd.DataFrame
    concordance: pd.DataFrame
    matrices: Mapping[str, AucMatrix]


def audit_warning(
    uncertainty: ArrayLike,
    score: ArrayLike,
    groups: Mapping[str, pd.Series],
    rule: FailureRule,
    *,
    level: float,
    patient: ArrayLike | None = None,
) -> WarningAudit:
    """Ask whether an uncertainty, computed without any reference, tells failed exams from others.

    A low row means that failures of the group slip through; a low column that its good exams are
    sent for review. With one review threshold for all, cells between groups count as well.

    Parameters:
        uncertainty: shape (n,), higher is more suspect (1 - mean confidence, entropy, ensemble
            disagreement as 1 - pairwise Dice); NaN is left out and counted.
        score: shape (n,), the segmentation score under one ruler.
        groups: by grouping, the group of every exam; missing where it has none.
        rule: what counts as failed.
        level: confidence level of all intervals.
        patient: shape (n,); where a patient has several exams they are kept together.

    Raises:
        ValueError: no grouping is given.
    """
    if not groups:
        raise ValueError("no grouping was given: a warning is audited by at least one")
    people = None if patient is None else np.asarray(patient, dtype=object)
    if people is not None and pd.Series(people).is_unique:
        people = None
    samples, covariances = {}, {}
    tables: dict[str, list[pd.DataFrame]] = {"cells": [], "metrics": [], "concordance": []}
    for name, group in groups.items():
        order = list(group.cat.categories) if isinstance(group.dtype, pd.CategoricalDtype) else None
        labels = group.astype(object).to_numpy()
        failures = rule.mark(score, labels)
        samples[name] = stratify_scores(uncertainty, failures.event, labels, group_order=order)
        covariances[name] = compute_covariance(samples[name], cluster=people)
        cells = tabulate_cells(covariances[name], level=level)
        matrix = measure_concordance(
            uncertainty, score, labels, metric=rule.metric, cluster=people, group_order=order
        )
        of_group = {
            "cells": cells.assign(rule=failures.rule, by_quantile=failures.by_quantile),
            "metrics": measure_fairness(covariances[name], level=level),
            "concordance": tabulate_concordance(matrix, level=level),
        }
        for kind, table in of_group.items():
            table.insert(0, "grouping", name)
            tables[kind].append(table)
    return WarningAudit(
        overall=estimate_overall(next(iter(samples.values())), level=level, cluster=people),
        **{kind: pd.concat(parts, ignore_index=True) for kind, parts in tables.items()},
        tests=compare_within_groups(covariances, level=level),
        matrices={name: covariance.matrix for name, covariance in covariances.items()},
    )


def tabulate_concordance(matrix: ConcordanceMatrix, *, level: float) -> pd.DataFrame:
    """List the concordance matrix with normal intervals cut to [0, 1].

    Columns: worse_of, better_of, concordance, se, low, high, n_pairs, n_worse, n_better,
    undefined_because; the last row, of "all", is the pair-weighted sum.
    """
    rows: list[tuple[object, ...]] = []
    for g, h in np.ndindex(matrix.cells.shape):
        counts = (matrix.n_pairs[g, h], matrix.n_exams[g], matrix.n_exams[h])
        found = (matrix.cells[g, h], matrix.se[g, h], *counts, matrix.undefined_because(g, h))
        rows.append((matrix.groups[g], matrix.groups[h], *found))
    total, pairs = matrix.n_exams.sum(), matrix.n_pairs.sum()
    why = "" if pairs else "no two exams differ in score"
    rows.append(("all", "all", matrix.overall, matrix.overall_se, pairs, total, total, why))
    names = ["worse_of", "better_of", "concordance", "se", "n_pairs", "n_worse", "n_better"]
    table = pd.DataFrame(rows, columns=[*names, "undefined_because"])
    half = float(stats.norm.isf((1 - level) / 2)) * table["se"].where(table["se"] > 0)
    table.insert(4, "low", (table["concordance"] - half).clip(lower=0))
    table.insert(5, "high", (table["concordance"] + half).clip(upper=1))
    return table
