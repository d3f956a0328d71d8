"""The tables of a comparison, of rulers or of regimes, as a person reads them."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pandas as pd

from tworulers.diagnosis.closeness import LIMIT, MARGIN
from tworulers.diagnosis.comparison import Comparison, RegimeComparison
from tworulers.report.findings import RegimeChange, RulerChange, ShownAudit
from tworulers.report.rows import iterate_rows
from tworulers.report.tables import (
    UNDEFINED,
    Table,
    make_table,
    with_digits,
    write_estimate,
    write_gap,
    write_gap_estimate,
    write_number,
    write_p,
    write_score,
    write_share,
)
from tworulers.report.words.rulers import tell_four_fifths
from tworulers.report.words.verdicts import TITLES
from tworulers.schema.metric import Metric
from tworulers.schema.settings import MACRO
from tworulers.schema.tables import list_rows, unpack_names


def tabulate_inflation(change: RulerChange, base: ShownAudit, other: ShownAudit) -> Table:
    """Tabulate the paired difference of every score that is judged.

    Parameters
    ----------
    change : the comparison.
    base, other : the audits by the two rulers.
    """
    rows, overall = [], base.result.overall
    judged = set(zip(overall["metric"], overall["structure"], strict=True))
    for row in iterate_rows(change.comparison.inflation):
        if (row.metric, row.structure) not in judged:
            continue
        because, metric = row.undefined_because, base.metric(row.metric)
        rows.append(
            [
                metric.label(row.structure),
                str(row.n),
                write_score(row.mean_base, metric, because),
                write_score(row.mean_other, metric, because),
                write_gap_estimate((row.mean, row.mean_low, row.mean_high), metric, because),
                write_share(row.forgiven_share),
                write_number(row.spearman, 2),
            ]
        )
    columns = [
        "score",
        "n",
        "mean, first",
        "mean, second",
        "difference",
        "forgiven",
        "Spearman's ρ",
    ]
    note = (
        f"First: {base.name}. Second: {other.name}. Forgiven: the share of the distance from a perfect score "
        "under the first ruler that the second one closes."
    ) + _tell_partial(base.result.metrics, change.comparison.summary.get("macro_partial", {}))
    return make_table("The same predictions under two rulers", columns, rows, note)


def tabulate_closeness(closeness: pd.DataFrame, other: str) -> Table:
    """Tabulate how model, ruler and expert agree, in mean Dice; `other` is the ruler with its provenance."""
    rows = [
        [
            row.structure,
            str(row.n),
            write_number(row.model_ruler, 4),
            write_number(row.model_expert, 4),
            write_number(row.ruler_expert, 4, "unknown"),
            write_estimate(
                (row.expert_ratio, row.expert_ratio_low, row.expert_ratio_high), with_digits(2)
            ),
            write_estimate((row.forgiven, row.forgiven_low, row.forgiven_high), write_share),
            write_number(row.shared_error, 3, "unknown"),
            write_number(row.vcr_mad, 2),
            row.status.replace("_", " ") + (f" ({row.note})" if row.note else ""),
        ]
        for row in iterate_rows(closeness)
    ]
    columns = ["structure", "n", "model and ruler", "model and expert", "ruler and expert"]
    columns += ["error by the expert, ruler / model"]
    columns += ["error forgiven", "shared error", "spread ratio", "the ruler is"]
    note = (
        f"Mean Dice. Too close: the ruler forgives more than {100 * LIMIT:.0f} % of the error that "
        "the expert holds against the model, being as much nearer to the model than to the expert; "
        f"or the model agrees with the ruler better, by more than {MARGIN:g}, than either does with "
        "the expert, and the scores spread half as much or less. A copy is as far from the expert as the model (a "
        "ratio of 1), a sharper ruler nearer; a ratio near 1 tells nothing, since a good model is near, too."
    )
    return make_table(f"Is the ruler independent of the model? {other}", columns, rows, note)


def tabulate_verdicts(verdicts: pd.DataFrame, base: ShownAudit, other: ShownAudit) -> Table:
    """Tabulate what changing the ruler did to each test given, and the figures it is read from."""
    rows = []
    for row in iterate_rows(verdicts):
        because, metric = row.undefined_because, base.metric(row.metric)
        spread = (row.vcr_mad, row.vcr_mad_low, row.vcr_mad_high)
        ratio = (row.gap_ratio, row.gap_ratio_low, row.gap_ratio_high)
        gaps = [write_gap(gap, metric, because) for gap in (row.gap_base, row.gap_other)]
        rows.append(
            [
                f"{base.title_of(row.grouping)}: {metric.label(row.structure)}",
                f"{write_p(row.p_verdict_base)} → {write_p(row.p_verdict_other)}",
                f"{write_p(row.p_verdict_fdr_base)} → {write_p(row.p_verdict_fdr_other)}",
                " → ".join(gaps),
                write_estimate(ratio, with_digits(2), because),
                write_estimate(spread, with_digits(2), because),
                f"{write_number(row.gap_part, 1)} / {write_number(row.noise_part, 1)}",
                f"{write_p(row.swap_p, because)} ({write_p(row.swap_p_fdr)})",
                TITLES.get(row.verdict, row.verdict)
                + (f": {row.not_shown_because}" if row.not_shown_because else "")
                + (", reversal" if row.reversal else ""),
            ]
        )
    columns = ["test", "p", "adjusted p", "gap of medians", "gap ratio", "spread ratio (MAD)"]
    columns += ["gap / noise part of H", "p of exchanging rulers (adjusted)", "verdict"]
    note = (
        f"From {base.name} to {other.name}. Spread ratio above 1: narrower under the second ruler. A large"
        " p of exchanging rulers: the change of H itself is within chance. Gaps and parts of a changed conclusion are"
        " those of a test picked for its change, and tend to be too large."
    )
    if (verdicts["verdict_by"] == "patient").any():
        note += " All p keep the exams of a patient together."
    return make_table("What changing the ruler did", columns, rows, note)


def tabulate_four_fifths(found: Comparison, base: ShownAudit) -> Table:
    """Tabulate the success ratios that one ruler alone puts below four fifths."""
    rows = []
    for row in iterate_rows(found.four_fifths):
        metric = base.metric(row.metric)
        rows.append(
            [
                f"{base.title_of(row.grouping)}: {metric.label(row.structure)}",
                metric.write_success(row.threshold),
                write_number(row.dir_base, 3),
                ", ".join(unpack_names(row.counts_base)),
                write_number(row.dir_other, 3),
                ", ".join(unpack_names(row.counts_other)),
            ]
        )
    columns = ("score", "success", "DIR, first", "counts, first", "DIR, second", "counts, second")
    note = tell_four_fifths(found)
    return make_table("Below four fifths under one ruler only", columns, rows, note)


def tabulate_regimes(change: RegimeChange, base: ShownAudit) -> Table:
    """Tabulate how two regimes' scores differ under one ruler, and how many gaps changed.

    Parameters
    ----------
    change : the comparison.
    base : the audit of the first regime.
    """
    gaps, rows = change.comparison.gaps, []
    for row in iterate_rows(change.comparison.differences):
        metric, because = base.metric(row.metric), row.undefined_because
        mine = gaps[(gaps["metric"] == row.metric) & (gaps["structure"] == row.structure)]
        counts = mine["change"].value_counts()
        rows.append(
            [
                metric.label(row.structure),
                str(row.n),
                write_score(row.mean_base, metric),
                write_score(row.mean_other, metric),
                write_gap_estimate((row.mean, row.mean_low, row.mean_high), metric, because),
                write_p(row.p_verdict),
                f"{counts.get('wider', 0)} / {counts.get('narrower', 0)} of {len(mine)}",
            ]
        )
    columns = ["score", "n", f"mean, {change.base}", f"mean, {change.other}", "difference"]
    columns += ["Wilcoxon's p", "gaps wider / narrower"]
    partial = change.comparison.summary.get("macro_partial", {})
    note = "Interval and p keep a patient's exams together." * base.result.by_patient
    note = (note + _tell_partial(base.result.metrics, partial)).strip()
    caption = f"Regimes {change.base} and {change.other}, by {base.name}"
    return make_table(caption, columns, rows, note)


def keep_macro(found: RegimeComparison) -> RegimeComparison:
    """Keep the macro scores of a comparison of models; all where there is none."""
    if not (found.differences["structure"] == MACRO).any():
        return found
    differences, by_group, gaps = (
        table[table["structure"] == MACRO]
        for table in (found.differences, found.by_group, found.gaps)
    )
    return replace(found, differences=differences, by_group=by_group, gaps=gaps)


def tabulate_by_group(
    found: RegimeComparison,
    metrics: Mapping[str, Metric],
    titles: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """Tabulate the paired differences of two models in each group, second minus first.

    Parameters
    ----------
    found : the comparison.
    metrics : declarations of the metrics, by name.
    titles : of groupings; their names stand where they have none.
    """
    rows = []
    for row in list_rows(found.by_group):
        metric = metrics[row["metric"]]
        values = [metric.write_difference(row[x]) for x in ("mean", "mean_low", "mean_high")]
        rows.append(
            [
                titles.get(row["grouping"], row["grouping"]),
                row["group"],
                metric.label(row["structure"]),
                row["n"],
                *(metric.write_bare(row[f"mean_{side}"]) for side in ("base", "other")),
                values[0],
                f"{values[1]} to {values[2]}" if row["mean_low"] == row["mean_low"] else UNDEFINED,
            ]
        )
    first, second = found.summary["base_regime"], found.summary["other_regime"]
    heads = ("grouping", "group", "score", "n", first, second, "difference", "interval")
    return make_table(f"{second} minus {first}, exam by exam", heads, rows)


def _tell_partial(metrics: Mapping[str, Metric], partial: Mapping[str, int]) -> str:
    """Say in how many exams the macro is over the structures that both sides define, and not all."""
    told = [f"{metrics[name].title} {n}" for name, n in partial.items() if name in metrics and n]
    if not told:
        return ""
    return (
        " The macro score is over the structures that are defined on both sides, fewer than all in "
        f"exams: {', '.join(told)}."
    )
