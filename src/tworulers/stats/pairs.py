"""Which scores of the same exams stand beside each other, and in which groups."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tworulers.schema import METRICS, Metric

SCORE = ["structure", "metric"]

TOO_FEW = 2
"""A group with fewer exams is not compared, as it is not tested."""


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


@dataclass(frozen=True)
class GroupedPair:
    """A pair restricted to the exams of one grouping; groups with fewer than two exams are named,
    not used.

    `clusters` numbers the patient of each exam; it is None where every exam is its own unit.
    """

    grouping: str
    structure: str
    metric: Metric
    names: list[str]
    codes: NDArray[np.int64]
    base: NDArray[np.float64]
    other: NDArray[np.float64]
    clusters: NDArray[np.int64] | None
    not_assessed: list[str]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Exams of each group, (K,)."""
        return np.bincount(self.codes, minlength=len(self.names)).astype(np.int64)


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


def group_pairs(
    pair: Pair, groups: pd.DataFrame, patients: pd.Series | None
) -> Iterator[GroupedPair]:
    """Restrict a pair to each grouping in turn.

    Parameters
    ----------
    pair : scores of both sides.
    groups : index `exam_id`, one ordered categorical column a grouping; missing is in no group.
    patients : patient of each exam, index `exam_id`; None where exams are the unit of resampling.
    """
    for grouping in groups.columns:
        assigned = groups[grouping].reindex(pair.exams)
        counts = assigned.value_counts(sort=False)
        order = [name for name in groups[grouping].cat.categories if counts.get(name, 0) >= TOO_FEW]
        codes = assigned.cat.set_categories(order).cat.codes.to_numpy()
        used = codes >= 0
        clusters = None
        if patients is not None:
            labels = patients.reindex(pair.exams[used])
            if labels.duplicated().any():
                clusters = labels.factorize()[0].astype(np.int64)
        yield GroupedPair(
            grouping=str(grouping),
            structure=pair.structure,
            metric=pair.metric,
            names=[str(name) for name in order],
            codes=codes[used].astype(np.int64),
            base=pair.base[used],
            other=pair.other[used],
            clusters=clusters,
            not_assessed=[f"{name} (n {n})" for name, n in counts.items() if n < TOO_FEW],
        )


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
