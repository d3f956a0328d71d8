"""A small, seeded form of the calibration of mechanisms and of what labels tell of a ruler."""

import numpy as np
import pytest

from calibration import mechanism, rulers

pytestmark = pytest.mark.slow


def fail(rows: list) -> list:
    asked = [row for row in rows if not np.isnan([row.at_least, row.at_most]).all()]
    assert len(asked) >= 8
    return [row for row in asked if not row.holds]


def test_mechanisms_are_shown_where_they_are_and_nothing_sharper_is_called_false() -> None:
    rows = mechanism.TOPIC.measure(6, np.random.default_rng(0))
    assert fail(rows) == []
    accused = [row for row in rows if "share training data" in row.scenario]
    # The same ruler is accused where it is declared a copy, so that the zeros are no accident.
    assert all(row.value > 0.4 for row in accused)


def test_copies_are_too_close_and_a_second_expert_or_the_truth_tells_them_from_sharper_rulers() -> (
    None
):
    rows = rulers.TOPIC.measure(40, np.random.default_rng(0))
    assert fail(rows) == []
    close = {row.scenario: row.value for row in rows if row.what == "called too close"}
    # Three maps take two models that are nearer to the truth than a noisy expert for copies.
    assert close["sharper independent model, noisy expert, model 0.90 by the expert"] > 0.9
