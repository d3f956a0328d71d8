"""The tables that stand beside the tests of an audit: given something else, along an order, all pairs at once."""

import numpy as np

from tworulers.report.findings import ShownAudit
from tworulers.report.page import Section
from tworulers.report.rows import find_row, iterate_rows
from tworulers.report.score import Score
from tworulers.report.tables import (
    UNDEFINED,
    Table,
    make_table,
    with_digits,
    write_estimate,
    write_gap_estimate,
    write_number,
    write_p,
    write_rate,
)
from tworulers.report.view import View
from tworulers.report.words.adjusted import (
    HOW_GIVEN,
    HOW_MIXED,
    HOW_SHIFTS,
    HOW_UNEQUAL,
    say_absent,
    say_given,
    say_labels,
)
from tworulers.schema.tables import unpack_names

RISES, FALLS = "rises", "falls"


def tell_of_adjustment(view: View) -> Section:
    """Tell what the comparisons are given something else, along an order, and for all pairs at once."""
    said = [line for one in view.judged for line in _prefix(one, view, say_given(one, view.score))]
    labels = [say_labels(one, view.grouping) for one in view.judged]
    absent = dict.fromkeys(say_absent(one) for one in view.judged)
    paragraphs = [f"{HOW_GIVEN} {HOW_UNEQUAL}", *said, *filter(None, (*labels, *absent))]
    tables: list[Table] = []
    for tabulate in (tabulate_given, tabulate_shifts, tabulate_trends):
        found = (tabulate(one, view.score) for one in view.judged)
        tables += [table for table in found if table.rows]
    tables += [tabulate_labels(one) for one in view.judged if len(one.result.label_shares)]
    details = [tabulate_mixed(one, view.score) for one in view.judged if len(one.result.mixed)]
    for tabulate in (tabulate_given, tabulate_shifts):
        details += [tabulate(one, score) for score in view.further for one in view.judged]
    return Section(
        "adjusted",
        "Every test beside its neighbours: adjusted, ordered, all pairs",
        paragraphs,
        tables=tables,
        details=details,
        details_title="Mixed models, and the other scores",
    )


def _prefix(one: ShownAudit, view: View, said: list[str]) -> list[str]:
    """Say whose labels judged, where a page shows two rulers."""
    return said if len(view.judged) == 1 else [f"By {one.name}: {line}" for line in said]


def tabulate_given(one: ShownAudit, score: Score) -> Table:
    """Tabulate the p of every grouping beside those that allow unequal spread and that are given something else."""
    audit, adjusted = one.result, score.of(one.result.adjusted)
    given = list(dict.fromkeys(adjusted["given"])) if len(adjusted) else []
    rows = []
    for test in iterate_rows(score.of(audit.tests)):
        row = [
            one.title_of(test.grouping),
            write_p(test.p_verdict, test.verdict_undefined_because),
            write_p(test.p_unequal_spread, test.unequal_spread_undefined_because),
            write_p(test.spread_p_verdict),
        ]
        for name in given:
            found = find_row(adjusted, grouping=test.grouping, given=name)
            row.append(_write_adjusted(found))
        rows.append(row)
    columns = ["grouping", "p", "p, unequal spread allowed", "p of equal spread"]
    columns += [f"p given {name} (adjusted)" for name in given]
    note = "In brackets: adjusted over the family. Missing values of what is given leave exams out."
    if audit.by_patient:
        note += " Patients have several exams: p keep a patient's exams together."
    return make_table(f"Given something else: {score.label} by {one.name}", columns, rows, note)


def _write_adjusted(found: object) -> str:
    """Write raw and adjusted p of a comparison within strata."""
    p, reason = getattr(found, "p", np.nan), getattr(found, "undefined_because", None)
    if found is None or np.isnan(p):
        return write_p(p, reason)
    return f"{write_p(p)} ({write_p(getattr(found, 'p_fdr', np.nan))})"


def tabulate_shifts(one: ShownAudit, score: Score) -> Table:
    """Tabulate the shift of every two groups with intervals that hold together."""
    metric, rows, shifts = score.metric, [], score.of(one.result.shifts)
    for pair in iterate_rows(shifts):
        bounds = (pair.shift, pair.shift_low, pair.shift_high)
        rows.append(
            [
                one.title_of(pair.grouping),
                f"{pair.group_b} − {pair.group_a}",
                f"{pair.n_b} and {pair.n_a}",
                write_gap_estimate(bounds, metric),
            ]
        )
    level = f"{100 * shifts['level'].iloc[0]:.0f} %" if len(shifts) else ""
    columns = ("grouping", "groups", "n", f"shift [{level} together]")
    return make_table(f"Shifts of {score.label} by {one.name}", columns, rows, HOW_SHIFTS)


def tabulate_trends(one: ShownAudit, score: Score) -> Table:
    """Tabulate whether scores rise or fall along ordered groups."""
    rows = []
    for trend in iterate_rows(score.of(one.result.trends)):
        because = trend.undefined_because
        known = trend.tau == trend.tau and trend.tau != 0
        rows.append(
            [
                one.title_of(trend.grouping),
                " → ".join(unpack_names(trend.groups)),
                str(trend.n),
                write_number(trend.tau, 3, because),
                (RISES if trend.tau > 0 else FALLS) if known else UNDEFINED,
                write_p(trend.p, because),
                write_p(trend.p_fdr, because),
            ]
        )
    columns = ("grouping", "order", "n", "Kendall's τ", "score", "p", "adjusted p")
    note = "Jonckheere and Terpstra's test, two-sided; adjusted over the trends of the family."
    return make_table(f"Trends of {score.label} by {one.name}", columns, rows, note)


def tabulate_mixed(one: ShownAudit, score: Score) -> Table:
    """Tabulate what groups differ by in the mixed models, or why none was fitted."""
    rows = []
    models = score.of(one.result.mixed)
    for grouping, part in models.groupby("grouping", sort=False):
        first = next(iter(iterate_rows(part)))
        if isinstance(first.undefined_because, str):
            rows.append([one.title_of(str(grouping)), first.undefined_because, *[UNDEFINED] * 5])
            continue
        shown = part.iloc[1 : 1 + int(first.group_df)]
        random = zip(unpack_names(first.random), unpack_names(first.random_sd), strict=True)
        effects = [f"{name} SD {float(sd):.3g}" for name, sd in random]
        effects += [*unpack_names(first.fixed), f"residual SD {first.residual_sd:.3g}"]
        for term in iterate_rows(shown):
            estimate = (term.coefficient, term.low, term.high)
            rows.append(
                [
                    one.title_of(str(grouping)),
                    term.term,
                    write_estimate(estimate, with_digits(3)),
                    write_p(term.p),
                    write_p(term.group_p),
                    f"{first.response}, {first.n} exams of {first.n_patients}",
                    "; ".join(effects),
                ]
            )
    columns = (
        "grouping",
        "difference",
        "estimate",
        "p",
        "p of all groups",
        "scale",
        "in the model",
    )
    return make_table(f"Mixed models of {score.label} by {one.name}", columns, rows, HOW_MIXED)


def tabulate_labels(one: ShownAudit) -> Table:
    """Tabulate how many exams of each group a machine's labels judged."""
    rows = [
        [one.title_of(row.grouping), row.group, write_rate(int(row.n_machine), int(row.n))]
        for row in iterate_rows(one.result.label_shares)
    ]
    columns = ("grouping", "group", "judged by a machine's labels")
    return make_table(f"Whose labels judged: {one.name}", columns, rows)
