"""Which spellings of a column mean the same value, and which values mean that none was reported."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import pandas as pd

NOT_REPORTED = frozenset(
    {
        "not reported",
        "not available",
        "not applicable",
        "not recorded",
        "unknown",
        "unspecified",
        "undisclosed",
        "other/unknown",
        "declined",
        "prefer not to say",
    }
)
"""Declared codes (folded) of people who gave no answer; they are values, not blanks."""

KEPT = 10_000
"""Folded texts kept at hand: a column of groups repeats a few, exam by exam."""

_UNSEEN = dict.fromkeys(
    [
        *map(ord, "\u00ad\u061c\ufeff"),
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x206A),
    ]
)
"""Characters without width and marks of direction, which a copy from a page or a document brings along."""

TRUE, FALSE = frozenset({"true", "t", "yes", "y", "1"}), frozenset({"false", "f", "no", "n", "0"})
"""Spellings (folded) of truth values."""


def fold_spelling(value: object) -> str:
    """Return a spelling without case and without outer, doubled, or hyphens' blanks, however its letters are coded."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    return _fold_text(str(value))


def drop_unseen(text: str) -> str:
    """Take off what cannot be seen in a name: characters without width, marks of direction, outer blanks."""
    return text.translate(_UNSEEN).strip()


@lru_cache(maxsize=KEPT)
def _fold_text(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_UNSEEN))
    text = re.sub(r"[\s_]+", " ", text).strip().casefold()
    return re.sub(r"\s*([-/])\s*", r"\1", text)


def is_blank(values: pd.Series) -> pd.Series:
    """Tell which cells hold nothing; a code for nothing is a value until a table's reader has taken it out."""
    return values.isna() | values.map(fold_spelling).eq("")


def is_unreported(values: pd.Series) -> pd.Series:
    """Tell which cells are blank or hold a declared code for *not reported*."""
    return is_blank(values) | values.map(fold_spelling).isin(NOT_REPORTED)


def count_codes(values: pd.Series, missing: Iterable[str]) -> dict[str, int]:
    """Count the cells that hold a code for no value, by the code as it stands there; empty cells are none.

    Parameters
    ----------
    values : a text column.
    missing : the codes.
    """
    codes = {fold_spelling(code) for code in missing} - {""}
    coded = values[values.map(fold_spelling).isin(codes)].astype(str).str.strip()
    return {str(code): int(n) for code, n in coded.value_counts(sort=False).items()}


def find_levels(values: pd.Series, wanted: Iterable[object]) -> list[str]:
    """Return the spellings of a text column that mean one of the wanted values.

    A value that stands there as it was given means itself; another means what differs in case and
    blanks alone, as `True`, which a command line makes of `TRUE`.
    """
    there = [str(value) for value in values.dropna().unique()]
    folded = [fold_spelling(value) for value in there]
    found = []
    for value in map(str, wanted):
        if value in there:
            found.append(value)
        else:
            same = fold_spelling(value)
            found += [name for name, key in zip(there, folded, strict=True) if key == same]
    return list(dict.fromkeys(found))


def merge_spellings(values: pd.Series) -> tuple[pd.Series, pd.DataFrame]:
    """Give near-duplicate spellings (``Siemens``, ``SIEMENS ``) the most frequent one of them.

    Parameters
    ----------
    values : a text column; blanks stay missing.

    Returns
    -------
    The merged column, and one row a spelling that changed: ``spelling``, ``merged_into``,
    ``exams``. Among equally frequent spellings the first in code-point order with a lower-case
    letter wins, so that row order does not matter."""
    blank = is_blank(values)
    text = values.where(~blank).map(
        lambda value: re.sub(r"\s+", " ", str(value)).strip(), na_action="ignore"
    )
    counts = values[~blank].astype(str).value_counts()
    chosen: dict[str, str] = {}
    sizes = {str(name): int(n) for name, n in text[~blank].value_counts().items()}
    for name in sorted(sizes, key=lambda name: (-sizes[name], name.isupper(), name)):
        chosen.setdefault(fold_spelling(name), name)
    merged = text.map(lambda value: chosen[fold_spelling(value)], na_action="ignore")
    changes = [
        {"spelling": spelling, "merged_into": chosen[fold_spelling(spelling)], "exams": int(count)}
        for spelling, count in counts.items()
        if spelling != chosen[fold_spelling(spelling)]
    ]
    frame = pd.DataFrame(changes, columns=["spelling", "merged_into", "exams"])
    return merged, frame.sort_values("spelling", ignore_index=True)
