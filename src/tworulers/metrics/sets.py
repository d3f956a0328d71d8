"""The metrics of an exam that depend on the whole set of exams, and the counts that they follow from."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tworulers.metrics.case import COUNT_METRICS, Row, average_rows, explain, make_frame
from tworulers.schema.metric import EXAMS, Metric
from tworulers.schema.settings import Audit

FILLED = "reference_fills_image"
"""Why a metric of a set is undefined where the reference leaves no background."""


def add_set_metrics(
    scores: pd.DataFrame, metrics: Sequence[Metric], settings: Audit
) -> pd.DataFrame:
    """Add to one evaluated set's scores the metrics that need all exams, and their mean over structures.

    Parameters
    ----------
    scores : as `score_case` returns them, with an `exam_id`; rows of these metrics are replaced, but for
        exams without counts.
    metrics : those that do not need the set are left alone.
    settings : what `compute` may read, and what the mean is over (`macro`).
    """
    metrics = [metric for metric in metrics if metric.needs == EXAMS and metric.compute]
    if not metrics:
        return scores
    exams = spread_counts(scores)
    if not exams:  # nothing is annotated
        return scores
    rows: dict[str, list[Row]] = {}
    for metric in metrics:
        own: dict[str, list[Row]] = {}
        assert metric.compute is not None
        for name, values in metric.compute(exams, settings).items():
            counts = exams[name]
            reference, alarms = counts["tp"] + counts["fn"] > 0, counts["fp"] > 0
            full = counts["tp"] + counts["fn"] >= counts["image_voxels"]
            reasons = np.select(
                [full, reference, alarms], [FILLED, "", "reference_empty"], "both_empty"
            )
            for exam, value, reason in zip(counts["exam_id"], values, reasons, strict=True):
                told = "" if reason == FILLED else reason
                row = Row(name, metric.name, float(value), explain(value, reason) or told or None)
                own.setdefault(exam, []).append(row)
        for exam, found in own.items():
            mean = average_rows(metric.name, found, settings.macro)
            rows.setdefault(exam, []).extend([*found, mean])
    added = make_frame(row for found in rows.values() for row in found)
    added["exam_id"] = [exam for exam, found in rows.items() for _ in found]
    labels = scores.drop(columns=["structure", "metric", "value", "undefined_because"])
    added = added.merge(labels.drop_duplicates(), on="exam_id", how="left", validate="many_to_one")
    names = [metric.name for metric in metrics]
    kept = scores[~(scores["metric"].isin(names) & scores["exam_id"].isin(list(rows)))]
    return pd.concat([kept, added[list(scores.columns)]], ignore_index=True)


def spread_counts(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return for each structure one row an exam: `exam_id`, and a column for each of `COUNT_METRICS`.

    Raises
    ------
    ValueError : the scores are of several sets, or an exam is scored twice.
    """
    if missing := sorted({"exam_id", "structure", "metric", "value"} - set(scores.columns)):
        raise ValueError(f"a score table needs the columns {missing}")
    for column in ("regime", "ruler"):
        if column in scores.columns and len(found := sorted(scores[column].unique())) > 1:
            raise ValueError(
                "a metric of a set belongs to one evaluated set, but the scores have "
                f"{column}s {found}; call it for each"
            )
    counts = scores[scores["metric"].isin(COUNT_METRICS)]
    keys = ["exam_id", "structure", "metric"]
    if repeated := sorted(counts.loc[counts.duplicated(keys), "exam_id"].unique()):
        raise ValueError(f"exams are scored more than once: {repeated}")
    return {
        str(name): counts[counts["structure"] == name]
        .pivot_table(index="exam_id", columns="metric", values="value", sort=False)
        .reset_index()
        for name in counts["structure"].unique()
    }
