"""Whether groups differ given something else of the exams, beside every verdict."""

import numpy as np
import pandas as pd

from tworulers.battery.beside import (
    MOST_DRAWS,
    Part,
    is_made_of,
    list_given,
    place_oldest,
    take_part,
)
from tworulers.battery.provenance import PROVENANCE
from tworulers.battery.questions import KEY, Question
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes
from tworulers.stats.families import adjust_within
from tworulers.stats.stratified import compare_within_strata, cut_strata, join_levels
from tworulers.stats.types import IntArray, Row

STRATA = 5
"""Into how many parts numbers are cut, where there are patients enough."""

PATIENTS_EACH = 8
"""Patients that a stratum of numbers needs on average."""

COLUMNS = [*KEY, "family", "given", "strata", "n", "n_compared", "n_left_out", "statistic", "df"]
COLUMNS += ["p", "p_fdr", "counted_by", "undefined_because"]
COUNTS = ("strata", "n", "n_compared", "n_left_out", "df")


def compare_given(
    questions: list[Question],
    tests: pd.DataFrame,
    table: pd.DataFrame,
    groups: pd.DataFrame,
    exams: pd.DataFrame | None,
    provenance: pd.Series,
    settings: Audit,
    attributes: Attributes,
) -> pd.DataFrame:
    """Test every question within strata of each column that is given, and of provenance where labels are mixed.

    Parameters
    ----------
    questions, tests : row by row.
    table, groups : scores (exams, scores) and groups (exams, groupings).
    exams : the table of exams, in the order of `table`; None where there is none.
    provenance : of the labels that judged each exam.
    settings : `given`, `permutations`, `seed`.
    attributes : what groupings are made of.

    Returns
    -------
    One row a question and column: `strata` and `n_compared` count what holds two groups, `p` is van
    Elteren's, by permutation of patients within strata where one has several exams (`counted_by` is
    `patient`); `p_fdr` is adjusted over the family, for each column apart.
    """
    columns = list_given(exams, settings)
    if len(set(provenance)) > 1:
        columns[PROVENANCE] = provenance
    rows = []
    for question, family in zip(questions, tests["family"] if questions else (), strict=True):
        part = take_part(question, table, groups)
        for name, column in columns.items():
            start = question.key | {"family": family, "given": name}
            if is_made_of(question.grouping, name, attributes):
                rows.append(start | {"undefined_because": f"groups are made of {name}"})
                continue
            rows.append(
                start | _compare(question, part, place_oldest(name, column, exams), settings)
            )
    found = pd.DataFrame(rows, columns=COLUMNS)
    if len(found):
        apart = found["family"] + "\n" + found["given"]
        found["p_fdr"] = adjust_within(found["p"], apart)
    return found.astype(dict.fromkeys(COUNTS, "Int64"))


def _compare(question: Question, part: Part, column: pd.Series, settings: Audit) -> Row:
    """Test within strata of a column, exams without a value left out."""
    here = column.iloc[part.rows]
    known = here.notna().to_numpy()
    kept = part.where(known)
    row: Row = {"n": len(kept.rows), "n_left_out": len(part.rows) - len(kept.rows)}
    row["counted_by"] = "patient" if kept.repeats else "exam"
    if len(kept.names) < 2:
        return row | {"undefined_because": "fewer than two groups with two exams and a value"}
    strata = _stratify(column.iloc[kept.rows], kept.patients)
    stream = question.stream(settings.seed, f"given {column.name}")
    draws = min(settings.permutations, MOST_DRAWS) if kept.repeats else 0
    found = compare_within_strata(
        kept.values, kept.codes, strata, kept.patients, draws=draws, rng=stream
    )
    return row | {
        "strata": found.strata,
        "n_compared": found.n_compared,
        "statistic": found.statistic,
        "df": found.df,
        "p": found.p_permutation if draws else found.p,
        "undefined_because": found.undefined_because,
    }


def _stratify(column: pd.Series, patients: IntArray) -> IntArray:
    """Cut numbers at their quantiles, take levels as they are."""
    if pd.api.types.is_numeric_dtype(column):
        parts = int(np.clip(len(np.unique(patients)) // PATIENTS_EACH, 2, STRATA))
        return cut_strata(column.to_numpy(dtype=float), patients, parts)
    return join_levels(column, patients)
