"""What the table of exams holds beside scores and groups, as a test or a model takes it in."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tworulers.battery.questions import TOO_FEW, Question
from tworulers.cohort.numbers import pick_numbers
from tworulers.cohort.spelling import is_blank, merge_spellings
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes
from tworulers.stats.types import FloatArray, IntArray

OLDEST = 90.0
"""Where an age that is only known to be above 89 lies among others."""

MOST_DRAWS = 2_000
"""Most permutations of a p that stands beside the verdict: enough for one below .05 / 63."""


@dataclass(frozen=True)
class Part:
    """The exams of a question whose group can be tested, groups renumbered without gaps.

    Attributes
    ----------
    rows : place of each in the table of scores, (n,).
    values, codes, patients : of each, (n,).
    names : of the groups.
    """

    rows: IntArray
    values: FloatArray
    codes: IntArray
    patients: IntArray
    names: tuple[str, ...]

    @property
    def repeats(self) -> bool:
        """Tell whether a patient has several exams."""
        return len(np.unique(self.patients)) < len(self.patients)

    def where(self, known: "np.ndarray") -> "Part":
        """Keep some exams, (n,), and of them the groups that are still large enough."""
        size = np.bincount(self.codes[known], minlength=len(self.names))
        large = np.flatnonzero(size >= TOO_FEW)
        kept = known & np.isin(self.codes, large)
        return Part(
            self.rows[kept],
            self.values[kept],
            np.searchsorted(large, self.codes[kept]),
            self.patients[kept],
            tuple(self.names[g] for g in large),
        )


def take_part(question: Question, table: pd.DataFrame, groups: pd.DataFrame) -> Part:
    """Take the exams of a question that are tested, with their places in the table of scores."""
    values = table[question.structure, question.metric.name].to_numpy(dtype=float)
    inside = groups[question.grouping].notna().to_numpy() & ~np.isnan(values)
    sample = question.sample
    whole = Part(np.flatnonzero(inside), sample.values, sample.codes, sample.patients, sample.names)
    return whole.where(np.ones(len(whole.rows), dtype=bool))


def list_given(exams: pd.DataFrame | None, settings: Audit) -> dict[str, pd.Series]:
    """List the columns that `settings.given` names and the table of exams has.

    Returns
    -------
    By name, numbers (float, missing NaN), or levels (object, blank missing).
    """
    if exams is None:
        return {}
    found: dict[str, pd.Series] = {}
    for name in settings.given:
        if name not in exams or is_blank(exams[name]).all():
            continue
        numbers = pick_numbers(exams, [name])
        if name in numbers:
            found[name] = numbers[name]
        else:
            found[name] = merge_spellings(exams[name])[0]
    return found


def place_oldest(name: str, numbers: pd.Series, exams: pd.DataFrame | None) -> pd.Series:
    """Put ages that are only known to be above 89 last; other columns are returned as they are."""
    if name != "age" or exams is None or "age_over_89" not in exams:
        return numbers
    over = exams["age_over_89"].astype(bool)
    return numbers.mask(numbers.isna() & over, OLDEST)


def is_made_of(grouping: str, column: str, attributes: Attributes) -> bool:
    """Tell whether a grouping cuts a column, or crosses one that does."""
    known = attributes.groupings.get(grouping)
    if known is None:
        return grouping == column
    return known.column == column or any(is_made_of(one, column, attributes) for one in known.of)
