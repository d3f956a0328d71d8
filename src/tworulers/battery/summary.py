"""An audit in numbers that strict JSON and a metric store can hold."""

import math
from dataclasses import asdict
from typing import Any

import pandas as pd

from tworulers.battery.audit import AuditResult
from tworulers.battery.overview import count_answers
from tworulers.schema.file_names import name_parts
from tworulers.schema.tables import list_rows, unpack_names

NOT_FINITE = "not finite"

OF_TEST = ("p", "p_fdr", "p_verdict_fdr", "p_permutation", "effect", "median_gap")
BY_VERDICT = {
    "p_verdict_fdr": "verdict_undefined_because",
    "p_permutation": "permutation_undefined_because",
}
"""Numbers of a test whose reason for being undefined stands in a column of its own."""

OF_DISPARITY = ("dpd", "dir")
OF_SCORE = ("mean", "sd", "median")


def summarise(result: AuditResult) -> dict[str, Any]:
    """Reduce an audit to plain numbers, with what they are about.

    Returns
    -------
    A dictionary without NaN or infinity: whose predictions, what judged them and its `provenance`,
    sizes, counts of `answers`, thresholds, margins, `families`, `groupings`, and `metrics` named
    `dice/macro/age_3bin/p_fdr` (`dice/macro/mean` over all exams). A number that is undefined or infinite is None, and
    `undefined` says why under the same name.
    """
    metrics: dict[str, float | None] = {}
    undefined: dict[str, str] = {}

    def put(name: str, value: float, reason: object) -> None:
        if math.isfinite(value):
            metrics[name] = float(value)
        else:
            metrics[name] = None
            undefined[name] = reason if isinstance(reason, str) and reason else NOT_FINITE

    called = name_parts(result.overall["structure"])
    for row in list_rows(result.overall):
        stem = f"{row['metric']}/{called[row['structure']]}"
        reason = f"{row['n_undefined']} of {row['n_exams']} undefined, {row['n_infinite']} infinite"
        for name in OF_SCORE:
            put(f"{stem}/{name}", row[name], reason)
    tables = (
        (result.tests, OF_TEST),
        (result.disparities[result.disparities["primary"].astype(bool)], OF_DISPARITY),
    )
    for table, names in tables:
        for row in list_rows(table):
            stem = f"{row['metric']}/{called[row['structure']]}/{row['grouping']}"
            for name in names:
                put(f"{stem}/{name}", row[name], row[BY_VERDICT.get(name, "undefined_because")])
    return {
        "regime": result.regime,
        "ruler": result.ruler,
        "provenance": result.provenance,
        "attributes": result.attributes,
        "audit": result.settings.name,
        "n_exams": result.n_exams,
        "n_patients": result.n_patients,
        "resampling_unit": result.resampling_unit,
        "verdict_by": "patient" if result.by_patient else "exam",
        "alpha": result.settings.alpha,
        "answers": count_answers(result.tests),
        "thresholds": dict(result.settings.thresholds),
        "margin": dict(result.settings.margin),
        "bootstrap_draws": result.settings.bootstrap_draws,
        "permutations": result.settings.permutations,
        "seed": result.settings.seed,
        "primary": asdict(result.settings.locked) if result.settings.locked.questions else None,
        "families": _plain(result.families),
        "groupings": [_open_groups(row) for row in _plain(result.groupings)],
        "linear": _plain(result.linear),
        "metrics": metrics,
        "undefined": undefined,
    }


def _open_groups(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "groups": unpack_names(row["groups"])} if "groups" in row else row


def _plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as plain values; a number that is not finite is None, the row says why."""
    rows = []
    for record in list_rows(frame):
        row: dict[str, Any] = {}
        for name, value in record.items():
            if hasattr(value, "item"):
                value = value.item()
            if isinstance(value, float) and not math.isfinite(value):
                value = None
            row[str(name)] = value
        if None in row.values() and "undefined_because" not in row:
            row["undefined_because"] = "a test could not be computed"
        rows.append(row)
    return rows
