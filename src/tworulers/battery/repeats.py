"""Whether groups differ in how many exams a patient has, which a score may hang on."""

import numpy as np
import pandas as pd

from tworulers.schema.settings import Audit
from tworulers.stats.draw import named_stream
from tworulers.stats.groups import GroupedSample
from tworulers.stats.permute import count_arrangements, p_of_ranks
from tworulers.stats.types import IntArray

COLUMNS = ["grouping", "group", "patients", "exams", "median", "minimum", "maximum", "p"]


def count_repeats(groups: pd.DataFrame, people: IntArray, settings: Audit) -> pd.DataFrame:
    """Count exams a patient in every group, and test by permutation whether the groups differ.

    A patient with exams in several groups counts in each with the exams there; labels move over
    patients as they do in the tests of scores.

    Parameters
    ----------
    groups : one row an exam, one ordered categorical column a grouping; missing is in no group.
    people : patient of each exam, shape (n,).
    settings : level, permutations and seed.

    Returns
    -------
    One row a grouping and group, the grouping's p in each; none where every patient has one exam.
    """
    rows = []
    for grouping in map(str, groups) if len(np.unique(people)) < len(people) else ():
        codes = groups[grouping].cat.codes.to_numpy().astype(np.int64)
        inside = codes >= 0
        pairs = np.stack([people[inside], codes[inside]], axis=1)
        found, count = np.unique(pairs, axis=0, return_counts=True)
        names = tuple(map(str, groups[grouping].cat.categories))
        p = _compare(found, count, names, settings, grouping)
        for code, name in enumerate(names):
            mine = count[found[:, 1] == code]
            known = len(mine) > 0
            rows.append(
                {
                    "grouping": grouping,
                    "group": name,
                    "patients": len(mine),
                    "exams": int(mine.sum()),
                    "median": float(np.median(mine)) if known else np.nan,
                    "minimum": float(mine.min()) if known else np.nan,
                    "maximum": float(mine.max()) if known else np.nan,
                    **p,
                }
            )
    return pd.DataFrame(rows, columns=[*COLUMNS, "undefined_because"])


def _compare(
    found: IntArray, count: IntArray, names: tuple[str, ...], settings: Audit, grouping: str
) -> dict[str, object]:
    """Test whether the numbers of exams differ, from one row a patient and group."""
    people, codes = found.T
    nothing = np.zeros(len(names), dtype=np.int64)
    sample = GroupedSample(count.astype(float), codes, names, people, people, nothing, 0)
    sample = sample.at_least(1)
    if len(sample.names) < 2 or settings.permutations < 1:
        reason = "one group" if len(sample.names) < 2 else "no permutations were asked for"
    elif count_arrangements(sample) * settings.alpha <= 1:
        reason = "too few ways to lay labels over patients"
    else:
        stream = named_stream(settings.seed, "exams a patient", grouping)
        return {
            "p": p_of_ranks(sample, settings.permutations, stream),
            "undefined_because": None,
        }
    return {"p": np.nan, "undefined_because": reason}
