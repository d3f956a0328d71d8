"""One set of permutations for several scores: the p that each would have alone, within chance."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tworulers.stats.draw import named_stream
from tworulers.stats.groups import GroupedSample, group_sample
from tworulers.stats.permute import p_of_ranks
from tworulers.stats.permute_together import p_of_ranks_together

DRAWS = 10_000


def make_samples(patients: np.ndarray, groups: np.ndarray) -> list[GroupedSample]:
    """Three scores that follow the groups not at all, somewhat, and in steps."""
    rng = np.random.default_rng(4)
    person = rng.normal(size=patients.max() + 1)[patients]
    noise = person + rng.normal(size=len(patients))
    scores = (rng.normal(size=len(patients)), noise + 0.3 * groups, np.round(noise + 0.2 * groups))
    named = pd.Series(pd.Categorical.from_codes(groups, ["a", "b", "c"], ordered=True))
    return [group_sample(values, named, patients, patients) for values in scores]


@pytest.mark.parametrize("kept", ["one exam each", "labels of patients", "labels within patients"])
def test_each_p_is_that_of_the_score_alone(kept: str) -> None:
    rng = np.random.default_rng(1)
    patients = np.arange(120) if kept == "one exam each" else rng.integers(0, 45, 120)
    patients = np.unique(patients, return_inverse=True)[1]
    groups = rng.integers(0, 3, 120)
    if kept == "labels of patients":
        groups = groups[patients]
    samples = make_samples(patients, groups)
    found = p_of_ranks_together(samples, DRAWS, named_stream(0, "together"))
    alone = [p_of_ranks(sample, DRAWS, named_stream(0, "alone")) for sample in samples]
    error = np.sqrt(2 * np.array(alone) * (1 - np.array(alone)) / DRAWS)
    assert (np.abs(found - alone) <= 4 * error).all()
    assert (found == p_of_ranks_together(samples, DRAWS, named_stream(0, "together"))).all()


def test_a_score_more_does_not_move_another() -> None:
    samples = make_samples(np.arange(90), np.arange(90) % 3)
    every = p_of_ranks_together(samples, 500, named_stream(0, "together"))
    last = p_of_ranks_together(samples[2:], 500, named_stream(0, "together"))
    assert last == every[2:]


def test_golden_p(e2_table: pd.DataFrame, battery_golden: dict[str, Any]) -> None:
    bins = pd.cut(e2_table["age"].fillna(90), [0, 40, 60, 200], right=False)
    rulers = battery_golden["rulers"]
    samples = [group_sample(e2_table[f"{ruler}_dice_macro"].to_numpy(), bins) for ruler in rulers]
    found = p_of_ranks_together(samples, DRAWS, named_stream(0, "rulers"))
    expected = [golden["permutation"]["p_H"] for golden in rulers.values()]
    assert found == pytest.approx(expected, abs=0.01)


def test_no_variation_gives_one_and_other_exams_are_refused() -> None:
    samples = make_samples(np.arange(90), np.arange(90) % 3)
    flat = group_sample(
        np.ones(90), pd.Series(pd.Categorical.from_codes(np.arange(90) % 3, list("abc")))
    )
    assert p_of_ranks_together([flat], 99, named_stream(0, "flat")) == [1.0]
    with pytest.raises(ValueError, match="same exams"):
        p_of_ranks_together([samples[0], samples[1].at_least(31)], 99, named_stream(0, "other"))
