"""The tables of one audit as a person reads them, each naming its ruler and provenance."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tworulers.metrics.macro import tell_partial
from tworulers.report.findings import ShownAudit
from tworulers.report.rate_intervals import (
    explain_recommended,
    name_published,
    name_recommended,
)
from tworulers.report.rows import find_row, iterate_rows
from tworulers.report.score import Score
from tworulers.report.tables import (
    MOST_NAMED,
    UNDEFINED,
    Table,
    list_sizes,
    make_table,
    write_bounds,
    write_count,
    write_gap,
    write_gap_estimate,
    write_number,
    write_p,
    write_rate,
    write_score,
    write_share,
)
from tworulers.report.words.answers import NONE_NEEDED, write_needed
from tworulers.schema.metric import Metric
from tworulers.schema.tables import list_rows, unpack_names

SMALL = "†"
DEGENERATE = "degenerate"
DECADE = 10
"""Years of age that a coefficient is written for; that of one year would be a number of zeros."""

TEST_NAMES: Mapping[str, str] = {
    "mann_whitney": "Mann-Whitney",
    "kruskal_wallis": "Kruskal-Wallis",
}
"""Tests as they are written."""


def tabulate_groups(one: ShownAudit, score: Score, suppress_below: int = 0) -> Table:
    """Tabulate where each group's scores lie, how they spread, and how many succeed.

    Parameters
    ----------
    one : the audit.
    score : which.
    suppress_below : groups with fewer exams are named but not described; 0 describes all.
    """
    audit, metric = one.result, score.metric
    groups, rates = score.of(audit.groups), score.of(audit.rates)
    rates = rates[rates["primary"].astype(bool)].set_index(["grouping", "group"])
    rows = []
    for group in iterate_rows(groups):
        start = [one.title_of(group.grouping), group.group]
        if group.n < suppress_below:
            rows.append([*start, f"< {suppress_below}", *["suppressed"] * 5])
            continue
        key = (group.grouping, group.group)
        rate = rates.loc[key] if key in rates.index else None
        because = "no exams" if group.n == 0 else None
        quartiles = [write_score(value, metric) for value in (group.q1, group.q3)]
        rows.append(
            [
                *start,
                f"{group.n}{SMALL if group.status in ('small', 'not tested') else ''}",
                write_score(group.mean, metric, because),
                write_gap(group.sd, metric, because or ("one exam" if group.n == 1 else None)),
                write_score(group.median, metric, because),
                UNDEFINED if np.isnan(group.q1) else " to ".join(quartiles),
                UNDEFINED if rate is None else write_rate(int(rate["successes"]), int(rate["n"])),
            ]
        )
    threshold = audit.settings.thresholds.get(metric.name)
    success = "success" if threshold is None else f"success ({metric.write_success(threshold)})"
    notes = []
    if any(SMALL in row[2] for row in rows):
        fewest = audit.settings.min_group
        notes.append(f"{SMALL} fewer than {fewest} exams: tested, but no verdict.")
    if suppressed := sum(row[3] == "suppressed" for row in rows):
        notes.append(f"{write_count(suppressed, 'group')} below {suppress_below} exams suppressed.")
    for overall in iterate_rows(score.of(audit.overall)):
        if overall.n_partial:
            partial = tell_partial(overall.n_partial, overall.n_exams)
            notes.append(
                f"The macro score is the mean of the structures that an exam has: {partial}."
            )
    undefined, infinite = int(groups["n_undefined"].sum()), int(groups["n_infinite"].sum())
    if undefined or infinite:
        counts = f"{undefined} undefined and {infinite} infinite scores"
        notes.append(f"Over all rows, {counts} are not in the means.")
    columns = ("grouping", "group", "n", "mean", "SD", "median", "quartiles", success)
    return make_table(f"{score.label} by {one.name}", columns, rows, " ".join(notes))


def tabulate_tests(one: ShownAudit, score: Score) -> Table:
    """Tabulate the rank test of every grouping for one score."""
    audit, rows = one.result, []
    for test in iterate_rows(score.of(audit.tests)):
        because = test.undefined_because
        gap = (test.median_gap, test.median_gap_low, test.median_gap_high)
        known = isinstance(test.best_group, str)
        known_small = isinstance(test.small_groups, str) and test.small_groups
        remark = (
            [f"small groups: {list_sizes(test.small_groups, MOST_NAMED)}"] if known_small else []
        )
        remark += ["unequal spread"] if test.unequal_spread else []
        rows.append(
            [
                one.title_of(test.grouping),
                TEST_NAMES.get(test.test, test.test),
                str(test.n),
                write_number(test.statistic, 2, because),
                write_p(test.p, because),
                write_p(test.p_fdr, because),
                *_write_patient_p(test),
                write_number(test.effect, 3, because),
                write_gap_estimate(gap, score.metric, because),
                f"{test.best_group} / {test.worst_group}" if known else UNDEFINED,
                "; ".join(remark),
            ]
        )
    note = "Effect: rank-biserial correlation for two groups, epsilon squared for more. "
    p = ["p", "adjusted p"]
    if audit.by_patient:
        p = ["p of exams", "adjusted p of exams", "p of patients", "adjusted p of patients"]
        note += (
            "Patients have several exams: significance is that of p of patients, a permutation that "
            "keeps each patient's exams together; p of exams, as published, counts every exam on "
            "its own. "
        )
    columns = ["grouping", "test", "n", "statistic", *p]
    columns += ["effect", "gap of medians", "best / worst group", "remark"]
    families = "; ".join(tell_family(row, audit.by_patient) for row in list_rows(audit.families))
    note += families[:1].upper() + families[1:]
    return make_table(f"Tests of {score.label} by {one.name}", columns, rows, note)


def tabulate_ratios(one: ShownAudit, score: Score) -> Table:
    """Tabulate success rates, their difference and ratio, at the primary threshold."""
    audit, rows = one.result, []
    exact = not audit.by_patient
    table = score.of(audit.disparities)
    table = table[table["primary"].astype(bool)]
    for ratio in iterate_rows(table):
        because = ratio.undefined_because
        below = " below four fifths" if ratio.below_four_fifths else ""
        published = UNDEFINED
        if ratio.dir_bca_method == "bca":
            published = write_bounds(ratio.dir_bca_low, ratio.dir_bca_high)
        counts = zip(unpack_names(ratio.groups), unpack_names(ratio.counts), strict=True)
        rows.append(
            [
                one.title_of(ratio.grouping),
                ", ".join(f"{group} {count}" for group, count in counts),
                write_number(ratio.dpd, 3, because),
                write_number(ratio.dir, 3, because) + below,
                DEGENERATE if ratio.degenerate else _write_recommended(ratio, exact),
                DEGENERATE if ratio.degenerate else published,
                write_number(ratio.lowest_exact_bound, 2),
                write_p(ratio.p_dpd),
            ]
        )
    columns = ["grouping", "successes / n", "DPD", "DIR"]
    columns += [name_recommended(audit.by_patient), name_published(audit)]
    columns += ["a rate may be as low as", "permutation p of DPD"]
    note = (
        "DIR is the lowest over the highest success rate and cannot exceed 1, so no interval of it "
        "tests equality; the permutation p does. Degenerate: every draw gives the same ratio. "
    ) + explain_recommended(audit.by_patient)
    caption = f"Success rates of {score.label}{_write_rule(table, score.metric)}"
    return make_table(f"{caption} by {one.name}", columns, rows, note)


def tabulate_rate_differences(one: ShownAudit, score: Score) -> Table:
    """Tabulate the difference of the success rates of each two groups, with Newcombe's interval."""
    audit = one.result
    ratios = score.of(audit.disparities)
    rule = _write_rule(ratios[ratios["primary"].astype(bool)], score.metric)
    rows = [
        [
            one.title_of(pair.grouping),
            f"{pair.group_b} − {pair.group_a}",
            f"{pair.n_b} and {pair.n_a}",
            write_number(100 * pair.rate_difference, 1, "no exams"),
            write_bounds(100 * pair.rate_difference_low, 100 * pair.rate_difference_high, 1),
        ]
        for pair in iterate_rows(score.of(audit.differences))
    ]
    columns = ("grouping", "groups", "n", "difference (percentage points)", "Newcombe's interval")
    note = "The interval stays open where every exam of both groups succeeds, or none."
    if audit.by_patient:
        note += (
            " Patients have several exams, which count as fewer: as many as would leave each rate as "
            "unsure if they were of different patients."
        )
    caption = f"Differences of success rates of {score.label}{rule} by {one.name}"
    return make_table(caption, columns, rows, note)


def tabulate_missed(one: ShownAudit, score: Score) -> Table:
    """Tabulate for each grouping without a difference the gap seen, the one that would be found, and exams needed."""
    metric, tests = score.metric, score.of(one.result.tests)
    rows: list[list[str]] = []
    for grouping, part in score.of(one.result.power).groupby("grouping", sort=False):
        family = find_row(part, correction="family")
        test = find_row(tests, grouping=grouping)
        rows.append(
            [
                one.title_of(str(grouping)),
                write_gap(family.observed_gap, metric),
                write_gap(family.detectable_gap, metric, family.undefined_because),
                UNDEFINED if test is None else write_needed(test._asdict()) or UNDEFINED,
            ]
        )
    columns = ("grouping", "gap seen", "gap found in 4 of 5 studies", "exams needed for an answer")
    reasons = [row[-1] for row in rows if row[-1].startswith(NONE_NEEDED)]
    note = ""
    if len(reasons) > 1 and len(set(reasons)) == 1:
        note = f"{reasons[0].capitalize()}."
        rows = [[*row[:-1], row[-1].partition(":")[0]] for row in rows]
    return make_table(f"{score.label} by {one.name}", columns, rows, note)


def tabulate_power(one: ShownAudit, score: Score) -> Table:
    """Tabulate for tests that found nothing what they could have found."""
    metric, rows = score.metric, []
    for grouping, part in score.of(one.result.power).groupby("grouping", sort=False):
        gaps = {row.correction: row for row in iterate_rows(part)}
        alone, family = gaps["none"], gaps["family"]
        rows.append(
            [
                one.title_of(str(grouping)),
                write_gap(alone.observed_gap, metric),
                _write_gap(alone, metric),
                _write_gap(family, metric),
                write_share(alone.power_at_observed),
            ]
        )
    columns = ["grouping", "gap seen", "gap found with 80 % power", "the same within the family"]
    columns += ["power at the gap seen"]
    note = (
        "A gap smaller than these would probably have been missed: not finding it is no proof of equality. In "
        "brackets, between which gaps four of five samples of such exams would put it."
    )
    if one.result.by_patient:
        note += " Patients have several exams, and are drawn with all of them."
    caption = f"What could have been found: {score.label} by {one.name}"
    return make_table(caption, columns, rows, note)


def _write_gap(row: Any, metric: Metric) -> str:
    bounds = (row.detectable_gap, row.detectable_gap_low, row.detectable_gap_high)
    return write_gap_estimate(bounds, metric, row.undefined_because)


def tabulate_model(one: ShownAudit) -> Table:
    """Tabulate the joint regression on several attributes."""
    audit, terms = one.result, one.result.linear
    first = terms.iloc[0]
    because = first["undefined_because"]
    score = audit.metrics[first["metric"]].label(first["structure"])
    caption = f"Joint model of {score} by {one.name}"
    columns = ["term", "coefficient", "interval", "p"]
    if audit.by_patient:
        columns = ["term", "coefficient", "interval of patients", "p of patients"]
        columns += ["interval of exams", "p of exams"]
    if isinstance(because, str) and because:
        return make_table(caption, columns, [], f"Not fitted: {because}.")
    metric, rows = audit.metrics[first["metric"]], []
    for term in iterate_rows(terms):
        step = DECADE if term.term == "age" else 1
        bounds = [step * x for x in (term.verdict_low, term.verdict_high, term.low, term.high)]
        rows.append(
            [
                f"age, per {DECADE} years" if step > 1 else term.term,
                write_gap(step * term.coefficient, metric),
                _write_open(bounds[0], bounds[1], metric),
                write_p(term.p_verdict, term.verdict_undefined_because),
                *([_write_open(bounds[2], bounds[3], metric), write_p(term.p)] * audit.by_patient),
            ]
        )
    note = (
        f"{first['n']} of {first['n_total']} exams; R² {first['r2']:.4f}, "
        f"F({first['df_model']:.0f}, {first['df_residual']:.0f}) = {first['f']:.2f}, "
        f"p {write_p(first['model_p'])}."
    )
    if audit.by_patient:
        because = first["verdict_undefined_because"]
        note = (
            f"{first['n']} of {first['n_total']} exams of {first['n_patients']} patients; R² "
            f"{first['r2']:.4f}; all terms together p {write_p(first['model_p_verdict'], because)}, by the "
            "wild cluster bootstrap, whose weights keep a patient's exams together. Of exams, as "
            f"published: F({first['df_model']:.0f}, {first['df_residual']:.0f}) = {first['f']:.2f}, p "
            f"{write_p(first['model_p'])}; patients have several, so that p of exams is too small."
        )
    return make_table(caption, columns, rows, note)


def tabulate_repeats(one: ShownAudit, suppress_below: int = 0) -> Table:
    """Tabulate how many exams a patient has in each group, and whether groups differ in that."""
    rows = []
    for row in iterate_rows(one.result.repeats):
        few = row.patients < suppress_below
        spread = f"{row.median:g} ({row.minimum:g} to {row.maximum:g})"
        rows.append(
            [
                one.title_of(row.grouping),
                row.group,
                f"< {suppress_below}" if few else str(row.patients),
                "suppressed" if few else str(row.exams),
                "suppressed" if few else spread if row.patients else UNDEFINED,
                write_p(row.p, row.undefined_because),
            ]
        )
    columns = ("grouping", "group", "patients", "exams", "exams a patient: median (range)", "p")
    note = (
        "p: whether groups differ in the number of exams a patient, by permutation of patients. "
        "Where they do, a score that hangs on it differs, too."
    )
    return make_table("Exams a patient in each group", columns, rows, note)


def _write_open(low: float, high: float, metric: Metric) -> str:
    """Write an interval of a difference, of which a side may be without bound."""
    if np.isnan([low, high]).any():
        return UNDEFINED
    ends = (write_gap(x, metric) if np.isfinite(x) else "no bound" for x in (low, high))
    return " to ".join(ends)


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


def tell_family(family: Mapping[str, Any], by_patient: bool) -> str:
    """Say how many tests a family has, how many are significant, and what is missing in it."""
    missing = f"; missing: {family['missing']}" if family["missing"] else ""
    together = ", patients kept together" if by_patient else ""
    return (
        f"family {family['family']}: {family['size']} of {family['configured']} tests computed, "
        f"{family['significant']} significant at {family['alpha']:g} after correction{together}{missing}"
    )


def _write_recommended(ratio: Any, exact: bool) -> str:
    """Write the recommended interval; a drawn one among exact ones, or the reverse, says so."""
    is_exact = ratio.dir_method == "exact_percentile"
    odd = is_exact != exact and not np.isnan(ratio.dir_low)
    mark = " (exact)" if is_exact else " (drawn)"
    return write_bounds(ratio.dir_low, ratio.dir_high) + mark * odd
