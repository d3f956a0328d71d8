"""How far two rulers agree exam by exam: in scores of one model's predictions, and in label volumes."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict

import numpy as np
import pandas as pd

from tworulers.diagnosis.by_group import number_patients
from tworulers.diagnosis.pairs import SCORE, pair_scores
from tworulers.schema.metric import Metric
from tworulers.stats.agreement import measure_agreement
from tworulers.stats.types import FloatArray, Row

LABEL_VOLUME = "reference_mm3"
"""The rows of a score table that hold the volume of a structure in the ruler's label."""


def tabulate_agreement(
    base: pd.DataFrame,
    other: pd.DataFrame,
    scores: pd.DataFrame,
    metrics: Mapping[str, Metric],
    *,
    patients: pd.Series | None,
    level: float,
) -> pd.DataFrame:
    """Measure how far two rulers agree over the same exams, in scores and, where at hand, in label volumes.

    Parameters
    ----------
    base, other : long scores of one model by each ruler: `exam_id`, `structure`, `metric`, `value`.
    scores : `structure` and `metric` of the scores that are compared.
    metrics : by name.
    patients : patient of each exam, index `exam_id`; None takes exams alone.
    level : coverage of the intervals.

    Returns
    -------
    One row a score, then one a structure with the metric `LABEL_VOLUME`: `structure`, `metric`, and the fields of
    `Agreement`. Exams without a finite value on both sides are left out.
    """
    asked = scores[SCORE].drop_duplicates()
    first, second = (side.merge(asked, on=SCORE) for side in (base, other))
    rows = [
        _measure(one.structure, one.metric.name, one.exams, (one.base, one.other), patients, level)
        for one in pair_scores(first, second, metrics)
    ]
    for structure, table in _pair_volumes(base, other):
        values = table["value_base"].to_numpy(), table["value_other"].to_numpy()
        exams = pd.Index(table["exam_id"])
        rows.append(_measure(structure, LABEL_VOLUME, exams, values, patients, level))
    return pd.DataFrame(rows)


def _pair_volumes(base: pd.DataFrame, other: pd.DataFrame) -> Iterable[tuple[str, pd.DataFrame]]:
    """Set the label volumes of both rulers side by side, by structure."""
    first, second = (
        side.loc[side["metric"] == LABEL_VOLUME, ["exam_id", "structure", "value"]]
        for side in (base, other)
    )
    both = first.merge(second, on=["exam_id", "structure"], suffixes=("_base", "_other"))
    finite = np.isfinite(both[["value_base", "value_other"]].astype(float)).all(axis=1)
    kept = pd.DataFrame(both[finite])
    for structure in dict.fromkeys(kept["structure"]):
        yield str(structure), kept[kept["structure"] == structure]


def _measure(
    structure: str,
    metric: str,
    exams: pd.Index,
    values: tuple[FloatArray, FloatArray],
    patients: pd.Series | None,
    level: float,
) -> Row:
    first, second = (np.asarray(side, dtype=np.float64) for side in values)
    who = number_patients(patients, exams)
    found = measure_agreement(first, second, level=level, patients=who)
    return {"structure": structure, "metric": metric, **asdict(found)}
