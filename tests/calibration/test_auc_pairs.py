"""A small, seeded form of the calibration of AUC pairs, and its vectorised evidence against that of real rows."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from calibration.auc_pairs import TOPIC, draw_evidence

from tworulers.auc.covariance import compute_covariance
from tworulers.auc.intervals import collect_evidence
from tworulers.auc.matrix import stratify_scores

pytestmark = pytest.mark.slow


def test_every_row_holds_in_a_small_run() -> None:
    rows = TOPIC.measure(600, np.random.default_rng(1))
    assert [
        row for row in rows if row.studies >= 100 and not row.holds and row.at_most == row.at_most
    ] == []
    assert sum(row.at_most == 0.06 for row in rows) >= 19
    pairs = [row for row in rows if "test of the pair" in row.what]
    assert 0.005 < np.mean([row.value for row in pairs[:19]]) < 0.06


def test_the_evidence_of_many_studies_is_that_of_each() -> None:
    auc, sizes = 0.8, (6, 25)
    many = draw_evidence(sizes, auc, 1.0, 3, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    events = rng.normal(np.sqrt(2) * 0.8416212335729143, 1.0, (3, 6))
    others = rng.normal(0.0, 1.0, (3, 25))
    for study in range(3):
        score = np.concatenate([events[study], others[study]])
        sample = stratify_scores(score, np.repeat([1, 0], sizes), np.full(31, "all"))
        one = collect_evidence(compute_covariance(sample), np.ones((1, 1)))
        np.testing.assert_allclose(
            [bound[study] for bound in many.bounds(0.95)], one.bounds(0.95), atol=1e-9
        )
