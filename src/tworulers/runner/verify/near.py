"""Words that another processor may settle otherwise: those of a p so near its level that rounding takes it across."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

TESTS, POSTHOC, SENTENCES = "tests.parquet", "posthoc.parquet", "sentences.parquet"
REPORT = "report/summary.json"
"""What says again what stands in tables of all folders."""

SETTLED_BY: Mapping[str, tuple[str, ...]] = {
    TESTS: ("p_verdict_fdr", "p_within_holm"),
    "verdicts.parquet": (
        "p_verdict_fdr_base",
        "p_verdict_fdr_other",
        "p_fdr_own_exchanged",
        "swap_p_fdr",
    ),
    "flips.parquet": ("p_verdict_fdr_base", "p_verdict_fdr_other"),
}
"""By table: the p that its words are settled by, row by row."""

REPEATS: Mapping[str, tuple[str, ...]] = {
    SENTENCES: ("p_verdict_fdr", "p_within_holm"),
    POSTHOC: ("p_verdict", "p_verdict_fdr"),
}
"""By table: the p of the tests beside it whose conclusion its rows say again; a post hoc row is there only then."""


@dataclass(frozen=True)
class Level:
    """The level that p are held to, and by what factor one may miss it and still be near."""

    level: float = 0.05
    factor: float = 2.0

    def is_near(self, p: pd.Series) -> pd.Series:
        """Tell which p are near the level; one that is undefined is not."""
        return p.between(self.level / self.factor, self.level * self.factor)


def find_near(
    name: str, rows: Collection[str], gists: Collection[Mapping[str, pd.DataFrame]], level: Level
) -> set[str]:
    """Find the rows of a table whose words a p near its level settled, in any of the results.

    Parameters
    ----------
    name : of the table, below the folder of results.
    rows : their names in any of the results.
    gists : by table, means, words and the p that are known, by row.
    level : what is near.
    """
    folder, slash, file = name.rpartition("/")
    near = _list_near(name, SETTLED_BY.get(file, ()), gists, level)
    if file in REPEATS:
        tests = _list_near(f"{folder}{slash}{TESTS}", REPEATS[file], gists, level)
        near |= {row for row in rows if any(_says_again(row, test, file) for test in tests)}
    return near


def _list_near(
    name: str,
    columns: Collection[str],
    gists: Collection[Mapping[str, pd.DataFrame]],
    level: Level,
) -> set[str]:
    found: set[str] = set()
    for table in (gist[name] for gist in gists if name in gist):
        known = table[[column for column in columns if column in table.columns]]
        near = known.apply(level.is_near).any(axis=1) if len(known.columns) else np.array([], int)
        found |= set(known.index[near])
    return found


def _says_again(row: str, test: str, file: str) -> bool:
    """Tell whether a row is about a test: `main/sex` and `dice/macro/sex (2)` are about `main/dice/macro/sex`."""
    if file == SENTENCES:
        family, _, grouping = row.partition("/")
        return test.startswith(f"{family}/") and test.endswith(f"/{grouping}")
    about = re.sub(r" \(\d+\)$", "", row)
    return test.partition("/")[2] == about
