"""How well do groups do by the experts' labels, learnt from few of those and many machine labels?

Two estimands, with a failure threshold that was fixed beforehand: how often exams fail (`failures`), and the mean of
those that do not (`anchored_means`). Beside them stands what the gold exams exclude of the mean of all, whatever the
tail (`stats.gaffke`).
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from tworulers.diagnosis.anchored_means import anchor_groups
from tworulers.diagnosis.exchangeability import COVARIATES, assess_exchangeability
from tworulers.diagnosis.failures import rate_groups
from tworulers.diagnosis.few_labels import FewLabels
from tworulers.schema.metric import Metric
from tworulers.schema.settings import Audit
from tworulers.stats.draw import named_stream
from tworulers.stats.gaffke import bound_mean

NO_THRESHOLD = "no failure threshold was fixed"
ESTIMATES = ("mean", "error", "low", "high")


@dataclass(frozen=True)
class Anchored:
    """How groups do by the expert's score, estimated from few exams with it and many without.

    Attributes
    ----------
    means, gaps : of exams that do not fail, as of `anchor_groups`, with a column `grouping`; and of all gold exams the
        mean with the bounds that hold whatever the tail (`all_mean`, `all_low`, `all_high`; `all_difference` of gaps).
    failures, failure_gaps : as of `rate_groups`, with `grouping`; no rows where no threshold was fixed.
    exchangeability : as of `assess_exchangeability`.
    n_gold, n_other : exams with an expert label, and without one.
    threshold : what a score has to surpass not to count as failed; None where none was fixed.
    """

    means: pd.DataFrame
    gaps: pd.DataFrame
    failures: pd.DataFrame
    failure_gaps: pd.DataFrame
    exchangeability: pd.DataFrame
    n_gold: int
    n_other: int
    threshold: float | None


def anchor_scores(
    gold: pd.Series,
    silver: pd.Series,
    groups: pd.DataFrame,
    people: pd.DataFrame,
    settings: Audit,
    metric: Metric,
) -> Anchored:
    """Anchor groups' failure rates and means of a score, and their gaps, in the exams that an expert labelled.

    Parameters
    ----------
    gold : the score by the expert's label, indexed by exam_id.
    silver : the score by the machine's label, indexed by exam_id, of these exams and of more.
    groups : index `exam_id`, one ordered categorical column a grouping, of all exams of `silver`.
    people : of the same exams: whose they are (`patient_id`), and columns that tell whether both kinds are drawn alike.
    settings : level, failure threshold, draws and seed.
    metric : of the scores.
    """
    exams, people = silver.index, people.set_index("exam_id").loc[silver.index]
    threshold = settings.thresholds.get(metric.name)
    known = silver.notna() & np.isfinite(silver)
    scores = FewLabels.of(
        gold.reindex(exams).to_numpy(dtype=float),
        silver.to_numpy(dtype=float),
        people["patient_id"].to_numpy(),
        metric,
        threshold,
    )
    tables: dict[str, list[pd.DataFrame]] = {
        name: [] for name in ("means", "gaps", "failures", "failure_gaps")
    }
    for grouping in groups:
        placed = groups[grouping].reindex(exams[known])
        for name, table in _estimate(scores, placed, str(grouping), settings).items():
            tables[name].append(table.assign(grouping=str(grouping)))
    covariates = people[
        [name for name in COVARIATES if name in people and people[name].notna().any()]
    ]
    exchangeable = assess_exchangeability(
        pd.Series(exams.isin(gold.index), exams),
        covariates.assign(silver_score=silver),
        alpha=settings.alpha,
        draws=settings.permutations,
        seed=settings.seed,
    )
    n_gold = int(exams.isin(gold.index).sum())
    return Anchored(
        **{name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()},
        exchangeability=exchangeable,
        n_gold=n_gold,
        n_other=len(exams) - n_gold,
        threshold=threshold,
    )


def _estimate(
    scores: FewLabels, groups: pd.Series, grouping: str, settings: Audit
) -> dict[str, pd.DataFrame]:
    level = 1 - settings.alpha
    means, gaps = anchor_groups(scores, groups, level=level)
    bounds, excluded = bound_groups(scores, groups, settings, grouping)
    rates, rate_gaps = rate_groups(scores, groups, level=level)
    if scores.threshold is None:
        # A t interval of all exams, with failures that may not be in the sample, is not what it says.
        means = means.assign(undefined_because=NO_THRESHOLD)
        for column in (*ESTIMATES, *(f"gold_{x}" for x in ESTIMATES), "effective_n"):
            means[column] = np.nan
        gaps = gaps.assign(**dict.fromkeys(gaps.columns[2:], np.nan))
        rates, rate_gaps = rates.head(0), rate_gaps.head(0)
    return {
        "means": pd.concat([means, bounds], axis=1),
        "gaps": pd.concat([gaps, excluded], axis=1),
        "failures": rates,
        "failure_gaps": rate_gaps,
    }


def bound_groups(
    scores: FewLabels, groups: pd.Series, settings: Audit, grouping: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Bound the mean of all exams of every group by its gold exams, whatever the tail, and every pair's difference.

    Parameters
    ----------
    scores : of n exams; a metric without bounds has none here.
    groups : (n,) ordered categorical of the same exams.
    settings : level, draws and seed.
    grouping : its name, for a stream of chance of its own.

    Returns
    -------
    `all_mean`, `all_low`, `all_high`, one row a group in order; and `all_difference` second minus first with the
    largest and smallest that two intervals of half the error leave.
    """
    metric, alpha = scores.metric, settings.alpha
    rows, halves = [], []
    for name in groups.cat.categories:
        inside = (groups == name).to_numpy() & scores.labelled
        gold, whose = scores.gold[inside], scores.patients[inside]
        bounds = {}
        for error in (alpha, alpha / 2):
            bounds[error] = (np.nan, np.nan)
            if metric.low is not None and metric.high is not None:
                bounds[error] = bound_mean(
                    gold,
                    whose,
                    low=metric.low,
                    high=metric.high,
                    level=1 - error,
                    draws=settings.bootstrap_draws,
                    rng=named_stream(settings.seed, "whatever the tail", grouping, str(name)),
                )
        mean = float(gold.mean()) if len(gold) else np.nan
        low, high = bounds[alpha]
        rows.append({"all_mean": mean, "all_low": low, "all_high": high})
        halves.append((mean, *bounds[alpha / 2]))
    gaps = [
        {
            "all_difference": b[0] - a[0],
            "all_difference_low": b[1] - a[2],
            "all_difference_high": b[2] - a[1],
        }
        for a, b in combinations(halves, 2)
    ]
    return pd.DataFrame(rows), pd.DataFrame(gaps)
