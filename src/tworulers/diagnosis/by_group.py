"""How far two models lie apart in each group, exam by exam."""

from collections.abc import Iterable
from dataclasses import asdict

import numpy as np
import pandas as pd

from tworulers.diagnosis.inflation import measure_inflation
from tworulers.diagnosis.pairs import SCORE, Pair

SHOWN = ("n", "mean_base", "mean_other", "mean", "mean_low", "mean_high", "median", "hodges_lehmann", "wilcoxon_p",
         "p_verdict", "undefined_because")  # fmt: skip
"""The figures of a paired difference that are told of a group."""


def number_patients(patients: "pd.Series | None", exams: pd.Index) -> "np.ndarray | None":
    """Number the patient of each exam; None where nobody knows them."""
    if patients is None:
        return None
    return patients.reindex(exams).factorize()[0].astype(np.int64)


def tabulate_by_group(
    pairs: Iterable[Pair], groups: pd.DataFrame, patients: "pd.Series | None", level: float
) -> pd.DataFrame:
    """Give the paired difference other - base of every score within each group, with its interval.

    Parameters
    ----------
    pairs : scores of the same exams on both sides.
    groups : index `exam_id`, one ordered categorical column a grouping; missing is in no group.
    patients : patient of each exam, index `exam_id`, whose exams are taken together; None takes exams alone.
    level : coverage of the t interval of a mean difference.

    Returns
    -------
    One row a grouping, group, structure and metric with the figures of `SHOWN`; a group under two exams has its `n`
    and says why there is no more.
    """
    rows = []
    for pair in pairs:
        for grouping in groups:
            assigned = groups[grouping].reindex(pair.exams)
            for group in assigned.cat.categories:
                here = (assigned == group).to_numpy()
                found = measure_inflation(
                    pair.base[here],
                    pair.other[here],
                    perfect=np.nan,
                    level=level,
                    patients=number_patients(patients, pair.exams[here]),
                )
                key = {"grouping": grouping, "group": group}
                key |= {"structure": pair.structure, "metric": pair.metric.name}
                reason = found.undefined_because if len(pair.exams[here]) < 2 else None
                figures = asdict(found) | {"undefined_because": reason}
                rows.append(key | {name: figures[name] for name in SHOWN})
    return pd.DataFrame(rows, columns=["grouping", "group", *SCORE, *SHOWN])
