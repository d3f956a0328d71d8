"""What a page that is passed on leaves out: everything of groupings with a group small enough to know its people."""

from dataclasses import fields, replace
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from tworulers.battery.audit import AuditResult
from tworulers.cohort.disclosure import (
    OUTCOME_KEYS,
    find_disclosing,
    find_small_outcomes,
    hide_single_exams,
)
from tworulers.diagnosis.anchored import Anchored
from tworulers.diagnosis.comparison import Comparison, RegimeComparison
from tworulers.diagnosis.warning import Warned
from tworulers.report.findings import CohortTables, Findings, RulerChange

Compared = TypeVar("Compared", Comparison, RegimeComparison)
Tables = TypeVar("Tables", AuditResult, Comparison, RegimeComparison, Anchored, Warned)


class NothingToShowError(ValueError):
    """Every grouping has a group that is too small to be described."""


class UnequalExamsError(ValueError):
    """Two audits differ by few exams."""


def withhold_small_groups(findings: Findings) -> Findings:
    """Take out of the findings whatever tells of few people, by itself or subtracted from something else shown.

    A grouping goes as a whole where a group, the exams it leaves out, or what remains of it beside another grouping
    is too small: a group that is merely not named could be found again from the others and the total. Success rates
    go where a group has few successes or failures, and so do all thresholds but the one that defines success, ids and
    volumes of single exams, single ages, the failure detection and the configuration. Levels of Table 1 are hidden
    with the next smaller one where only one would be.

    Parameters
    ----------
    findings : with `suppress_below`, the least size that is described.

    Raises
    ------
    NothingToShowError : no grouping is left; merge small groups, or leave them out.
    UnequalExamsError : audits beside each other differ by few exams, whose scores would follow from the totals.
    """
    check_exams(findings)
    small, least = find_small(findings), findings.suppress_below
    titles = {
        row["grouping"]: str(row["title"])
        for one in findings.audits.values()
        for row in one.result.groupings.to_dict("records")
    }
    if titles and set(titles) <= small:
        raise NothingToShowError(
            f"every grouping singles out fewer than {findings.suppress_below} exams; merge levels in the "
            "attributes, or leave small groups out"
        )
    audits = {
        key: replace(one, result=_hide_outcomes(_without(one.result, small), least))
        for key, one in findings.audits.items()
    }
    return replace(
        findings,
        audits=audits,
        changes=[_withhold_change(change, small, least) for change in findings.changes],
        regimes=[
            replace(one, comparison=_without_fifths(one.comparison, small))
            for one in findings.regimes
        ],
        warnings={},
        groups=findings.groups.drop(columns=[n for n in findings.groups if n in small]),
        cohort=hide_people(findings.cohort, small, least),
        configuration="",
        worst=(),
        withheld=[titles.get(name, name) for name in titles if name in small],
    )


def check_exams(findings: Findings) -> None:
    """Refuse audits of one model over sets of exams that differ by fewer than may be described.

    Raises
    ------
    UnequalExamsError : naming both rulers.
    """
    judged = [
        (key, set(one.scores["exam_id"]))
        for key, one in findings.audits.items()
        if one.scores is not None
    ]
    for ((regime, first), mine), ((other, second), theirs) in combinations(judged, 2):
        few = [len(part) for part in (mine - theirs, theirs - mine) if len(part)]
        if regime == other and few and min(few) < findings.suppress_below:
            raise UnequalExamsError(
                f"{first} judged {len(mine)} exams and {second} {len(theirs)}, and the scores of the "
                f"{min(few)} that one of them lacks would follow from what is shown; to pass results on, give both "
                "rulers the same exams, or leave one ruler out"
            )


def hide_lone_exams(findings: Findings) -> Findings:
    """Blank the values of groups of a single exam, which would be those of a person; their names and n stay."""
    audits = {
        key: replace(one, result=_hide_lone(one.result)) for key, one in findings.audits.items()
    }
    changes = [
        replace(change, audits={name: _hide_lone(one) for name, one in change.audits.items()})
        for change in findings.changes
    ]
    return replace(findings, audits=audits, changes=changes)


def find_small(findings: Findings) -> set[str]:
    """Name the groupings that single out at least one exam and fewer than may be described."""
    least = findings.suppress_below
    patients = findings.patients if len(findings.patients) else None
    small = set(find_disclosing(findings.groups, least, patients))
    results = [one.result for one in findings.audits.values()]
    results += [audit for change in findings.changes for audit in change.audits.values()]
    for result in results:
        groups = result.groups
        size = groups["n"] + groups["n_undefined"]
        small |= set(groups.loc[(size > 0) & (size < least), "grouping"])
    return small


def hide_anchored(anchored: Anchored | None, small: set[str], least: int) -> Anchored | None:
    """Hide the groupings with few exams in a group that have, or have not, an expert label; failures where few did."""
    if anchored is None:
        return None
    sizes = anchored.means[["n_gold", "n_silver"]]
    few = ((sizes > 0) & (sizes < least)).any(axis=1)
    kept = _without(anchored, small | set(anchored.means.loc[few, "grouping"]))
    rates = kept.failures
    told = np.stack([rates["failed"], rates["silver_failed"]]).astype(float)
    rest = np.stack([rates["n_gold"], rates["n_silver"]]) - told
    rare = (((told > 0) & (told < least)) | ((rest > 0) & (rest < least))).any(axis=0)
    hidden = set(rates.loc[rare, "grouping"])
    # How many did not fail, beside how many there are, would tell how many did.
    means = kept.means.assign(
        n_rest=kept.means["n_rest"].astype(float).mask(kept.means["grouping"].isin(hidden))
    )
    return replace(
        kept,
        means=means,
        failures=rates[~rates["grouping"].isin(hidden)],
        failure_gaps=kept.failure_gaps[~kept.failure_gaps["grouping"].isin(hidden)],
    )


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
        cohort,
        counts=counts,
        ages=ages,
        left_out=left_out,
        relations=relations,
        exclusions=None,
        volumes=None,
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


def _withhold_change(change: RulerChange, small: set[str], least: int) -> RulerChange:
    traced = change.probability
    return replace(
        change,
        comparison=_without_fifths(change.comparison, small),
        probability=None if traced is None else traced[~traced["grouping"].isin(small)],
        anchored=hide_anchored(change.anchored, small, least),
        audits={
            name: _hide_outcomes(_without(one, small), least) for name, one in change.audits.items()
        },
    )


def _without_fifths(comparison: Compared, small: set[str]) -> Compared:
    """Take groupings out of a comparison, and which rates fall below four fifths: that tells of hidden counts."""
    kept = _without(comparison, small)
    return replace(kept, four_fifths=kept.four_fifths.head(0))


def _hide_lone(result: AuditResult) -> AuditResult:
    return replace(
        result,
        groups=hide_single_exams(result.groups),
        rates=result.rates[result.rates["n"] != 1].reset_index(drop=True),
        differences=hide_single_exams(result.differences),
        equivalence=hide_single_exams(result.equivalence),
        disparities=hide_single_exams(result.disparities),
        label_shares=hide_single_exams(result.label_shares),
    )


def _hide_labels(shares: pd.DataFrame, least: int) -> pd.DataFrame:
    """Take out the groupings with few exams in a group that a machine's labels judged, or that they did not."""
    experts = shares["n"] - shares["n_machine"]
    few = ((shares["n_machine"] > 0) & (shares["n_machine"] < least)) | (
        (experts > 0) & (experts < least)
    )
    return shares[~shares["grouping"].isin(shares.loc[few, "grouping"])].reset_index(drop=True)


def _hide_outcomes(result: AuditResult, least: int) -> AuditResult:
    """Take out the rates of scores of which a group has few successes or failures, and what would give them away."""
    rates = result.rates[result.rates["primary"].astype(bool)]
    hidden = find_small_outcomes(rates, least)
    keys = pd.MultiIndex.from_frame(hidden[OUTCOME_KEYS])

    def keep(table: pd.DataFrame) -> pd.DataFrame:
        shown = table[table["primary"].astype(bool)]
        return shown[~pd.MultiIndex.from_frame(shown[OUTCOME_KEYS]).isin(keys)].reset_index(
            drop=True
        )

    score = OUTCOME_KEYS[:-1]

    def blank(table: pd.DataFrame, told: tuple[str, ...]) -> pd.DataFrame:
        if table.empty:
            return table
        gone = pd.MultiIndex.from_frame(table[score]).isin(pd.MultiIndex.from_frame(hidden[score]))
        names = [str(name) for name in table if str(name).startswith(told)]
        return table.assign(**{name: table[name].astype(float).mask(gone) for name in names})

    return replace(
        result,
        label_shares=_hide_labels(result.label_shares, least),
        rates=keep(result.rates),
        disparities=keep(result.disparities),
        differences=blank(result.differences, ("rate_",)),
        equivalence=blank(result.equivalence, ("failures_", "failure_difference", "p_failures")),
        families=result.families.assign(missing=""),
    )
