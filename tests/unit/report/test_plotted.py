"""What `dvc metrics` and `dvc plots` show of a report: counts and means that the audits' own tables hold."""

import numpy as np

from tworulers.report.findings import Findings
from tworulers.report.plotted import COLUMNS, count_answers, tabulate_scores
from tworulers.report.withhold import withhold_small_groups
from tworulers.schema.settings import MACRO


def test_answers_and_means_are_those_of_the_audits(findings: Findings) -> None:
    counted = count_answers(findings)
    for (regime, ruler), audit in findings.audits.items():
        one, tests = counted[regime][ruler], audit.result.tests
        counts = [value for name, value in one.items() if name != "mean"]
        assert all(isinstance(value, int) for value in counts)
        assert sum(counts) == len(tests[tests["family"] == "main"])
        overall = audit.result.overall
        for metric, mean in one["mean"].items():
            row = overall[(overall["structure"] == MACRO) & (overall["metric"] == metric)]
            np.testing.assert_allclose(mean, row["mean"].item())
    for change in findings.changes:
        changed = change.comparison.summary["tests_changed"]
        told = counted[change.regime][f"{change.base}_{change.other}"]
        assert told == {f"changed_{name}": one["changed"] for name, one in changed.items()}


def test_every_group_has_a_row_by_ruler_and_metric(findings: Findings) -> None:
    table = tabulate_scores(findings)
    assert list(table.columns) == COLUMNS
    keys = ["regime", "ruler", "grouping", "group", "metric"]
    assert not table.duplicated(keys).any()
    expected = sum(
        (audit.result.groups["structure"] == MACRO).sum() for audit in findings.audits.values()
    )
    assert len(table) == expected > 0


def test_small_groups_are_told_of_nowhere(findings: Findings) -> None:
    from dataclasses import replace

    least = 1 + int(tabulate_scores(findings)["n"].min())
    shared = tabulate_scores(withhold_small_groups(replace(findings, suppress_below=least)))
    assert (shared["n"] >= least).all()
    assert len(shared) > 0
