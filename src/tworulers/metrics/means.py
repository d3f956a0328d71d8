"""How scores lie over all exams: means, medians, and how many succeed."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from tworulers.schema.metric import Metric
from tworulers.schema.settings import MACRO, Audit
from tworulers.schema.tables import list_rows


def summarise_scores(scores: pd.DataFrame, metrics: Iterable[str]) -> pd.DataFrame:
    """Summarise metrics of the structures and their mean over exams: the means first, in the order of the metrics.

    Mean and SD are over finite values, counted; the median ranks an infinite distance as the worst.
    """
    metrics = list(metrics)
    shown = scores[scores["metric"].isin(metrics)]
    finite = shown["value"].where(np.isfinite(shown["value"]))
    grouped = finite.groupby([shown["metric"], shown["structure"]], sort=False)
    summary = grouped.agg(["mean", "median", "std", "size", "count"]).rename(columns={"std": "sd"})
    summary["median"] = shown.groupby(["metric", "structure"], sort=False)["value"].median()
    summary["not_finite"] = summary["size"] - summary["count"]
    order = [(metric, MACRO) for metric in metrics] + list(summary.index)
    return summary.loc[list(dict.fromkeys(key for key in order if key in summary.index))]


def count_successes(scores: pd.DataFrame, metric: Metric, structure: str, audit: Audit) -> str:
    """Count exams on the good side of the threshold among those with a score; infinite distances fail."""
    if metric.name not in audit.thresholds:
        return ""
    rows = scores[(scores["metric"] == metric.name) & (scores["structure"] == structure)]
    known = rows["value"].dropna().to_numpy()
    good = metric.succeeds(known, audit.thresholds[metric.name])
    return f"{good.sum()}/{len(known)}"


def collect_means(scores: pd.DataFrame, metrics: Iterable[str]) -> dict[str, float]:
    """Name the mean, median and standard deviation of every metric and structure, and count the exams."""
    means = summarise_scores(scores, metrics).reset_index(names=["metric", "structure"])
    named = {
        f"{row['metric']}/{row['structure']}/{name}": float(row[name])
        for row in list_rows(means)
        for name in ("mean", "median", "sd")
    }
    return {**named, "exams": float(scores["exam_id"].nunique())}
