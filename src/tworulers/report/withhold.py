"""What a page that is passed on leaves out: everything of groupings with a group small enough to know its people."""

from dataclasses import fields, replace
from typing import Any, TypeVar

import pandas as pd

from tworulers.audit import AuditResult
from tworulers.report.page import Anchored, CohortTables, Findings, Warned
from tworulers.rulers import Comparison, RegimeComparison

Tables = TypeVar("Tables", AuditResult, Comparison, RegimeComparison, Anchored, Warned)


class NothingToShowError(ValueError):
    """Every grouping has a group that is too small to be described."""


def withhold_small_groups(findings: Findings) -> Findings:
    """Take every grouping out of the findings that has a group of fewer exams than may be described.

    A group that is merely not named could be found again from the others and the total, so the grouping goes as a
    whole. Ids of single exams and single ages go too. Levels of Table 1 are hidden with the next smaller one where
    only one would be.

    Parameters
    ----------
    findings : with `suppress_below`, the least size that is described.

    Raises
    ------
    NothingToShowError : no grouping is left; merge small groups, or leave them out.
    """
    small = find_small(findings)
    titles = {
        row["grouping"]: str(row["title"])
        for one in findings.audits.values()
        for row in one.result.groupings.to_dict("records")
    }
    if titles and set(titles) <= small:
        raise NothingToShowError(
            f"every grouping has a group of fewer than {findings.suppress_below} exams; merge levels in the "
            "attributes, or leave small groups out"
        )
    audits = {
        key: replace(one, result=_without(one.result, small))
        for key, one in findings.audits.items()
    }
    changes = []
    for change in findings.changes:
        traced = change.probability
        kept = None if traced is None else traced[~traced["grouping"].isin(small)]
        without = _without(change.comparison, small)
        anchored = hide_anchored(change.anchored, small, findings.suppress_below)
        common = {name: _without(one, small) for name, one in change.audits.items()}
        changes.append(
            replace(change, comparison=without, probability=kept, anchored=anchored, audits=common)
        )
    return replace(
        findings,
        audits=audits,
        changes=changes,
        regimes=[replace(r, comparison=_without(r.comparison, small)) for r in findings.regimes],
        warnings={key: _without(one, small) for key, one in findings.warnings.items()},
        groups=findings.groups.drop(columns=[n for n in findings.groups if n in small]),
        cohort=hide_people(findings.cohort, small, findings.suppress_below),
        withheld=[titles.get(name, name) for name in titles if name in small],
    )


def find_small(findings: Findings) -> set[str]:
    """Name the groupings with a group of at least one exam and fewer than may be described."""
    small: set[str] = set()
    results = [one.result for one in findings.audits.values()]
    results += [audit for change in findings.changes for audit in change.audits.values()]
    for result in results:
        groups = result.groups[result.groups["status"] != "left out"]
        size = groups["n"] + groups["n_undefined"]
        small |= set(groups.loc[(size > 0) & (size < findings.suppress_below), "grouping"])
    return small


def hide_anchored(anchored: Anchored | None, small: set[str], least: int) -> Anchored | None:
    """Hide the groupings with few exams in a group that have, or have not, an expert label."""
    if anchored is None:
        return None
    sizes = anchored.means[["n_gold", "n_silver"]]
    few = ((sizes > 0) & (sizes < least)).any(axis=1)
    return _without(anchored, small | set(anchored.means.loc[few, "grouping"]))


def hide_people(cohort: CohortTables, small: set[str], least: int) -> CohortTables:
    """Hide small levels of Table 1, single ages and exams, and the tests of small groupings."""
    counts, ages, left_out, relations = (
        cohort.counts,
        cohort.ages,
        cohort.left_out,
        cohort.relations,
    )
    if counts is not None:
        parts = [_hide_levels(part, least) for _, part in counts.groupby("variable", sort=False)]
        counts = pd.concat(parts) if parts else counts
    if ages is not None:
        ages = ages.assign(minimum=float("nan"), maximum=float("nan"))
        for column in ("over_89", "unknown"):
            few = (ages[column] > 0) & (ages[column] < least)
            ages[column] = ages[column].astype(object).mask(few, f"< {least}")
    if left_out is not None:
        left_out = left_out[left_out["exams"] >= least]
    if relations is not None:
        gone = relations["variable"].isin(small) | relations["by"].isin(small)
        relations = relations[~gone]
    return replace(
        cohort, counts=counts, ages=ages, left_out=left_out, relations=relations, exclusions=None
    )


def _hide_levels(part: pd.DataFrame, least: int) -> pd.DataFrame:
    """Hide the small levels of a variable, and one more where a single one could be found again."""
    hidden = (part["exams"] > 0) & (part["exams"] < least)
    if hidden.sum() == 1 and len(part) > 1:
        others = part.loc[~hidden & (part["exams"] > 0), "exams"]
        if len(others):
            hidden = hidden | (part.index == others.idxmin())
    return part.assign(exams=part["exams"].astype(float).mask(hidden))


def _without(tables: Tables, small: set[str]) -> Tables:
    """Take the rows of some groupings out of every table of a result."""
    kept: dict[str, Any] = {}
    for field in fields(tables):
        table = getattr(tables, field.name)
        if isinstance(table, pd.DataFrame) and "grouping" in table:
            kept[field.name] = table[~table["grouping"].isin(small)].reset_index(drop=True)
    if isinstance(tables, AuditResult) and small & set(tables.settings.linear_terms):
        kept["linear"] = tables.linear.head(0)
    return replace(tables, **kept)
