"""Whether a model's own confidence warns of failed exams equally well in every group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from tworulers.stats.auc import stratify_scores
from tworulers.stats.auc_fairness import (
    compare_within_groups,
    describe_overall,
    measure_fairness,
    tabulate_cells,
)
from tworulers.stats.auc_intervals import (
    AucCovariance,
    Estimate,
    compute_covariance,
    estimate_overall,
)
from tworulers.stats.concordance import ConcordanceMatrix, mark_failures, measure_concordance


@dataclass(frozen=True)
class FailureRule:
    """What counts as a failed exam.

    Attributes:
        metric: name of the segmentation score; `higher_is_better` its direction.
        threshold: of success, strict.
        quantile: share of the worst exams of the whole set that fail instead, where the threshold
            leaves a group with fewer than `min_events` failures.
        provenance: whose labels judge (gold, silver, ..): a failure is one in their eyes only.
    """

    metric: str
    higher_is_better: bool
    threshold: float
    quantile: float
    min_events: int
    provenance: str


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
        sentences: what stands out, in words, each naming the provenance of the judge.
    """

    overall: Estimate
    cells: pd.DataFrame
    metrics: pd.DataFrame
    tests: pd.DataFrame
    concordance: pd.DataFrame
    sentences: list[str] = field(default_factory=list)


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
    overall: Estimate | None = None
    covariances: dict[str, AucCovariance] = {}
    cells, metrics, concordance, sentences = [], [], [], []
    for name, group in groups.items():
        order = list(group.cat.categories) if isinstance(group.dtype, pd.CategoricalDtype) else None
        labels = group.astype(object).to_numpy()
        failures = mark_failures(
            score,
            labels,
            higher_is_better=rule.higher_is_better,
            threshold=rule.threshold,
            quantile=rule.quantile,
            min_events=rule.min_events,
            metric=rule.metric,
        )
        sample = stratify_scores(uncertainty, failures.event, labels, group_order=order)
        covariance = compute_covariance(sample, cluster=people)
        covariances[name] = covariance
        if overall is None:
            overall = estimate_overall(sample, level=level, cluster=people)
        table = tabulate_cells(covariance, level=level)
        table["rule"], table["by_quantile"] = failures.rule, failures.by_quantile
        cells.append(_name(table, name))
        metrics.append(_name(measure_fairness(covariance, level=level), name))
        matrix = measure_concordance(
            uncertainty,
            score,
            labels,
            higher_is_better=rule.higher_is_better,
            cluster=people,
            group_order=order,
        )
        concordance.append(_name(tabulate_concordance(matrix, level=level), name))
        failed = ", ".join(
            f"{n1} of {n1 + n0} in {label}"
            for label, n1, n0 in zip(
                covariance.matrix.groups,
                covariance.matrix.n_events,
                covariance.matrix.n_non_events,
                strict=True,
            )
        )
        standing = (
            f" (the threshold {rule.threshold:g} leaves a group fewer than {rule.min_events})"
            if failures.by_quantile
            else ""
        )
        sentences.append(
            f"{name}: failed by {rule.provenance} labels means {failures.rule}{standing}: {failed}."
        )
        sentences.append(f"{name}: {describe_overall(covariance.matrix)}")
    assert overall is not None
    return WarningAudit(
        overall=overall,
        cells=pd.concat(cells, ignore_index=True),
        metrics=pd.concat(metrics, ignore_index=True),
        tests=compare_within_groups(covariances, level=level),
        concordance=pd.concat(concordance, ignore_index=True),
        sentences=sentences,
    )


def tabulate_concordance(matrix: ConcordanceMatrix, *, level: float) -> pd.DataFrame:
    """List the concordance matrix with normal intervals cut to [0, 1].

    Columns: worse_of, better_of, concordance, se, low, high, n_pairs, n_worse, n_better,
    undefined_because; the last row, of "all", is the pair-weighted sum.
    """
    half = float(stats.norm.isf((1 - level) / 2))
    rows = []
    for g, h in np.ndindex(matrix.cells.shape):
        value, se = float(matrix.cells[g, h]), float(matrix.se[g, h])
        rows.append(
            {
                "worse_of": matrix.groups[g],
                "better_of": matrix.groups[h],
                "concordance": value,
                "se": se,
                "low": max(0.0, value - half * se) if se > 0 else np.nan,
                "high": min(1.0, value + half * se) if se > 0 else np.nan,
                "n_pairs": int(matrix.n_pairs[g, h]),
                "n_worse": int(matrix.n_exams[g]),
                "n_better": int(matrix.n_exams[h]),
                "undefined_because": matrix.undefined_because(g, h),
            }
        )
    se = matrix.overall_se
    total = int(matrix.n_exams.sum())
    rows.append(
        {
            "worse_of": "all",
            "better_of": "all",
            "concordance": matrix.overall,
            "se": se,
            "low": max(0.0, matrix.overall - half * se) if se > 0 else np.nan,
            "high": min(1.0, matrix.overall + half * se) if se > 0 else np.nan,
            "n_pairs": int(matrix.n_pairs.sum()),
            "n_worse": total,
            "n_better": total,
            "undefined_because": "" if matrix.n_pairs.sum() else "no two exams differ in score",
        }
    )
    return pd.DataFrame(rows)


def _name(table: pd.DataFrame, grouping: str) -> pd.DataFrame:
    table.insert(0, "grouping", grouping)
    return table
