"""The answer of every grouping for one score: the gap, the pair furthest from its margins, and what would settle it."""

from typing import Any

import pandas as pd

from tworulers.battery.margins import find_fault_of_labels
from tworulers.report.findings import ShownAudit
from tworulers.report.rows import iterate_rows
from tworulers.report.score import Score
from tworulers.report.tables import (
    UNDEFINED,
    Table,
    make_table,
    write_estimate,
    write_gap_estimate,
    write_number,
)
from tworulers.report.words.answers import ANSWERS, write_margins, write_needed
from tworulers.schema.metric import Metric
from tworulers.schema.tables import list_rows, unpack_names


def tabulate_answers(one: ShownAudit, score: Score) -> Table:
    """Tabulate the answer of every grouping for one score."""
    audit, metric, rows = one.result, score.metric, []
    pairs = score.of(audit.equivalence)
    for test in list_rows(score.of(audit.tests)):
        mine = pairs[pairs["grouping"] == test["grouping"]]
        rows.append(
            [
                one.title_of(test["grouping"]),
                ANSWERS[test["answer"]],
                write_gap_estimate(
                    [test[f"median_gap{end}"] for end in ("", "_low", "_high")],
                    metric,
                    test["undefined_because"],
                ),
                *_write_pair(mine, metric),
                _write_needed(test),
                test["answer_because"] if isinstance(test["answer_because"], str) else "",
            ]
        )
    columns = (
        "grouping",
        "answer",
        "gap of medians",
        "pair",
        "shift",
        "failures (percentage points)",
    )
    note = (
        "Shift: the median difference between an exam of the second and one of the first group, and failures the "
        "difference of failed exams, of the pair furthest from proof, each with the interval that has to lie inside "
        "its margin. Exams needed: with which 80 % of studies would have an answer, gaps and spreads as seen."
    )
    if find_fault_of_labels(audit.provenance):
        note += (
            f" Labels of provenance {audit.provenance} prove no equality: by them, exams needed are those at which a "
            "difference would be shown."
        )
    if stated := write_margins(audit.settings, {metric.name: metric}):
        note = f"Margins: {stated}. {note}"
    return make_table(
        f"Answers in {score.label} by {one.name}", (*columns, "exams needed", "because"), rows, note
    )


def _write_pair(pairs: pd.DataFrame, metric: Metric) -> list[str]:
    """Write the pair with the largest p: its groups, shift and difference of failures."""
    if pairs.empty:
        return [UNDEFINED] * 3
    pair: Any = next(iter(iterate_rows(pairs.nlargest(1, "p_within", keep="first"))))
    failures = [100 * getattr(pair, f"failure_difference{end}") for end in ("", "_low", "_high")]
    shift = (pair.shift, pair.shift_low, pair.shift_high)
    return [
        f"{pair.group_b} − {pair.group_a}",
        write_gap_estimate(shift, metric),
        write_estimate(failures, lambda value: write_number(value, 1)),
    ]


def _write_needed(test: dict[str, Any]) -> str:
    """Write the exams needed, by group where they are known."""
    text = write_needed(test)
    if not isinstance(test["n_needed_groups"], str):
        return text
    return f"{text} ({', '.join(unpack_names(test['n_needed_groups']))})"
