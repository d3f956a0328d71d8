"""How a command ends on a terminal: one table and three lines. All else stands on the page and in the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import pandas as pd

from tworulers.battery.audit import AuditResult
from tworulers.battery.questions import EXTRA
from tworulers.diagnosis.comparison import Comparison, RegimeComparison
from tworulers.metrics.known.dice import DICE
from tworulers.report.audit_tables import tell_family
from tworulers.report.briefs import (
    describe,
    name_audit,
    tabulate_groupings,
    tabulate_overall,
    tell_closeness,
    tell_partial_macro,
)
from tworulers.report.choose import MOST_GROUPINGS
from tworulers.report.findings import ShownAudit
from tworulers.report.ruler_tables import keep_macro, tabulate_by_group
from tworulers.report.tables import UNDEFINED, Table, make_table, write_count, write_p
from tworulers.report.view import View
from tworulers.report.words.answers import tell_answers
from tworulers.report.words.groupings import TOO_FEW
from tworulers.report.words.headline import name_side, say_of_patients, say_of_ruler, say_of_scores
from tworulers.report.words.models import say_gaps
from tworulers.report.words.primary import list_mismatches, tell_lock
from tworulers.report.words.read_facts import tell_best, tell_change
from tworulers.report.words.rulers import put_into_words
from tworulers.report.words.verdicts import FLIPS, TITLES, pick_flip
from tworulers.schema.metric import Metric
from tworulers.schema.settings import MACRO
from tworulers.schema.sources import Attributes
from tworulers.schema.tables import list_rows

MOST_LINES = 24
"""Rows of a table on a terminal."""


@dataclass(frozen=True)
class Ending:
    """How a command ends: what has to be known before, one table, and at most three lines.

    Attributes
    ----------
    notes : before the table.
    table : the answer by grouping; None where nothing was compared.
    lines : what the answer is, at most two; the third is where all of it lies.
    """

    notes: tuple[str | Table, ...]
    table: Table | None
    lines: tuple[str, ...]


def end_audit(
    found: AuditResult,
    no_verdict: str,
    said: pd.DataFrame,
    *,
    origin: Sequence[str] = (),
) -> Ending:
    """Say what an audit found.

    Parameters
    ----------
    found : the audit.
    no_verdict : why no verdict may rest on its ruler; empty where one may.
    said : the sentences of the groupings, of which those without a verdict for want of exams are told.
    origin : how its ruler's labels came about.
    """
    notes: list[str | Table] = [text for text in [tell_lock(found.settings.locked)] if text]
    notes += list_mismatches(found.settings.locked)
    notes += [*_note_families(found), *origin]
    few = list(said.loc[said["verdict"] == TOO_FEW, "sentence"]) if len(said) else []
    notes += few[:1]
    if few[1:]:
        notes.append(
            f"no verdict by {write_count(len(few) - 1, 'more grouping')}: sentences.parquet"
        )
    if found.groupings.empty:
        return Ending(tuple(notes), tabulate_overall(found), ())
    table = tabulate_groupings(found, name_audit(found), MOST_GROUPINGS)
    if no_verdict:
        lines = [f"no verdict: {no_verdict}"]
    else:
        lines = [tell_best([found]), tell_answers(found)]
    return Ending(tuple(notes), table, tuple(filter(None, lines)))


def end_rulers(
    found: Comparison,
    audits: Sequence[AuditResult],
    attributes: Attributes,
    metrics: Mapping[str, Metric],
) -> Ending:
    """Say what changed with the ruler.

    Parameters
    ----------
    found : the comparison.
    audits : of the model, whose best labels speak of the patients.
    attributes : the groupings that were asked.
    metrics : declarations of the metrics, by name.
    """
    found, summary = put_into_words(found), found.summary
    notes = [text for text in [tell_partial_macro(summary)] if text]
    titles = {name: one.title or name for name, one in attributes.groupings.items()}
    if not titles:
        return Ending((*notes, describe(summary)), None, (tell_closeness(found),))
    table = tabulate_changes(found, titles, metrics, describe(summary))
    lines = [tell_best(audits), tell_change(summary)]
    return Ending(tuple(notes), table, tuple(filter(None, lines)))


def end_models(found: RegimeComparison, metrics: Mapping[str, Metric]) -> Ending:
    """Say by how much the second model is better, overall and in each group, and what became of the gaps.

    Parameters
    ----------
    found : the comparison.
    metrics : declarations of the metrics, by name.
    """
    key = pick_compared(found)
    table = tabulate_paired(found, metrics, key) if len(found.by_group) else None
    lines = [] if key is None else [say_gaps(found, metrics, key)]
    return Ending((describe(found.summary),), table, tuple(lines))


def pick_compared(found: RegimeComparison) -> tuple[str, str] | None:
    """Pick the score that stands for a comparison of models: the first macro one, else the first there is."""
    rows = keep_macro(found).differences
    rows = rows if len(rows) else found.differences
    return None if rows.empty else (str(rows["metric"].iloc[0]), str(rows["structure"].iloc[0]))


def tabulate_paired(
    found: RegimeComparison,
    metrics: Mapping[str, Metric],
    key: tuple[str, str] | None,
    titles: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """Tabulate the paired differences of two models in each group, of one score."""
    rows = found.by_group
    if key is not None:
        rows = rows[(rows["metric"] == key[0]) & (rows["structure"] == key[1])]
    return tabulate_by_group(replace(found, by_group=rows), metrics, titles).shorten(MOST_LINES)


def end_answer(view: View) -> Ending:
    """Say what each ruler says of every grouping, and the two sentences."""
    said = tuple(filter(None, [say_of_patients(view), say_of_ruler(view)]))
    first, metrics = view.first, view.first.result.metrics
    notes: list[str | Table] = [text for one in view.judged for text in _note_families(one.result)]
    notes += view.findings.origins
    if not view.grouping:
        captioned = {one.key: tabulate_overall(one.result) for one in view.judged}
        *others, table = captioned.values()
        return Ending((*notes, *others), table, tuple(filter(None, [say_of_scores(view)])))
    if view.models is not None:
        table = tabulate_paired(view.models.comparison, metrics, view.score.key, first.titles)
        return Ending(
            tuple(notes), replace(table, caption=f"{table.caption}, by {name_side(first)}"), said
        )
    if view.change is None:
        named = _name_judged(first, first.name)
        return Ending(tuple(notes), tabulate_groupings(first.result, named, MOST_GROUPINGS), said)
    caption = _name_judged(first, " and by ".join(view.names.values()))
    notes += [_tell_models(one.comparison, metrics) for one in view.findings.regimes]
    table = tabulate_changes(view.change.comparison, first.titles, metrics, caption, view.score.key)
    return Ending(tuple(notes), table, said)


def _tell_models(found: RegimeComparison, metrics: Mapping[str, Metric]) -> str:
    """Say in a line by how much one model scores higher than another by a ruler."""
    key = pick_compared(found)
    return f"by {found.summary['ruler']}: {say_gaps(found, metrics, key)}" if key else ""


def _note_families(found: AuditResult) -> list[str]:
    """Tell of families of which a test is missing, and of all where there are several."""
    families = list_rows(found.families)
    told = [row for row in families if row["missing"] or len(families) > 1]
    return [tell_family(row, found.by_patient) for row in told]


def tabulate_changes(
    found: Comparison,
    titles: Mapping[str, str],
    metrics: Mapping[str, Metric],
    caption: str,
    preferred: tuple[str, str] = (DICE.name, MACRO),
) -> Table:
    """Tabulate each grouping's clearest change of conclusion, or its first score where none changed.

    Parameters
    ----------
    found : the comparison.
    titles : of groupings, by name.
    metrics : declarations of the metrics, by name.
    caption : of the table.
    preferred : the metric and structure that are shown where no conclusion changed.
    """
    verdicts, rows = found.verdicts, []
    verdicts = verdicts[verdicts["family"] != EXTRA]
    of_grouping = {name: verdicts[verdicts["grouping"] == name] for name in titles}
    changed = {name: pick_flip(mine, preferred) for name, mine in of_grouping.items()}
    shown = sorted(titles, key=lambda name: changed[name] is None)[:MOST_GROUPINGS]
    note = f"{len(shown)} of {write_count(len(titles), 'grouping')}, changed conclusions first"
    for grouping in (name for name in titles if name in shown):
        title, mine, row = titles[grouping], of_grouping[grouping], changed[grouping]
        asked = (mine["metric"] == preferred[0]) & (mine["structure"] == preferred[1])
        if row is None and mine.empty:
            rows.append([title, *[UNDEFINED] * 5, "not compared"])
            continue
        row = (mine[asked] if asked.any() else mine).iloc[0] if row is None else row
        because, verdict = row["undefined_because"], TITLES.get(row["verdict"], row["verdict"])
        p = [f"{p}_{side}" for side in ("base", "other") for p in ("p_verdict", "p_verdict_fdr")]
        rows.append(
            [
                title,
                metrics[row["metric"]].name_of(row["structure"]),
                *(write_p(row[name]) for name in p),
                f"{verdict}: {because}" if isinstance(because, str) and because else verdict,
            ]
        )
    names = (found.summary[f"{side}_ruler"] for side in ("base", "other"))
    heads = [head for name in names for head in (f"p {name}", "adjusted")]
    columns = ("grouping", "score", *heads, "what changing the ruler did")
    return make_table(caption, columns, rows, note if len(shown) < len(titles) else "")


def tabulate_comparisons(summaries: Sequence[Mapping[str, Any]]) -> Table:
    """Tabulate comparisons, a row each: how close, how many conclusions changed, and how many tests beyond chance."""
    rows = []
    for summary in summaries:
        of_models = "base_regime" in summary
        sides = ("base_regime", "other_regime") if of_models else ("base_ruler", "other_ruler")
        flips = [n for part in summary["flips"].values() for n in part.items()]
        changed = summary.get("tests_changed", {}).values()
        beyond = f"{sum(n['changed'] for n in changed)} of {sum(n['tested'] for n in changed)}"
        rows.append(
            [
                f"by {summary['ruler']}" if of_models else summary["regime"],
                " and ".join(summary[side] for side in sides),
                summary.get("status", UNDEFINED).replace("_", " "),
                f"{sum(n for name, n in flips if name in FLIPS)} of {sum(n for _, n in flips)}",
                UNDEFINED if of_models else beyond,
            ]
        )
    heads = (
        "of",
        "compared",
        "the second is",
        "conclusions changed",
        "tests changed beyond chance",
    )
    return make_table("Comparisons", heads, rows)


def _name_judged(one: ShownAudit, judges: str) -> str:
    result = one.result
    return f"{result.regime} model, {write_count(result.n_exams, 'exam')}: judged by {judges}"
