"""How a command ends on a terminal: one table and three lines. All else stands on the page and in the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from tworulers.battery.audit import AuditResult
from tworulers.battery.questions import EXTRA
from tworulers.diagnosis.comparison import Comparison, RegimeComparison
from tworulers.metrics.known.dice import DICE
from tworulers.report.audit_tables import tell_family
from tworulers.report.briefs import (
    describe,
    list_outcomes,
    name_audit,
    tabulate_groupings,
    tabulate_overall,
    tell_closeness,
    tell_partial_macro,
)
from tworulers.report.findings import ShownAudit
from tworulers.report.ruler_tables import keep_macro, tabulate_by_group
from tworulers.report.tables import UNDEFINED, Table, make_table, write_count, write_p
from tworulers.report.view import View
from tworulers.report.words.answers import tell_answers
from tworulers.report.words.groupings import TOO_FEW
from tworulers.report.words.headline import say_of_patients, say_of_ruler
from tworulers.report.words.models import say_models
from tworulers.report.words.primary import list_mismatches, tell_lock
from tworulers.report.words.read_facts import tell_best, tell_change
from tworulers.report.words.rulers import put_into_words
from tworulers.report.words.verdicts import FLIPS, TITLES, pick_flip
from tworulers.schema.metric import Metric
from tworulers.schema.settings import MACRO
from tworulers.schema.sources import Attributes
from tworulers.schema.tables import list_rows


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
    ready: bool = False,
    origin: Sequence[str] = (),
) -> Ending:
    """Say what an audit found.

    Parameters
    ----------
    found : the audit.
    no_verdict : why no verdict may rest on its ruler; empty where one may.
    said : the sentences of the groupings, of which those without a verdict for want of exams are told.
    ready : whether its scores are a ready table, of which nobody has seen the means.
    origin : how its ruler's labels came about.
    """
    notes: list[str | Table] = [text for text in [tell_lock(found.settings.locked)] if text]
    notes += list_mismatches(found.settings.locked)
    notes += [tell_family(row, found.by_patient) for row in list_rows(found.families)]
    notes += origin
    notes += list(said.loc[said["verdict"] == TOO_FEW, "sentence"]) if len(said) else []
    table = tabulate_groupings(found, name_audit(found)) if len(found.groupings) else None
    if table is None and ready:
        table = tabulate_overall(found)
    if no_verdict:
        lines = [f"no verdict: {no_verdict}"]
    else:
        lines = [tell_best([found]), tell_answers(found) if len(found.tests) else ""]
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
    titles = {name: one.title or name for name, one in attributes.groupings.items()}
    table = tabulate_changes(found, titles, metrics, describe(summary)) if titles else None
    what = describe(summary) if table is None else ""
    notes = tuple(filter(None, [what, tell_partial_macro(summary), tell_closeness(found)]))
    return Ending(notes, table, tuple(filter(None, (tell_best(audits), tell_change(summary)))))


def end_models(found: RegimeComparison, metrics: Mapping[str, Metric]) -> Ending:
    """Say by how much the second model is better, overall and in each group, and what became of the gaps.

    Parameters
    ----------
    found : the comparison; of its scores the macro ones are told, or all where there is none.
    metrics : declarations of the metrics, by name.
    """
    told = keep_macro(found)
    of_groups = tabulate_by_group(told, metrics) if len(told.by_group) else None
    first = say_models(replace(told, gaps=told.gaps.head(0)), metrics)[:1]
    outcomes = found.summary.get("gap_changes", {})
    gaps = "; ".join(f"{family}: {list_outcomes(n)}" for family, n in outcomes.items() if n)
    lines = [*first, *([f"Gaps between groups, {gaps}."] if gaps else [])]
    return Ending((describe(found.summary),), of_groups, tuple(lines))


def end_answer(view: View) -> Ending:
    """Say what each ruler says of every grouping, and the two sentences."""
    notes: list[str | Table] = [
        tell_family(row, one.result.by_patient)
        for one in view.judged
        for row in list_rows(one.result.families)
        if row["missing"]
    ]
    notes += view.findings.origins
    if view.change is None:
        first, *others = view.findings.audits.values()
        notes += [tabulate_groupings(one.result, _name_judged(one, one.name)) for one in others]
        table = tabulate_groupings(first.result, _name_judged(first, first.name))
    else:
        caption = _name_judged(view.first, " and by ".join(view.names.values()))
        found, one = view.change.comparison, view.first
        table = tabulate_changes(found, one.titles, one.result.metrics, caption, view.score.key)
    said = filter(None, [say_of_patients(view), say_of_ruler(view)])
    return Ending(tuple(notes), table, tuple(said))


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
    for grouping, title in titles.items():
        mine = verdicts[verdicts["grouping"] == grouping]
        row = pick_flip(mine, preferred)
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
    return make_table(caption, columns, rows)


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
