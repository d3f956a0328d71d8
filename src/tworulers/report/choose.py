"""What a page shows of many groupings, scores and groups: those that say most; the others stay in the tables."""

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, TypeVar

import pandas as pd

from tworulers.battery.audit import AuditResult
from tworulers.battery.clearest import shown_p
from tworulers.battery.questions import PRIMARY
from tworulers.diagnosis.comparison import Comparison, RegimeComparison
from tworulers.report.findings import CohortTables, Findings, ShownAudit
from tworulers.report.tables import write_count
from tworulers.report.view import order_scores
from tworulers.schema.settings import MACRO

MOST_GROUPINGS, MOST_SCORES, MOST_ROWS, MOST_STRUCTURES = 10, 12, 48, 4
"""What can be read in a figure or a table of a page."""

Tables = TypeVar("Tables", AuditResult, Comparison, RegimeComparison)
ScoreKey = tuple[str, str]


def choose(findings: Findings) -> tuple[Findings, str]:
    """Keep the groupings and scores that can be shown, and say how many are not.

    Of groupings primary questions come first, then those with a difference by any ruler, those with the smallest
    adjusted p before others; of scores the macro ones, then those with a difference. All keep their order.
    """
    results = [one.result for one in findings.audits.values()]
    tests = pd.concat([one.tests for one in results], ignore_index=True)
    if tests.empty:
        return findings, ""
    groupings = list(dict.fromkeys(tests["grouping"]))
    found = [score.key for score in order_scores(results[0])]
    scores = list(dict.fromkeys([*found, *zip(tests["metric"], tests["structure"], strict=True)]))
    kept = _keep(groupings, rank_groupings(tests), MOST_GROUPINGS)
    told = _keep(scores, _rank_scores(tests, scores), MOST_SCORES)
    left = [
        f"{len(kept_)} of {write_count(len(all_), what)}"
        for kept_, all_, what in ((kept, groupings, "grouping"), (told, scores, "score"))
        if len(kept_) < len(all_)
    ]
    if not left:
        return findings, ""
    audits = {
        key: replace(one, result=_restrict(one.result, kept, told), scores=_of_scores(one, told))
        for key, one in findings.audits.items()
    }
    changes = [
        replace(
            change,
            comparison=_restrict(change.comparison, kept, told),
            audits={name: _restrict(one, kept, told) for name, one in change.audits.items()},
        )
        for change in findings.changes
    ]
    regimes = [
        replace(one, comparison=_restrict(one.comparison, kept, told)) for one in findings.regimes
    ]
    groups = findings.groups.drop(columns=[g for g in findings.groups if g not in kept])
    note = (
        f"Shown are {' and '.join(left)}: macro scores and primary questions first, then those with a difference. "
        "The verdict counts all, and the tables to download hold all."
    )
    shown = replace(findings, audits=audits, changes=changes, regimes=regimes, groups=groups)
    return replace(shown, cohort=_of_structures(findings.cohort, told)), note


def _of_structures(cohort: CohortTables, scores: list[ScoreKey]) -> CohortTables:
    """Keep the volumes of the first structures whose scores are shown."""
    if cohort.volumes is None:
        return cohort
    named = list(dict.fromkeys(structure for _, structure in scores if structure != MACRO))
    volumes = cohort.volumes[cohort.volumes["structure"].isin(named[:MOST_STRUCTURES])]
    return replace(cohort, volumes=volumes)


def rank_groupings(tests: pd.DataFrame) -> list[str]:
    """Order groupings: primary questions, then by smallest adjusted p."""
    least = tests.groupby("grouping", sort=False)["p_verdict_fdr"].min().fillna(2.0)
    raw = tests.assign(p=shown_p(tests)).groupby("grouping", sort=False)["p"].min().fillna(2.0)
    primary = set(tests.loc[tests["family"] == PRIMARY, "grouping"])
    return sorted(map(str, least.index), key=lambda g: (g not in primary, least[g], raw[g]))


def _rank_scores(tests: pd.DataFrame, scores: list[ScoreKey]) -> list[ScoreKey]:
    """Order scores: the first, all macro ones, then by smallest adjusted p."""
    least = tests.groupby(["metric", "structure"])["p_verdict_fdr"].min().fillna(2.0).to_dict()
    return sorted(scores, key=lambda s: (s != scores[0], s[1] != MACRO, least.get(s, 2.0)))


def _keep(names: list[Any], ranked: list[Any], most: int) -> list[Any]:
    """Keep the first of a ranking, in their own order."""
    first = set(ranked[:most])
    return [name for name in names if name in first]


def _restrict(tables: Tables, groupings: list[str], scores: list[ScoreKey]) -> Tables:
    """Keep the rows of some groupings and scores in every table of a result."""
    kept: dict[str, Any] = {}
    for field in fields(tables):
        table = getattr(tables, field.name)
        if not isinstance(table, pd.DataFrame):
            continue
        if "grouping" in table:
            table = table[table["grouping"].isin(groupings)]
        if {"metric", "structure"} <= set(table) and field.name != "linear":
            table = _of_keys(table, scores)
        kept[field.name] = table
    return replace(tables, **kept)


def _of_keys(table: pd.DataFrame, scores: Iterable[ScoreKey]) -> pd.DataFrame:
    keys = pd.MultiIndex.from_frame(table[["metric", "structure"]])
    return table[keys.isin(list(scores))]


def _of_scores(one: ShownAudit, scores: list[ScoreKey]) -> pd.DataFrame | None:
    return None if one.scores is None else _of_keys(one.scores, scores)
