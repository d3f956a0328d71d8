"""Acceptance cases of kind auc, read as tables and compared number by number."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tworulers.auc.covariance import compute_covariance
from tworulers.auc.fairness import measure_fairness
from tworulers.auc.matrix import compute_matrix, stratify_scores
from tworulers.ingest.risk_table import read_risk_table
from tworulers.schema.sources import RiskTable

pytestmark = pytest.mark.needs_shared


def read_case(folder: Path) -> tuple[dict, RiskTable]:
    case = json.loads((folder / "case.json").read_text())
    inputs = case["inputs"]
    spec = RiskTable(
        name=case["id"], root=str(folder), file=inputs["risk"], score=inputs.get("score", "risk"),
        outcome=inputs.get("outcome", "event"), event=inputs.get("event", "1"),
        groups={"group": inputs.get("group", "group")},
        sentinels=["-1"], low=0.0, high=1.0,
    )  # fmt: skip
    return case, spec


CASES = [
    "59-auc-group-without-events",
    "60-auc-ties",
    "61-auc-overall-outside-groups",
    "62-auc-sentinel-and-text-outcome",
]


@pytest.mark.parametrize("name", CASES)
def test_a_case_gives_its_expected_values(name, shared):
    folder = shared / "cases" / name
    case, spec = read_case(folder)
    expected = case["expected_values"]
    records = read_risk_table(spec)
    frame = records.frame
    sample = stratify_scores(frame.score, frame.outcome, frame["group"])
    matrix = compute_matrix(sample)
    about = {"atol": case["tolerance"], "err_msg": case["id"]}
    np.testing.assert_allclose(matrix.overall, expected["overall"], **about)
    if "overall_all_valid" in expected:
        np.testing.assert_allclose(matrix.overall_all, expected["overall_all_valid"], **about)
        assert len(frame) == expected["n_valid_scores"]
        assert len(records.excluded) == expected["n_sentinel"]
        assert matrix.n_without_group == expected["n_missing_group"]
    for g, first in enumerate(matrix.groups):
        for h, second in enumerate(matrix.groups):
            value = expected["matrix"][f"events {first} vs non-events {second}"]
            value = np.nan if value is None else value
            np.testing.assert_allclose(matrix.cells[g, h], value, **about)
            pairs = matrix.n_events[g] * matrix.n_non_events[h]
            assert pairs == expected["n_pairs"][f"{first}|{second}"]
        for name, values in (("xauc1", matrix.xauc1), ("xauc0", matrix.xauc0)):
            value = expected[name][first]
            np.testing.assert_allclose(values[g], np.nan if value is None else value, **about)
    metrics = measure_fairness(compute_covariance(sample, matrix), level=0.95)
    largest = metrics[metrics.group_a == "max"].set_index("metric").value
    for key, metric in (
        ("within_group_parity", "within_difference"),
        ("cross_group_parity", "cross_difference"),
        ("xauc1_parity", "xauc1_difference"), ("xauc0_parity", "xauc0_difference"),
    ):  # fmt: skip
        if key in expected:
            np.testing.assert_allclose(largest[metric], expected[key], **about)
