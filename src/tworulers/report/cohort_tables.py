"""The tables of the cohort as a person reads them: who is in it, and what goes together."""

from collections.abc import Mapping, Sequence

import pandas as pd

from tworulers.report.audit_tables import TEST_NAMES
from tworulers.report.rows import iterate_rows
from tworulers.report.tables import Table, make_table, write_number, write_p

EFFECTS: Mapping[str, str] = {
    "cramers_v": "Cramér's V",
    "cliffs_delta": "Cliff's δ",
    "epsilon_squared": "ε²",
    "rho": "Spearman's ρ",
}

COLUMNS: Mapping[str, str] = {
    "field_strength_t": "field strength (T)",
    "provenance": "pool of labels",
    "sex": "sex, as recorded",
    "race": "race, as recorded",
    "ethnicity": "ethnicity, as recorded",
}
"""Columns of the cohort as they are written; the others as they are."""

TESTS: Mapping[str, str] = {
    **TEST_NAMES,
    "chi_squared": "chi-squared",
    "fisher_exact": "Fisher's exact",
    "permutation": "permutation",
    "spearman": "Spearman",
}


def tabulate_people(
    counts: pd.DataFrame, ages: pd.DataFrame, *, suppress_below: int = 0
) -> list[Table]:
    """Tabulate who is in the cohort: levels of every attribute, and ages.

    Parameters
    ----------
    counts : `variable`, `level`, `exams`, `share`, `patients`; a level without exams is suppressed.
    ages : one row a pool, as `summarise_ages` gives it.
    suppress_below : levels with fewer exams are named but not counted; 0 counts all.
    """
    rows = []
    for row in iterate_rows(counts):
        cells = [f"{row.exams:,.0f}", f"{100 * row.share:.1f} %", f"{row.patients:,}"]
        if row.exams != row.exams:
            cells = ["suppressed", "", ""]
        elif row.exams < suppress_below:
            cells = [f"< {suppress_below}", "", ""]
        rows.append([COLUMNS.get(row.variable, row.variable), row.level, *cells])
    people = make_table(
        "Table 1. Who is in the cohort", ("attribute", "level", "exams", "share", "patients"), rows
    )
    reason = "no known age"
    years = [
        [
            row.pool,
            f"{row.exams:,}",
            f"{row.known:,}",
            str(row.over_89),
            str(row.unknown),
            write_number(row.mean, 1, reason),
            write_number(row.sd, 1, reason),
            write_number(row.median, 0, reason),
        ]
        for row in iterate_rows(ages)
    ]
    columns = ("pool", "exams", "age known", "above 89", "unknown", "mean", "SD", "median")
    return [people, make_table("Age in years, over known ages", columns, years)]


def tabulate_relations(caption: str, relations: pd.DataFrame, titles: Mapping[str, str]) -> Table:
    """Tabulate tests of two columns of the cohort.

    Parameters
    ----------
    caption : what is related.
    relations : one row a `variable` and `by`, with the fields of a relation.
    titles : titles of groupings.
    """
    rows = []
    for row in iterate_rows(relations):
        because = row.undefined_because
        effect = EFFECTS.get(row.effect_name, row.effect_name)
        remark = []
        if row.ratio_of_means == row.ratio_of_means:
            remark.append(f"ratio of means {row.ratio_of_means:.2f}")
        if row.highest:
            remark.append(f"highest: {row.highest}")
        value = write_number(row.effect, 2, because)
        rows.append(
            [
                titles.get(row.variable, COLUMNS.get(row.variable, row.variable)),
                titles.get(row.by, COLUMNS.get(row.by, row.by)),
                TESTS.get(row.test, row.test),
                f"{row.n:,}",
                write_p(row.p_verdict, because),
                f"{effect} {value}".strip(),
                "; ".join(remark),
            ]
        )
    return make_table(caption, ("of", "by", "test", "n", "p", "effect", "remark"), rows)


def split_relations(relations: pd.DataFrame) -> Sequence[tuple[str, pd.DataFrame]]:
    """Part the tests of the cohort by what they ask."""
    volume = relations["variable"].str.startswith("volume of")
    pools = relations["by"] == "provenance"
    scanner = relations["by"].isin(["manufacturer", "field_strength_t"]) & ~volume
    parts = {
        "Volume of the structures by group": volume,
        "Groups and scanners": scanner,
        "Pools of gold and silver labels": pools,
        "Age by group": ~(volume | pools | scanner),
    }
    return [(caption, relations[rows]) for caption, rows in parts.items() if rows.any()]
