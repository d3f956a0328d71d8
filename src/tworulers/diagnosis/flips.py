"""Which conclusions of an audit hold on one side of a comparison only?"""

from typing import Any

import numpy as np
import pandas as pd

from tworulers.stats.families import adjust_p

TEST = ["grouping", "structure", "metric"]
THRESHOLD = [*TEST, "threshold"]
OF_VERDICT = ["verdict_by", "verdict_undefined_because"]


def tabulate_flips(base: pd.DataFrame, other: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """Tell for each test on which side it is significant, by adjusted and by raw p.

    Parameters
    ----------
    base, other : the tests of two audits.
    alpha : level.

    Returns
    -------
    One row a test: `flip` and `flip_unadjusted` are `base_only`, `other_only`, `both`, `neither`,
    or `undefined` where a side has no p. Both stand side by side, since the correction over the
    family can make part of a flip: `p_fdr_own_exchanged` is the adjusted p where the test's own p alone becomes the
    other side's and its family stays the base side's, `p_fdr_rest_exchanged` where its own p stays
    and the rest of the family is exchanged. All are the p that the verdict rests on.
    """
    figures = ["p", "p_fdr", "p_verdict", "p_verdict_fdr"]
    joined = base[[*TEST, "family", *OF_VERDICT, *figures]].merge(
        other[[*TEST, *figures]],
        on=TEST,
        how="outer",
        suffixes=("_base", "_other"),
        validate="1:1",
    )
    for column, p in (("flip", "p_verdict_fdr"), ("flip_unadjusted", "p_verdict")):
        joined[column] = _name_sides(joined[f"{p}_base"], joined[f"{p}_other"], alpha)
    alone, rest = _exchange_own(joined)
    joined["p_fdr_own_exchanged"], joined["p_fdr_rest_exchanged"] = alone, rest
    return joined


def tabulate_four_fifths(base: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """List the disparities that fall below four fifths on one side only, with the counts of every
    group.

    Parameters
    ----------
    base, other : the disparities of two audits.

    Returns
    -------
    One row a grouping, score and threshold: `flip` (`base_only` or `other_only`), DIR and
    successes/n on both sides. A DIR that is undefined on a side is no flip.
    """
    values = ["dir", "below_four_fifths", "counts"]
    joined = base[[*THRESHOLD, "family", "primary", "groups", *values]].merge(
        other[[*THRESHOLD, *values]], on=THRESHOLD, suffixes=("_base", "_other"), validate="1:1"
    )
    below_base, below_other = (
        joined.pop(f"below_four_fifths_{side}").astype(bool) for side in ("base", "other")
    )
    joined.insert(len(THRESHOLD), "flip", np.where(below_base, "base_only", "other_only"))
    return joined[
        (below_base != below_other) & joined["dir_base"].notna() & joined["dir_other"].notna()
    ]


def summarise_flips(flips: pd.DataFrame, four_fifths: pd.DataFrame) -> dict[str, Any]:
    """Count tests, flips and four-fifths flips within each family, fit for strict JSON."""
    return {
        "tests_base": count_by_family(flips[flips["p_verdict_fdr_base"].notna()], "family"),
        "tests_other": count_by_family(flips[flips["p_verdict_fdr_other"].notna()], "family"),
        "flips": count_by_family(flips, "flip"),
        "flips_unadjusted": count_by_family(flips, "flip_unadjusted"),
        "four_fifths_flips": count_by_family(four_fifths[four_fifths["primary"]], "flip"),
    }


def count_by_family(table: pd.DataFrame, column: str) -> dict[str, Any]:
    """Count the values of a column within each family; the family itself is simply counted."""
    if column == "family":
        return {str(name): int(n) for name, n in table["family"].value_counts(sort=False).items()}
    return {
        str(family): {str(name): int(n) for name, n in rows[column].value_counts().items()}
        for family, rows in table.groupby("family")
    }


def _exchange_own(flips: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Adjust each test with its own p exchanged, and with everybody else's exchanged."""
    alone, rest = (pd.Series(np.nan, index=flips.index) for _ in range(2))
    for _, rows in flips.groupby("family", sort=False):
        base, other = (rows[f"p_verdict_{side}"].to_numpy(float) for side in ("base", "other"))
        for found, own, family in ((alone, other, base), (rest, base, other)):
            mixed = np.tile(family, (len(rows), 1))
            np.fill_diagonal(mixed, own)
            found[rows.index] = np.diag(adjust_p(mixed))
    return alone, rest


def _name_sides(base: pd.Series, other: pd.Series, alpha: float) -> pd.Series:
    names = np.select(
        [base.isna() | other.isna(), (base < alpha) & (other < alpha), base < alpha, other < alpha],
        ["undefined", "both", "base_only", "other_only"],
        "neither",
    )
    return pd.Series(names, index=base.index, dtype="str")
