"""The tables of one audit as a person reads them, each naming its ruler and provenance."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tworulers.audit import AuditResult
from tworulers.metrics.macro import tell_partial
from tworulers.report.rate_intervals import (
    Bounds,
    explain_recommended,
    name_recommended,
    recommend_interval,
)
from tworulers.report.rows import find_row, iterate_rows
from tworulers.report.style import label_grouping, score_label
from tworulers.report.tables import (
    UNDEFINED,
    Table,
    make_table,
    write_count,
    write_interval,
    write_number,
    write_p,
    write_rate,
    write_score,
)
from tworulers.schema import Metric
from tworulers.tables import unpack_names

SMALL = "†"
DEGENERATE = "degenerate"

TEST_NAMES: Mapping[str, str] = {
    "mann_whitney": "Mann-Whitney",
    "kruskal_wallis": "Kruskal-Wallis",
}
"""Tests as they are written."""


def name_titles(audit: AuditResult) -> dict[str, str]:
    """Return the title of each grouping, in order."""
    return dict(zip(audit.groupings["grouping"], audit.groupings["title"], strict=True))


def tabulate_groups(
    audit: AuditResult, ruler: str, *, metric: str, structure: str, suppress_below: int = 0
) -> Table:
    """Tabulate where each group's scores lie, how they spread, and how many succeed.

    Parameters
    ----------
    audit : the audit.
    ruler : its ruler, with provenance.
    metric, structure : the score.
    suppress_below : groups with fewer exams are named but not described; 0 describes all.
    """
    known = audit.metrics[metric]
    groups = _of_score(audit.groups, metric, structure)
    rates = _of_score(audit.rates, metric, structure)
    rates = rates[rates["primary"].astype(bool)].set_index(["grouping", "group"])
    titles = name_titles(audit)
    rows = []
    suppressed = 0
    for group in iterate_rows(groups):
        small = group.n < suppress_below
        key = (group.grouping, group.group)
        start = [titles.get(group.grouping, group.grouping), group.group]
        if small:
            suppressed += 1
            rows.append([*start, f"< {suppress_below}", *["suppressed"] * 5])
            continue
        mark = SMALL if group.status in ("small", "not tested") else ""
        rate = rates.loc[key] if key in rates.index else None
        because = "no exams" if group.n == 0 else None
        rows.append(
            [
                *start,
                f"{group.n}{mark}",
                write_score(group.mean, known, because),
                write_score(group.sd, known, because or ("one exam" if group.n == 1 else None)),
                write_score(group.median, known, because),
                UNDEFINED
                if np.isnan(group.q1)
                else f"{write_score(group.q1, known)} to {write_score(group.q3, known)}",
                UNDEFINED if rate is None else write_rate(int(rate["successes"]), int(rate["n"])),
            ]
        )
    threshold = audit.settings.thresholds.get(metric)
    success = "success" if threshold is None else f"success ({known.write_success(threshold)})"
    note = f"{SMALL} fewer than {audit.settings.min_group} exams: tested, but no verdict. " * any(
        SMALL in row[2] for row in rows
    )
    if suppressed:
        note += f"{write_count(suppressed, 'group')} below {suppress_below} exams suppressed."
    note += " " + _tell_partial(find_row(audit.overall, metric=metric, structure=structure))
    undefined = int(groups["n_undefined"].sum())
    infinite = int(groups["n_infinite"].sum())
    if undefined or infinite:
        note += f" Over all rows, {undefined} undefined and {infinite} infinite scores are not in"
        note += " the means."
    columns = ("grouping", "group", "n", "mean", "SD", "median", "quartiles", success)
    return make_table(f"{score_label(known, structure)} by {ruler}", columns, rows, note.strip())


def tabulate_tests(audit: AuditResult, ruler: str, *, metric: str, structure: str) -> Table:
    """Tabulate the rank test of every grouping for one score."""
    titles, score = name_titles(audit), audit.metrics[metric]
    rows = []
    for test in iterate_rows(_of_score(audit.tests, metric, structure)):
        because = test.undefined_because
        gap = write_interval(
            write_score(test.median_gap, score, because),
            write_score(test.median_gap_low, score),
            write_score(test.median_gap_high, score),
        )
        known = isinstance(test.best_group, str)
        order = f"{test.best_group} / {test.worst_group}" if known else UNDEFINED
        remark = [f"small groups: {test.small_groups}"] if test.small_groups else []
        remark += ["unequal spread"] if test.unequal_spread else []
        rows.append(
            [
                titles.get(test.grouping, test.grouping),
                TEST_NAMES.get(test.test, test.test),
                str(test.n),
                write_number(test.statistic, 2, because),
                write_p(test.p, because),
                write_p(test.p_fdr, because),
                *_write_patient_p(test),
                write_number(test.effect, 3, because),
                gap,
                order,
                "; ".join(remark),
            ]
        )
    note = "Effect: rank-biserial correlation for two groups, epsilon squared for more. "
    columns = ["grouping", "test", "n", "statistic", "p", "adjusted p"]
    if audit.by_patient:
        columns = [*columns[:4], "p of exams", "adjusted p of exams", "p of patients"]
        columns += ["adjusted p of patients"]
        note += (
            "Patients have several exams: significance is that of p of patients, a permutation that "
            "keeps each patient's exams together; p of exams, as published, counts every exam on "
            "its own. "
        )
    columns += ["effect", "gap of medians", "best / worst group", "remark"]
    note += "; ".join(_describe_family(row) for row in iterate_rows(audit.families))
    return make_table(f"Tests of {score_label(score, structure)} by {ruler}", columns, rows, note)


def tabulate_ratios(audit: AuditResult, ruler: str, *, metric: str, structure: str) -> Table:
    """Tabulate success rates, their difference and ratio, at the primary threshold."""
    titles, known = name_titles(audit), audit.metrics[metric]
    exact = audit.resampling_unit == "exam"
    table = _of_score(audit.disparities, metric, structure)
    table = table[table["primary"].astype(bool)]
    rows = []
    for ratio in iterate_rows(table):
        because = ratio.undefined_because
        value = write_number(ratio.dir, 3, because)
        bca = _write_bounds(ratio.dir_low, ratio.dir_high) if ratio.dir_method == "bca" else ""
        bounds = recommend_interval(ratio, audit.resampling_unit)
        rows.append(
            [
                titles.get(ratio.grouping, ratio.grouping),
                _write_counts(ratio.groups, ratio.counts),
                write_number(ratio.dpd, 3, because),
                value + (" below four fifths" if ratio.below_four_fifths else ""),
                DEGENERATE if ratio.degenerate else _write_recommended(bounds, exact),
                DEGENERATE if ratio.degenerate else bca or UNDEFINED,
                write_number(ratio.lowest_exact_bound, 2),
                write_p(ratio.p_dpd),
            ]
        )
    columns = ["grouping", "successes / n", "DPD", "DIR"]
    columns += [name_recommended(audit.resampling_unit), "published BCa interval"]
    columns += ["a rate may be as low as", "permutation p of DPD"]
    note = (
        "DIR is the lowest over the highest success rate and cannot exceed 1, so no interval of it "
        "tests equality; the permutation p does. Degenerate: every draw gives the same ratio. "
    ) + explain_recommended(audit.resampling_unit)
    if audit.by_patient and exact:
        note += " Patients have several exams, and every exam counts on its own, as asked."
    caption = f"Success rates of {score_label(known, structure)}{_write_rule(table, known)}"
    return make_table(f"{caption} by {ruler}", columns, rows, note)


def tabulate_rate_differences(
    audit: AuditResult, ruler: str, *, metric: str, structure: str
) -> Table:
    """Tabulate the difference of the success rates of each two groups, with Newcombe's interval."""
    titles, known = name_titles(audit), audit.metrics[metric]
    ratios = _of_score(audit.disparities, metric, structure)
    rule = _write_rule(ratios[ratios["primary"].astype(bool)], known)
    rows = []
    for pair in iterate_rows(_of_score(audit.differences, metric, structure)):
        bounds = (100 * pair.rate_difference_low, 100 * pair.rate_difference_high)
        rows.append(
            [
                titles.get(pair.grouping, pair.grouping),
                f"{pair.group_b} − {pair.group_a}",
                f"{pair.n_b} and {pair.n_a}",
                write_number(100 * pair.rate_difference, 1, "no exams"),
                _write_bounds(*bounds, 1),
            ]
        )
    columns = ("grouping", "groups", "n", "difference (percentage points)", "Newcombe's interval")
    note = "The interval stays open where every exam of both groups succeeds, or none."
    if audit.by_patient:
        note += " It takes exams as independent; patients have several, so it is too narrow."
    caption = f"Differences of success rates of {score_label(known, structure)}{rule} by {ruler}"
    return make_table(caption, columns, rows, note)


def tabulate_power(audit: AuditResult, ruler: str, *, metric: str, structure: str) -> Table:
    """Tabulate for tests that found nothing what they could have found."""
    titles, known = name_titles(audit), audit.metrics[metric]
    rows = []
    table = _of_score(audit.power, metric, structure)
    for grouping, part in table.groupby("grouping", sort=False):
        gaps = {row.correction: row for row in iterate_rows(part)}
        alone, family = gaps["none"], gaps["family"]
        rows.append(
            [
                titles.get(str(grouping), str(grouping)),
                write_score(alone.observed_gap, known),
                write_score(alone.detectable_gap, known, alone.undefined_because),
                write_score(family.detectable_gap, known, family.undefined_because),
                f"{100 * alone.power_at_observed:.0f} %",
            ]
        )
    columns = ["grouping", "gap seen", "gap found with 80 % power", "the same within the family"]
    columns += ["power at the gap seen"]
    note = "A gap smaller than these would probably have been missed: not finding it is no proof of"
    note += " equality."
    if audit.by_patient:
        note += " It counts every exam on its own; patients have several, so that more is missed."
    caption = f"What could have been found: {score_label(known, structure)} by {ruler}"
    return make_table(caption, columns, rows, note)


def tabulate_model(audit: AuditResult, ruler: str) -> Table:
    """Tabulate the joint regression on several attributes."""
    terms = audit.linear
    first = terms.iloc[0]
    because = first["undefined_because"]
    score = score_label(audit.metrics[first["metric"]], first["structure"])
    caption = f"Joint model of {score} by {ruler}"
    columns = ("term", "coefficient", "interval", "p")
    if isinstance(because, str) and because:
        return make_table(caption, columns, [], f"Not fitted: {because}.")
    rows = [
        [
            term.term,
            write_number(term.coefficient, 4),
            _write_bounds(term.low, term.high, 4),
            write_p(term.p),
        ]
        for term in iterate_rows(terms)
    ]
    note = (
        f"{first['n']} of {first['n_total']} exams; R² {first['r2']:.4f}, "
        f"F({first['df_model']:.0f}, {first['df_residual']:.0f}) = {first['f']:.2f}, "
        f"p {write_p(first['model_p'])}."
    )
    if audit.by_patient:
        note += (
            " These p count every exam on its own, and patients have several: they are too small."
        )
    return make_table(caption, columns, rows, note)


def _write_rule(ratios: pd.DataFrame, metric: Metric) -> str:
    """Write what success is, from the threshold of the rows."""
    thresholds = ratios["threshold"].unique()
    return "".join(f", success {metric.write_success(value)}" for value in thresholds)


def _write_patient_p(test: Any) -> list[str]:
    """Write raw and adjusted p of patients, where significance rests on them."""
    if test.verdict_by != "patient":
        return []
    because = test.verdict_undefined_because
    return [write_p(test.p_verdict, because), write_p(test.p_verdict_fdr, because)]


def _tell_partial(overall: Any) -> str:
    """Say over how many exams a macro score is over part of the structures, if over any."""
    if overall is None or not overall.n_partial:
        return ""
    partial = tell_partial(overall.n_partial, overall.n_exams)
    return f"The macro score is the mean of the structures that an exam has: {partial}."


def _describe_family(row: Any) -> str:
    missing = f"; missing: {row.missing}" if row.missing else ""
    return (
        f"Family {row.family}: {row.size} of {row.configured} tests, {row.significant} significant "
        f"at adjusted p < {row.alpha:g}{missing}"
    )


def _write_counts(groups: str, counts: str) -> str:
    """Write `Female 37/38, Male 37/38` from the groups and the counts of a row."""
    return ", ".join(
        f"{g} {c}" for g, c in zip(unpack_names(groups), unpack_names(counts), strict=True)
    )


def _write_recommended(bounds: Bounds, exact: bool) -> str:
    """Write the recommended interval; one that is drawn among exact ones says so."""
    drawn = exact and bounds.drawn and not np.isnan(bounds.low)
    return _write_bounds(bounds.low, bounds.high) + (" (drawn)" if drawn else "")


def _write_bounds(low: float, high: float, digits: int = 3) -> str:
    if np.isnan(low) or np.isnan(high):
        return UNDEFINED
    return f"{low:.{digits}f} to {high:.{digits}f}"


def _of_score(table: pd.DataFrame, metric: str, structure: str) -> pd.DataFrame:
    if table.empty:
        return table  # Without rows it may have no columns either.
    return table[(table["metric"] == metric) & (table["structure"] == structure)]


def write_labels(audit: AuditResult) -> Mapping[str, str]:
    """Return each grouping's title with its groups and their sizes below it, for axes."""
    return {
        row.grouping: label_grouping(row.title, row.groups) for row in iterate_rows(audit.groupings)
    }
