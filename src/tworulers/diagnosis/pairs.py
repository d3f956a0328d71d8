"""Which scores of the same exams stand beside each other, and in which groups."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tworulers.battery.questions import TOO_FEW, Question, name_groups, tested_part
from tworulers.metrics.registry import METRICS
from tworulers.schema.metric import Metric
from tworulers.stats.groups import group_sample

SCORE = ["structure", "metric"]


@dataclass(frozen=True)
class Pair:
    """Finite scores of the same exams on both sides, (n,), and how many exams have none."""

    structure: str
    metric: Metric
    exams: pd.Index
    base: NDArray[np.float64]
    other: NDArray[np.float64]
    n_undefined: int
    n_infinite: int


def pair_scores(
    base: pd.DataFrame, other: pd.DataFrame, metrics: Mapping[str, Metric] = METRICS
) -> list[Pair]:
    """Pair two long score tables by exam, structure and metric; undefined and infinite values
    leave, counted.

    Parameters
    ----------
    base, other : columns `exam_id`, `structure`, `metric`, `value`.
    metrics : what is known of every metric, by name.

    Raises
    ------
    ValueError : a row of one side has no partner on the other, or a metric is unknown.
    """
    key = ["exam_id", *SCORE]
    joined = base[[*key, "value"]].merge(
        other[[*key, "value"]],
        on=key,
        how="outer",
        suffixes=("_base", "_other"),
        indicator=True,
        validate="1:1",
    )
    alone = joined[joined["_merge"] != "both"]
    if len(alone):
        side = alone["_merge"].map({"left_only": "first", "right_only": "second"}).astype(str)
        lines = (
            "  only in the " + side + ": exam " + alone["exam_id"] + ", "
            + alone["structure"] + " " + alone["metric"]
        )  # fmt: skip
        raise ValueError(
            f"the two score tables cover different exams, structures or metrics ({len(alone)} rows "
            "without a partner); score both on the same exams:\n" + "\n".join(lines.head(5))
        )
    unknown = sorted(set(joined["metric"]) - set(metrics))
    if unknown:
        raise ValueError(
            f"no direction is known for the metrics {unknown}; known metrics are {sorted(metrics)}"
        )
    return [
        _pair(str(structure), metrics[str(metric)], rows)
        for (structure, metric), rows in joined.groupby(SCORE)
    ]


def group_pairs(pair: Pair, groups: pd.DataFrame, patients: pd.Series | None) -> Iterator[Question]:
    """Ask of a pair in each grouping in turn; groups with fewer than two exams are named, not used.

    Parameters
    ----------
    pair : scores of both sides.
    groups : index `exam_id`, one ordered categorical column a grouping; missing is in no group.
    patients : patient of each exam, index `exam_id`; None where exams are the unit of resampling.
    """
    for grouping in groups.columns:
        values = np.stack([pair.base, pair.other])
        whole = group_sample(values, groups[grouping].reindex(pair.exams))
        sample = tested_part(whole)
        if patients is not None:
            people = patients.reindex(pair.exams[sample.units]).factorize()[0].astype(np.int64)
            sample = replace(sample, patients=people, units=people)
        left_out = name_groups(whole, TOO_FEW)
        yield Question(str(grouping), pair.structure, pair.metric, sample, left_out)


def _pair(structure: str, metric: Metric, rows: pd.DataFrame) -> Pair:
    values = rows[["value_base", "value_other"]].to_numpy(dtype=np.float64)
    undefined = np.isnan(values).any(axis=1)
    used = np.isfinite(values).all(axis=1)
    return Pair(
        structure=structure,
        metric=metric,
        exams=pd.Index(rows["exam_id"].to_numpy()[used]),
        base=values[used, 0],
        other=values[used, 1],
        n_undefined=int(undefined.sum()),
        n_infinite=int((~used & ~undefined).sum()),
    )
