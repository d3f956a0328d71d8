"""How far every two groups lie apart, with intervals that hold together within a question."""

import numpy as np
import pandas as pd

from tworulers.battery.questions import KEY, Question, tested_part
from tworulers.schema.settings import Audit
from tworulers.stats.shifts import shift_pairs

COLUMNS = [*KEY, "group_a", "group_b", "n_a", "n_b", "shift", "shift_low", "shift_high", "level"]
COLUMNS += ["counted_by", "undefined_because"]


def bound_shifts(questions: list[Question], settings: Audit) -> pd.DataFrame:
    """Give Hodges and Lehmann's shift of each two groups of every question, second minus first.

    Returns
    -------
    One row a pair; the intervals of a question hold all at once with `level`, patients counted as
    units where one has several exams (`counted_by` is `patient`).
    """
    rows, level = [], 1 - settings.alpha
    for question in questions:
        sample = tested_part(question.sample)
        if len(sample.names) < 2:
            continue
        repeats = len(np.unique(sample.patients)) < len(sample.patients)
        counted = {"level": level, "counted_by": "patient" if repeats else "exam"}
        sizes, names = sample.sizes, sample.names
        for pair in shift_pairs(sample.values, sample.codes, sample.patients, level):
            a, b = pair.first, pair.second
            rows.append(
                question.key
                | counted
                | {"group_a": names[a], "group_b": names[b], "n_a": sizes[a], "n_b": sizes[b]}
                | {"shift": pair.shift, "shift_low": pair.low, "shift_high": pair.high}
                | {"undefined_because": pair.undefined_because}
            )
    return pd.DataFrame(rows, columns=COLUMNS)
