"""Cells: digits, reasons beside dashes, counts beside rates, escaping and suppression."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from tworulers.diagnosis.comparison import Comparison
from tworulers.metrics.registry import METRICS
from tworulers.report.audit_tables import (
    tabulate_groups,
    tabulate_model,
    tabulate_power,
    tabulate_ratios,
    tabulate_tests,
)
from tworulers.report.cohort_tables import tabulate_people, tabulate_relations
from tworulers.report.findings import CohortTables, RulerChange, ShownAudit
from tworulers.report.ruler_tables import tabulate_inflation, tabulate_verdicts
from tworulers.report.score import Score
from tworulers.report.tables import (
    Table,
    make_table,
    write_interval,
    write_number,
    write_p,
    write_rate,
    write_score,
)

DICE = Score(METRICS["dice"], "macro")


def cells(table: Table) -> str:
    return "\n".join(" | ".join(row) for row in table.rows)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (write_p(0.0300), "0.030"),
        (write_p(0.27), "0.27"),
        (write_p(0.00004), "< 0.001"),
        (write_p(np.nan, "one_group"), "— (one group)"),
        (write_number(-0.0001, 2), "0.00"),
        (write_number(-0.51, 1), "-0.5"),
        (write_number(np.inf), "∞"),
        (write_number(np.nan), "—"),
        (write_number(None, because="no events"), "— (no events)"),
        (write_score(0.89624, METRICS["dice"]), "0.8962"),
        (write_score(1.2488, METRICS["hd95"]), "1.249"),
        (write_rate(20, 21), "20/21 (95 %)"),
        (write_rate(0, 0), "— (no exams)"),
        (write_interval("1", "0", "2"), "1 [0, 2]"),
        (write_interval("1", "—", "2"), "1"),
    ],
)
def test_a_number_is_written_with_what_it_needs(written: str, expected: str) -> None:
    assert written == expected


def test_text_of_data_is_escaped_and_aligned() -> None:
    table = make_table(
        "A < B", ("group", "n"), [["<40 & <script>|[red]`\n\x1b", "21"]], "note > all"
    )
    page = table.to_html()
    assert "<script>" not in page
    assert "&lt;40 &amp; &lt;script&gt;|[red]" in page
    assert '<td class="number">21</td>' in page
    assert "note &gt; all" in page
    marked = table.to_markdown().splitlines()
    assert marked[0] == "**A &lt; B**"
    assert marked[2:5] == [
        "| group | n |",
        "| --- | --- |",
        "| &lt;40 &amp; &lt;script>&#124;&#91;red]&#96; \x1b | 21 |",
    ]
    assert marked[-1] == "note > all"
    console = Console(width=60, file=io.StringIO())
    console.print(table.to_console())
    printed = console.file.getvalue()
    assert [line.strip() for line in printed.splitlines()][::7] == ["A < B", "note > all"]
    assert "<40 & <script>|[red]`" in printed
    assert "\x1b" not in printed


def test_groups_stand_with_n_and_with_successes_of_n(audits: dict[str, ShownAudit]) -> None:
    gold = audits["gold"]
    table = tabulate_groups(gold, DICE)
    assert "gold: expert labels (provenance gold)" in table.caption
    row = next(row for row in table.rows if row[1] == "<40")
    scores = gold.scores[(gold.scores["metric"] == "dice") & (gold.scores["structure"] == "macro")]
    assert row[2] == "21"
    assert row[7] == "20/21 (95 %)"
    assert row[3] == "0.8965"
    assert len(scores) == 76


def test_small_groups_can_be_suppressed_and_keep_no_number(audits: dict[str, ShownAudit]) -> None:
    gold = audits["gold"]
    table = tabulate_groups(gold, DICE, suppress_below=25)
    row = next(row for row in table.rows if row[1] == "<40")
    assert row[2:] == ("< 25", *["suppressed"] * 5)
    assert "1 group below 25 exams suppressed" in table.note
    assert next(row for row in table.rows if row[1] == "60+")[2] == "26"


def test_an_undefined_test_says_why_and_never_nan(audits: dict[str, ShownAudit]) -> None:
    result = audits["gold"].result
    tests = result.tests.copy()
    numbers = ["p", "p_fdr", "statistic", "effect", "median_gap", "median_gap_low"]
    tests.loc[0, [*numbers, "median_gap_high", "best_group", "worst_group"]] = np.nan
    tests.loc[0, "undefined_because"] = "one_group"
    first = tests.iloc[0]
    score = Score(METRICS[first["metric"]], first["structure"])
    table = tabulate_tests(replace(audits["gold"], result=replace(result, tests=tests)), score)
    assert table.rows[0][4] == "— (one group)"
    assert "nan" not in cells(table).lower()


def test_ratios_show_counts_and_pretend_no_interval(audits: dict[str, ShownAudit]) -> None:
    silver = audits["silver"]
    table = tabulate_ratios(silver, DICE)
    age = next(row for row in table.rows if row[0].startswith("Age"))
    assert age[1] == "<40 21/21, 40-60 29/29, 60+ 26/26"
    assert age[4:6] == ("degenerate", "degenerate")
    assert age[6] == "0.84"


def test_power_says_what_would_have_been_missed(audits: dict[str, ShownAudit]) -> None:
    table = tabulate_power(audits["gold"], DICE)
    assert len(table.rows) == 2
    assert "no proof of equality" in table.note


def test_a_model_that_was_not_fitted_says_why(audits: dict[str, ShownAudit]) -> None:
    result = audits["gold"].result
    assert len(tabulate_model(audits["gold"]).rows) == 3
    linear = result.linear.head(1).assign(undefined_because="3 exams for 3 regressors")
    table = tabulate_model(replace(audits["gold"], result=replace(result, linear=linear)))
    assert table.rows == ()
    assert table.note == "Not fitted: 3 exams for 3 regressors."


def test_comparison_tables_name_both_rulers(
    comparison: Comparison, audits: dict[str, ShownAudit]
) -> None:
    both = (audits["gold"], audits["silver"])
    inflation = tabulate_inflation(RulerChange("mix", "gold", "silver", comparison), *both)
    assert "gold: expert labels (provenance gold)" in inflation.note
    assert "0.8962 | 0.9735 | 7.72 points" in cells(inflation)
    verdicts = tabulate_verdicts(comparison.verdicts, *both)
    assert any("Age: Dice, macro" in row[0] for row in verdicts.rows)
    assert "nan" not in cells(verdicts).lower()


def test_cohort_tables_count_missing_and_suppress(cohort_tables: CohortTables) -> None:
    people, ages = tabulate_people(cohort_tables.counts, cohort_tables.ages, suppress_below=5)
    assert "< 5" in cells(people)
    assert ages.rows[0][:4] == ("all", "76", "75", "1")
    bare = pd.DataFrame(cohort_tables.ages).assign(known=0, mean=np.nan, sd=np.nan, median=np.nan)
    assert "no known age" in cells(tabulate_people(cohort_tables.counts, bare)[1])
    relations = tabulate_relations("Scanners", cohort_tables.relations, {"sex": "Sex"})
    assert {row[0] for row in relations.rows} >= {"Sex", "age"}
