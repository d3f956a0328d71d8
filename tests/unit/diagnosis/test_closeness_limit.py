"""Whether closeness tells copies from raters whatever the level of Dice."""

from dataclasses import asdict

import numpy as np
import pytest

from tworulers.diagnosis.closeness import LIMIT, measure_closeness
from tworulers.report.words.rulers import note_closeness


def draw_errors(mean: float, size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    sigma = np.sqrt(np.log1p(0.6**2))
    return mean * np.exp(sigma * rng.normal(size=size) - sigma**2 / 2)


@pytest.mark.parametrize("dice", [0.80, 0.90, 0.95, 0.98])
def test_copies_are_too_close_and_raters_of_equal_noise_are_not(dice: float) -> None:
    rng = np.random.default_rng(7)
    model, expert, rater = (draw_errors((1 - dice) / 2, (60, 76), rng) for _ in range(3))
    held = model + expert
    raters, copies = [], []
    for study in range(60):
        against = 1 - (rater + expert)[study]
        scored = 1 - (model + rater)[study]
        raters.append(measure_closeness(scored, 1 - held[study], against).status)
        raters.append(measure_closeness(scored, 1 - held[study]).status)
        for forgiven in (0.6, 0.8):
            left = (1 - forgiven) * draw_errors(float(held[study].mean()), (1, 76), rng)[0]
            found = measure_closeness(1 - left, 1 - held[study], 1 - held[study])
            copies.append(found.status)
            assert found.forgiven_low < found.forgiven < found.forgiven_high
    assert raters.count("too_close") <= 0.05 * len(raters)
    assert copies.count("too_close") >= 0.95 * len(copies)


def test_a_near_copy_of_a_good_model_is_too_close() -> None:
    """Means as found on 60 exams: expert .9843, ruler .9990, ruler against expert .9834."""
    error = draw_errors(0.0157, (1, 60), np.random.default_rng(1))[0]
    found = measure_closeness(1 - 0.064 * error, 1 - error, 1 - 1.06 * error)
    assert found.status == "too_close"
    assert found.forgiven == pytest.approx(0.936)
    # no spread and no margin is needed
    assert found.model_ruler - found.model_expert < 0.03


def test_labels_declared_to_be_experts_or_truth_are_not_asked_but_may_be_identical() -> None:
    error = draw_errors(0.05, (1, 60), np.random.default_rng(2))[0]
    found = measure_closeness(1 - 0.1 * error, 1 - error, asked=False)
    assert found.status == "distinct"
    assert "not asked" in note_closeness(asdict(found), False)
    assert measure_closeness(np.ones(60), 1 - error, asked=False).status == "identical"


def test_a_share_at_the_limit_says_so_and_a_perfect_expert_leaves_nothing_to_forgive() -> None:
    error = draw_errors(0.05, (1, 60), np.random.default_rng(3))[0]
    left = LIMIT * error * (1 + 0.1 * np.random.default_rng(4).normal(size=60))
    assert "near the limit" in note_closeness(asdict(measure_closeness(1 - left, 1 - error)), True)
    perfect = measure_closeness(np.full(9, 0.9), np.ones(9))
    assert np.isnan(perfect.forgiven)
    assert perfect.status == "distinct"
