"""Whether scores rise or fall along groups that have an order."""

import numpy as np
import pandas as pd

from tworulers.battery.beside import MOST_DRAWS
from tworulers.battery.questions import KEY, TOO_FEW, Question
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes, Grouping
from tworulers.schema.tables import pack_names
from tworulers.stats.families import adjust_within
from tworulers.stats.trend import compare_in_order, permute_trend
from tworulers.stats.types import Row

FEWEST_GROUPS = 3
"""Of two groups a trend is the difference that the rank test asks for."""

COLUMNS = [*KEY, "family", "groups", "n", "statistic", "tau", "p", "p_fdr", "counted_by"]
COLUMNS += ["undefined_because"]


def find_trends(
    questions: list[Question], tests: pd.DataFrame, settings: Audit, attributes: Attributes
) -> pd.DataFrame:
    """Test every question of an ordered grouping of three or more groups for a trend.

    Returns
    -------
    One row a question: Jonckheere and Terpstra's `statistic`, Kendall's `tau` (positive where scores
    rise along `groups`), and two-sided `p`, by permutation of patients where one has several exams;
    `p_fdr` is adjusted over the trends of the family.
    """
    rows = []
    for question, family in zip(questions, tests["family"] if questions else (), strict=True):
        grouping = attributes.groupings.get(question.grouping)
        if grouping is None or not is_ordered(grouping):
            continue
        names = question.sample.names
        steps = [g for g, name in enumerate(names) if name != grouping.missing]
        if len(steps) >= FEWEST_GROUPS:
            rows.append(question.key | {"family": family} | _follow(question, steps, settings))
    found = pd.DataFrame(rows, columns=COLUMNS)
    if len(found):
        found["p_fdr"] = adjust_within(found["p"], found["family"])
    return found


def is_ordered(grouping: Grouping) -> bool:
    """Tell whether groups are steps: bins and parts of numbers are, levels where it is declared."""
    cut = grouping.kind == "column" and grouping.bins not in (None, "levels")
    return grouping.ordered or cut or grouping.kind in ("bins", "quantiles")


def _follow(question: Question, steps: list[int], settings: Audit) -> Row:
    """Test the trend over some groups, by their places in order."""
    sample = question.sample.keep(steps)
    known = int((sample.sizes >= TOO_FEW).sum())
    repeats = len(np.unique(sample.patients)) < len(sample.patients)
    row: Row = {"groups": pack_names(sample.names), "n": len(sample.values)}
    row["counted_by"] = "patient" if repeats else "exam"
    if known < FEWEST_GROUPS:
        return row | {"undefined_because": "fewer than three groups with two exams"}
    found = compare_in_order(sample.values, sample.codes)
    p, reason = found.p, found.undefined_because
    if repeats and settings.permutations < 1:
        p, reason = np.nan, "no permutations were asked for (audit.permutations)"
    elif repeats and not reason:
        stream = question.stream(settings.seed, "permute trend")
        values = sample.values, sample.codes, sample.patients
        p = permute_trend(*values, min(settings.permutations, MOST_DRAWS), stream)
    facts = {"statistic": found.statistic, "tau": found.tau, "p": p, "undefined_because": reason}
    return row | facts
