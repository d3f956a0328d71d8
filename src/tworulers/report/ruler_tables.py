"""The tables of a comparison, of rulers or of regimes, as a person reads them."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tworulers.report.rows import iterate_rows
from tworulers.report.style import score_label
from tworulers.report.tables import (
    UNDEFINED,
    Table,
    make_table,
    write_interval,
    write_number,
    write_p,
    write_score,
)
from tworulers.report.verdict_words import TITLES
from tworulers.schema import Metric
from tworulers.stats.closeness import LIMIT, MARGIN
from tworulers.tables import unpack_names


def tabulate_inflation(
    inflation: pd.DataFrame,
    base: str,
    other: str,
    metrics: Mapping[str, Metric],
    partial: Mapping[str, int] | None = None,
) -> Table:
    """Tabulate the paired difference of every score.

    Parameters
    ----------
    inflation : of a comparison of rulers.
    base, other : the rulers, with provenance.
    metrics : declarations of the metrics, by name, as the audits hold them.
    partial : by metric, exams whose macro score is over part of the structures.
    """
    rows = []
    for row in iterate_rows(inflation):
        because, metric = row.undefined_because, metrics[row.metric]
        difference = write_interval(
            write_score(row.mean, metric, because),
            write_score(row.mean_low, metric),
            write_score(row.mean_high, metric),
        )
        share = write_share(row.forgiven_share)
        rows.append(
            [
                score_label(metric, row.structure),
                str(row.n),
                write_score(row.mean_base, metric, because),
                write_score(row.mean_other, metric, because),
                difference,
                share,
                write_number(row.spearman, 2),
            ]
        )
    columns = (
        "score",
        "n",
        "mean, first",
        "mean, second",
        "difference",
        "forgiven",
        "Spearman's ρ",
    )
    note = (
        f"First: {base}. Second: {other}. Forgiven: the share of the distance from a perfect score "
        "under the first ruler that the second one closes."
    ) + _tell_partial(metrics, partial or {})
    return make_table("The same predictions under two rulers", columns, rows, note)


def tabulate_closeness(closeness: pd.DataFrame, other: str) -> Table:
    """Tabulate how model, ruler and expert agree, in mean Dice."""
    rows = [
        [
            row.structure,
            str(row.n),
            write_number(row.model_ruler, 4),
            write_number(row.model_expert, 4),
            write_number(row.ruler_expert, 4, "unknown"),
            write_interval(
                *(write_share(x) for x in (row.forgiven, row.forgiven_low, row.forgiven_high))
            ),
            write_number(row.shared_error, 3, "unknown"),
            write_number(row.vcr_mad, 2),
            row.status.replace("_", " ") + (f" ({row.note})" if row.note else ""),
        ]
        for row in iterate_rows(closeness)
    ]
    columns = ["structure", "n", "model and ruler", "model and expert", "ruler and expert"]
    columns += ["error forgiven", "shared error", "spread ratio", "the ruler is"]
    note = (
        f"Mean Dice. Too close: the ruler forgives more than {100 * LIMIT:.0f} % of the error that "
    )
    note += (
        "the expert holds against the model, being as much nearer to the model than to the expert; "
    )
    note += f"or the model agrees with the ruler better, by more than {MARGIN:g}, than either does with "
    note += "the expert, and the scores spread half as much or less."
    return make_table(f"Is the ruler independent of the model? {other}", columns, rows, note)


def write_share(share: float) -> str:
    """Write a share as per cent."""
    return UNDEFINED if np.isnan(share) else f"{100 * share:.0f} %"


def tabulate_verdicts(
    verdicts: pd.DataFrame,
    titles: Mapping[str, str],
    base: str,
    other: str,
    metrics: Mapping[str, Metric],
) -> Table:
    """Tabulate what changing the ruler did to each test given, and the figures it is read from."""
    rows = []
    for row in iterate_rows(verdicts):
        because, metric = row.undefined_because, metrics[row.metric]
        spread = write_interval(
            write_number(row.vcr_mad, 2, because),
            write_number(row.vcr_mad_low, 2),
            write_number(row.vcr_mad_high, 2),
        )
        ratio = write_interval(
            write_number(row.gap_ratio, 2, because),
            write_number(row.gap_ratio_low, 2),
            write_number(row.gap_ratio_high, 2),
        )
        gaps = [write_score(gap, metric, because) for gap in (row.gap_base, row.gap_other)]
        rows.append(
            [
                f"{titles.get(row.grouping, row.grouping)}: {score_label(metric, row.structure)}",
                f"{write_p(row.p_verdict_base)} → {write_p(row.p_verdict_other)}",
                f"{write_p(row.p_verdict_fdr_base)} → {write_p(row.p_verdict_fdr_other)}",
                f"{gaps[0]} → {gaps[1]}",
                ratio,
                spread,
                f"{write_number(row.gap_part, 1)} / {write_number(row.noise_part, 1)}",
                f"{write_p(row.swap_p, because)} ({write_p(row.swap_p_fdr)})",
                TITLES.get(row.verdict, row.verdict)
                + (f": {row.not_shown_because}" if row.verdict == "not_shown" else "")
                + (", reversal" if row.reversal else ""),
            ]
        )
    columns = ["test", "p", "adjusted p", "gap of medians", "gap ratio", "spread ratio (MAD)"]
    columns += ["gap / noise part of H", "p of exchanging rulers (adjusted)", "verdict"]
    note = f"From {base} to {other}. Spread ratio above 1: narrower under the second ruler. A large"
    note += " p of exchanging rulers: the change of H itself is within chance."
    if (verdicts["verdict_by"] == "patient").any():
        note += " All p keep the exams of a patient together."
    return make_table("What changing the ruler did", columns, rows, note)


def tabulate_four_fifths(
    table: pd.DataFrame, titles: Mapping[str, str], metrics: Mapping[str, Metric]
) -> Table:
    """Tabulate the success ratios that one ruler alone puts below four fifths."""
    rows = [
        [
            f"{titles.get(row.grouping, row.grouping)}: "
            f"{score_label(metrics[row.metric], row.structure)}",
            metrics[row.metric].write_success(row.threshold),
            write_number(row.dir_base, 3),
            ", ".join(unpack_names(row.counts_base)),
            write_number(row.dir_other, 3),
            ", ".join(unpack_names(row.counts_other)),
        ]
        for row in iterate_rows(table)
    ]
    columns = ("score", "success", "DIR, first", "counts, first", "DIR, second", "counts, second")
    return make_table("Below four fifths under one ruler only", columns, rows)


def tabulate_regimes(
    differences: pd.DataFrame,
    gaps: pd.DataFrame,
    base: str,
    other: str,
    ruler: str,
    metrics: Mapping[str, Metric],
    partial: Mapping[str, int] | None = None,
) -> Table:
    """Tabulate how two regimes' scores differ under one ruler, and how many gaps changed."""
    rows = []
    for row in iterate_rows(differences):
        metric = metrics[row.metric]
        mine = gaps[(gaps["metric"] == row.metric) & (gaps["structure"] == row.structure)]
        counts = mine["change"].value_counts()
        rows.append(
            [
                score_label(metric, row.structure),
                str(row.n),
                write_score(row.mean_base, metric),
                write_score(row.mean_other, metric),
                write_interval(
                    write_score(row.mean, metric, row.undefined_because),
                    write_score(row.mean_low, metric),
                    write_score(row.mean_high, metric),
                ),
                write_p(row.wilcoxon_p),
                f"{counts.get('wider', 0)} / {counts.get('narrower', 0)} of {len(mine)}",
            ]
        )
    columns = ["score", "n", f"mean, {base}", f"mean, {other}", "difference", "Wilcoxon's p"]
    columns += ["gaps wider / narrower"]
    note = _tell_partial(metrics, partial or {}).strip()
    return make_table(f"Regimes {base} and {other}, by {ruler}", columns, rows, note)


def _tell_partial(metrics: Mapping[str, Metric], partial: Mapping[str, int]) -> str:
    """Say in how many exams the macro is over the structures that both sides define, and not all."""
    told = [f"{metrics[name].title} {n}" for name, n in partial.items() if name in metrics and n]
    if not told:
        return ""
    return (
        " The macro score is over the structures that are defined on both sides, fewer than all in "
        f"exams: {', '.join(told)}."
    )
