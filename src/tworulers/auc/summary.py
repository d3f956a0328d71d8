"""The numbers of a risk audit by name: what runs are compared by, and what its summary file holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import pandas as pd

from tworulers.auc.audit import RiskAudit
from tworulers.schema.file_names import name_parts
from tworulers.schema.tables import list_rows
from tworulers.stats.types import Row


def collect_metrics(audit: RiskAudit) -> dict[str, float]:
    """Name the numbers that runs are compared by: `auc/sex/Female/Male` is the cell of those events and non-events."""
    overall = audit.overall
    metrics = {
        "auc/overall": overall.value,
        "auc/overall/low": overall.low,
        "auc/overall/high": overall.high,
    }
    called = {name: name_parts(matrix.groups) for name, matrix in audit.matrices.items()}
    for cell in list_rows(audit.cells):
        of = called[cell["grouping"]]
        parts = (cell["grouping"], of[cell["events_of"]], of[cell["non_events_of"]])
        metrics["/".join(["auc", *parts])] = cell["auc"]
    for row in list_rows(audit.metrics):
        of = called[row["grouping"]]
        groups = [of.get(g, g) for g in (row["group_a"], row["group_b"]) if g not in ("", "all")]
        metrics["/".join([row["metric"], row["grouping"], *groups])] = row["value"]
    for test in list_rows(audit.tests[audit.tests["family"] == "groupings"]):
        for p in ("p", "p_fdr"):
            metrics[f"within_parity/{test['grouping']}/{p}"] = test[p]
    return {name: float(value) for name, value in metrics.items()}


def summarise_risk(
    audit: RiskAudit, sentences: Sequence[str], notes: Sequence[str], why: Mapping[str, str]
) -> Row:
    """Lay an audit out for a JSON file: every undefined number stands beside its reason."""
    groupings = {
        name: {
            "overall_of_grouped_rows": matrix.overall,
            "rows_without_group": matrix.n_without_group,
            "cells": _list_own(audit.cells, name),
            "metrics": _list_own(audit.metrics, name),
        }
        for name, matrix in audit.matrices.items()
    }
    appraisals = audit.metrics.drop_duplicates("metric")[["metric", "appraisal"]]
    return {
        "use": audit.use.name,
        "overall": asdict(audit.overall),
        "sentences": list(sentences),
        "groupings": groupings,
        "tests": list_rows(audit.tests),
        "appraisals": list_rows(appraisals.assign(why=appraisals["metric"].map(why))),
        "notes": list(notes),
    }


def _list_own(table: pd.DataFrame, grouping: str) -> list[Row]:
    return list_rows(table[table["grouping"] == grouping].drop(columns=["grouping"]))
