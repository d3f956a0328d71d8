"""The tables that a page is read from, whole, as CSV."""

from collections.abc import Iterator, Mapping

import pandas as pd

from tworulers.report.findings import Findings, ShownAudit

OF_AUDIT = (
    *("tests", "groups", "overall", "rates", "disparities", "differences", "equivalence", "power"),
    *("shifts", "adjusted", "mixed", "trends", "posthoc", "repeats", "linear", "groupings"),
)
OF_CHANGE = ("verdicts", "inflation", "closeness", "agreement", "four_fifths")
OF_MODELS = ("differences", "gaps", "by_group")
OF_PEOPLE = ("exam_ids", "maximum", "minimum", "n_infinite", "n_undefined")
"""Columns that tell of single exams: never the first, and none of them where small groups are withheld."""

DIGITS = "%.6g"


def list_data(findings: Findings) -> dict[str, str]:
    """Return every table that there is to download, CSV by name, those without rows left out.

    Rows of several audits stand below each other and say whose they are.
    """
    parts: dict[str, list[pd.DataFrame]] = {}
    for name, whose, table in _list_tables(findings):
        if table is not None and len(table):
            apart = {key: value for key, value in whose.items() if key not in table}
            told = table.drop(columns=[one for one in _hide(findings) if one in table])
            parts.setdefault(name, []).append(pd.concat([_repeat(apart, told), told], axis=1))
    return {
        name: pd.concat(tables).to_csv(index=False, float_format=DIGITS)
        for name, tables in parts.items()
    }


def _hide(findings: Findings) -> tuple[str, ...]:
    return OF_PEOPLE if findings.suppress_below else OF_PEOPLE[:1]


def _repeat(whose: Mapping[str, str], table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({key: [value] * len(table) for key, value in whose.items()}, table.index)


def _list_tables(
    findings: Findings,
) -> Iterator[tuple[str, dict[str, str], pd.DataFrame | None]]:
    for (regime, ruler), one in findings.audits.items():
        whose = {"regime": regime, "ruler": ruler, "provenance": str(one.result.provenance)}
        yield from _of_audit(one, whose)
    for change in findings.changes:
        whose = {"regime": change.regime, "base": change.base, "other": change.other}
        for name in OF_CHANGE:
            yield f"rulers_{name}", whose, getattr(change.comparison, name)
        yield "rulers_chance", whose, change.probability
        for name in ("means", "gaps", "failures", "failure_gaps"):
            table = None if change.anchored is None else getattr(change.anchored, name)
            yield f"anchored_{name}", whose, table
    for models in findings.regimes:
        whose = {"ruler": models.ruler, "base": models.base, "other": models.other}
        for name in OF_MODELS:
            yield f"models_{name}", whose, getattr(models.comparison, name)
    for (regime, ruler), warned in findings.warnings.items():
        for name in ("cells", "metrics", "tests", "concordance"):
            whose = {"regime": regime, "ruler": ruler}
            yield f"confidence_{name}", whose, getattr(warned, name)
    cohort = findings.cohort
    for name in ("counts", "ages", "relations", "left_out"):
        yield f"cohort_{name}", {}, getattr(cohort, name)


def _of_audit(
    one: ShownAudit, whose: dict[str, str]
) -> Iterator[tuple[str, dict[str, str], pd.DataFrame]]:
    for name in OF_AUDIT:
        yield name, whose, getattr(one.result, name)
