"""The few numbers of a report that other programs show beside those of earlier ones: `dvc metrics`, `dvc plots`."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from tworulers.battery.audit import AuditResult
from tworulers.battery.overview import count_answers as count_tests
from tworulers.report.findings import Findings
from tworulers.schema.settings import MACRO

COLUMNS = ["regime", "ruler", "grouping", "group", "metric", "n", "mean", "median", "q1", "q3"]


def count_answers(findings: Findings) -> dict[str, dict[str, Any]]:
    """Count the answers by regime and ruler, with the mean of every score over all structures.

    Returns
    -------
    By regime, then by ruler: how many tests ended in each answer, and the mean of each metric; and by the two rulers
    of a comparison how many tests changed beyond chance.
    """
    counted: dict[str, dict[str, Any]] = {}
    for (regime, ruler), audit in findings.audits.items():
        place = counted.setdefault(regime, {})
        place[ruler] = {**count_tests(audit.result.tests), "mean": _list_means(audit.result)}
    for change in findings.changes:
        changed = change.comparison.summary.get("tests_changed", {})
        place = counted.setdefault(change.regime, {})
        place[f"{change.base}_{change.other}"] = {
            f"changed_{family}": one["changed"] for family, one in changed.items()
        }
    return counted


def tabulate_scores(findings: Findings) -> pd.DataFrame:
    """Table the scores over all structures by group, regime and ruler, one row each.

    Returns
    -------
    Columns `regime`, `ruler`, `grouping` and `group` (titles), `metric`, `n`, and of the scores `mean`, `median`, `q1`,
    `q3`.
    """
    parts = [part for side, audit in findings.audits.items() for part in _list_groups(side, audit)]
    if not parts:
        return pd.DataFrame(columns=COLUMNS)
    return pd.concat(parts, ignore_index=True)[COLUMNS]


def _list_means(result: AuditResult) -> dict[str, float]:
    whole = _keep_whole(result.overall)
    return dict(zip(whole["metric"], whole["mean"].astype(float), strict=True))


def _list_groups(side: tuple[str, str], audit: Any) -> Iterator[pd.DataFrame]:
    whole = _keep_whole(audit.result.groups)
    if len(whole):
        titles = whole["grouping"].map(audit.title_of)
        yield whole.assign(regime=side[0], ruler=side[1], grouping=titles)


def _keep_whole(table: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows of the macro, or of the only structure there is."""
    single = len(set(table["structure"])) == 1
    return table if single else table[table["structure"] == MACRO]
