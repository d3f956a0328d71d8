from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tworulers.diagnosis.closeness import measure_closeness
from tworulers.report.words.rulers import note_closeness


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_a_ruler_that_agrees_far_better_with_less_spread_is_too_close() -> None:
    expert = 0.90 + 0.02 * rng().normal(size=60)
    found = measure_closeness(0.973 + 0.2 * (expert - 0.9), expert)
    assert found.status == "too_close"
    assert (
        note_closeness(asdict(found), True) == "ruler against expert unknown; shared error unknown"
    )
    assert found.vcr_mad == pytest.approx(5)


@pytest.mark.parametrize(
    ("ruler", "ruler_expert"),
    [
        (lambda e: 0.92 + 0.2 * (e - 0.9), None),  # within the margin
        (lambda e: 0.973 + 0.2 * (e - 0.9), np.full(60, 0.96)),  # the ruler is as near the expert
    ],
)
def test_without_margin_or_against_a_good_ruler_it_is_distinct(ruler, ruler_expert) -> None:
    expert = 0.90 + 0.02 * rng().normal(size=60)
    assert measure_closeness(ruler(expert), expert, ruler_expert).status == "distinct"


def test_nearness_to_an_expert_who_corrected_the_ruler_shows_nothing() -> None:
    expert = 0.90 + 0.02 * rng().normal(size=60)
    near = (0.973 + 0.2 * (expert - 0.9), expert, np.full(60, 0.96))
    assert measure_closeness(*near).status == "distinct"
    found = measure_closeness(*near, corrected=True)
    assert found.status == "too_close"
    assert found.ruler_expert == pytest.approx(0.96)


def test_forgiving_most_of_the_error_is_too_close_even_where_the_spread_is_kept() -> None:
    expert = 0.90 + 0.02 * rng().normal(size=60)
    assert measure_closeness(0.973 + 0.8 * (expert - 0.9), expert).status == "too_close"


def test_a_ruler_made_of_the_predictions_is_identical() -> None:
    found = measure_closeness(np.ones(20), np.linspace(0.8, 0.9, 20))
    assert found.status == "identical"


def test_the_shared_error_is_the_mean_over_exams_where_anybody_errs() -> None:
    found = measure_closeness(
        np.full(3, 0.9), np.full(3, 0.9), np.full(3, 0.9), np.array([0.5, np.nan, 0.7])
    )
    assert found.shared_error == pytest.approx(0.6)
    assert note_closeness(asdict(found), True) == ""


@pytest.mark.needs_shared
def test_the_published_silver_ruler_is_too_close(shared: Path) -> None:
    macro = [
        pd.read_csv(shared / "data" / "cspineseg_scores" / f"eval_ruler_{ruler}.csv")[
            ["dice_vb", "dice_disc"]
        ].mean(axis=1)
        for ruler in ("silver", "gold")
    ]
    found = measure_closeness(macro[0].to_numpy(), macro[1].to_numpy())
    assert (found.model_ruler, found.model_expert) == pytest.approx((0.9734, 0.8969), abs=5e-5)
    assert found.status == "too_close"
    assert found.forgiven == pytest.approx(0.7425, abs=5e-5)
    assert "ruler against expert unknown" in note_closeness(asdict(found), True)
