"""What the report says of group means that few expert labels and many machine labels give together."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from tworulers.diagnosis.anchored import Anchored
from tworulers.metrics.known.dice import DICE
from tworulers.report.findings import ShownAudit
from tworulers.report.page import Section
from tworulers.report.rows import find_row, iterate_rows
from tworulers.report.tables import (
    UNDEFINED,
    Table,
    make_table,
    with_digits,
    write_estimate,
    write_number,
    write_p,
    write_rate,
)
from tworulers.report.view import View
from tworulers.report.words.anchored import (
    BOUND,
    HOW,
    NO_TEST,
    name_attribute,
    say_anchored,
    say_exchangeable,
    say_gain,
    say_withheld,
)

THREE, FOUR = with_digits(3), with_digits(4)
TESTS: Mapping[str, str] = {"mann_whitney": "Mann-Whitney", "chi_squared": "permuted chi-squared"}


def tell_of_anchoring(view: View) -> Section | None:
    """Tell of gold-anchored means and gaps, of the view's grouping first; nothing where there are none."""
    anchored = view.change.anchored if view.change is not None else None
    if anchored is None or anchored.means.empty:
        return None
    base, other = view.judged
    there = set(anchored.means["grouping"])
    first, *names = sorted(there, key=lambda name: (name != view.grouping, *_place(base, name)))
    details = [tabulate_exchangeability(anchored.exchangeability)]
    for name in names:
        details += tabulate_anchored(anchored, name, base)
    means = anchored.means[anchored.means["grouping"] == first]
    said = dict.fromkeys([*say_anchored(anchored), say_exchangeable(anchored.exchangeability)])
    told = [BOUND, " ".join(said)]
    if anchored.threshold is not None:
        success = DICE.write_success(anchored.threshold)
        failures = anchored.failures[anchored.failures["grouping"] == first]
        told.insert(0, HOW.format(other=other.name, ruler=other.ruler, success=success))
        gain = f"{say_gain(means)} {say_withheld(failures)}".strip()
        told.append(f"{base.title_of(first)}: {gain} {NO_TEST}")
    return Section(
        "anchored",
        "Group means anchored in the experts' labels",
        told,
        tables=tabulate_anchored(anchored, first, base),
        details=details,
        details_title="Whether the exams are drawn alike, and the other groupings",
    )


def _place(one: ShownAudit, grouping: str) -> tuple[int, str]:
    """Return where an audit has a grouping among its own; the others come after them, by name."""
    names = list(one.titles)
    return names.index(grouping) if grouping in names else len(names), grouping


def tabulate_anchored(anchored: Anchored, grouping: str, base: ShownAudit) -> list[Table]:
    """Tabulate the failure rates and means of a grouping's groups, and the gaps between them."""
    title = base.title_of(grouping)
    of = {
        name: getattr(anchored, name)[lambda table: table["grouping"] == grouping]
        for name in ("failures", "means", "gaps", "failure_gaps")
    }
    tables = [_tabulate_means(of["means"], f"{title}: mean macro Dice", base)]
    if anchored.threshold is not None and len(of["failures"]):
        success = DICE.write_success(anchored.threshold)
        caption = f"{title}: share of exams with macro Dice not {success}, anchored in {base.name}"
        tables.insert(0, _tabulate_failures(of["failures"], caption))
    if len(of["gaps"]):
        caption = f"{title}: gaps anchored in {base.name}"
        tables.append(_tabulate_gaps(of["gaps"], of["failure_gaps"], caption))
    return tables


def _tabulate_failures(failures: pd.DataFrame, caption: str) -> Table:
    rows = [
        [
            row.group,
            write_rate(row.failed, row.n_gold),
            write_estimate((row.gold_rate, row.gold_low, row.gold_high), THREE),
            write_rate(row.silver_failed, row.n_silver),
            write_estimate((row.rate, row.low, row.high), THREE, row.undefined_because),
        ]
        for row in iterate_rows(failures)
    ]
    columns = ["group", "failed, with expert label", "rate, expert labels alone"]
    columns += ["failed by the second ruler, without", "rate, anchored"]
    note = (
        "Exact intervals (Clopper and Pearson 1934); exams of one patient count as fewer, by the "
        "design effect."
    )
    return make_table(caption, columns, rows, note)


def _tabulate_means(means: pd.DataFrame, title: str, base: ShownAudit) -> Table:
    rows = [
        [
            row.group,
            write_number(row.n_rest, 0),
            str(row.n_silver),
            write_estimate(
                (row.gold_mean, row.gold_low, row.gold_high), FOUR, row.undefined_because
            ),
            write_estimate((row.mean, row.low, row.high), FOUR, row.undefined_because),
            write_number(row.weight, 2),
            write_number(row.correlation, 2),
            write_number(row.effective_n, 1),
            write_estimate((row.all_mean, row.all_low, row.all_high), FOUR),
        ]
        for row in iterate_rows(means)
    ]
    columns = ["group", "n with expert label, not failed", "n without"]
    columns += ["mean, expert labels alone", "mean, anchored", "λ", "correlation", "effective n"]
    columns += ["mean of all, whatever the tail"]
    note = (
        "Correlation: of the two scores where both are known and neither fails. Effective n: how "
        "many expert labels of exams that do not fail would alone give the anchored standard "
        "error; below n where λ costs more than it brings."
    )
    return make_table(
        f"{title} of exams that do not fail, anchored in {base.name}", columns, rows, note
    )


def _tabulate_gaps(gaps: pd.DataFrame, failure_gaps: pd.DataFrame, caption: str) -> Table:
    rows = []
    for gap in iterate_rows(gaps):
        apart = find_row(failure_gaps, group_a=gap.group_a, group_b=gap.group_b)
        rows.append(
            [
                f"{gap.group_b} − {gap.group_a}",
                _write_gap(apart, "gold_difference", THREE),
                _write_gap(apart, "difference", THREE),
                _write_gap(gap, "gold_difference", FOUR),
                _write_gap(gap, "difference", FOUR),
                _write_gap(gap, "all_difference", FOUR),
            ]
        )
    heads = ["groups", "failure rate, expert labels alone", "failure rate, anchored"]
    heads += ["mean, expert labels alone", "mean, anchored", "mean of all, whatever the tail"]
    return make_table(caption, heads, rows)


def _write_gap(row: Any, name: str, write: Callable[[float], str]) -> str:
    if row is None:
        return UNDEFINED
    return write_estimate([getattr(row, name + end) for end in ("", "_low", "_high")], write)


def tabulate_exchangeability(table: pd.DataFrame) -> Table:
    """Tabulate in what exams with and without an expert label differ."""
    rows = [
        [
            name_attribute(row.attribute),
            TESTS.get(row.test, row.test),
            write_p(row.p, "does not vary"),
            write_p(row.p_holm),
            "differs" if row.warning else ("no difference found" if row.p == row.p else UNDEFINED),
        ]
        for row in iterate_rows(table)
    ]
    heads = ("attribute", "test", "p", "adjusted p (Holm)", "finding")
    return make_table("Exams with and without an expert label: are they drawn alike?", heads, rows)
