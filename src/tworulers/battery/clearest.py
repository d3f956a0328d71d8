"""The p that a test is shown with, and the clearest of several tests."""

from typing import Any

import pandas as pd

from tworulers.schema.tables import list_rows


def shown_p(tests: pd.DataFrame) -> pd.Series:
    """Return the unadjusted p that each test is judged and shown by; NaN where it has none.

    It keeps the exams of a patient together where a patient has several.

    Parameters
    ----------
    tests : rows of an audit's tests.
    """
    return tests["p_verdict"]


def find_clearest(tests: pd.DataFrame) -> dict[str, Any] | None:
    """Return the row with the smallest p, the first of equal ones; None where no test has a p.

    The adjusted p cannot choose: Benjamini-Hochberg gives many tests the same one.

    Parameters
    ----------
    tests : rows of an audit's tests, of one family.
    """
    p = shown_p(tests).astype(float)
    if not p.notna().any():
        return None
    return list_rows(tests.iloc[[int(p.to_numpy().argsort(kind="stable")[0])]])[0]
