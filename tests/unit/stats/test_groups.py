"""Group summaries and the sample they start from."""

import numpy as np
import pandas as pd
import pytest

from tworulers.stats.groups import (
    GroupedSample,
    group_means,
    group_medians,
    group_sample,
    order_quantiles,
    spread_of,
    summarise_groups,
)


def categories(labels: list[str | None], order: list[str]) -> pd.Series:
    return pd.Series(pd.Categorical(labels, order, ordered=True), name="race")


def test_sample_counts_undefined_and_left_out() -> None:
    values = np.array([0.9, np.nan, 0.8, 0.7, np.nan])
    sample = group_sample(values, categories(["b", "a", "a", None, None], ["b", "a", "empty"]))
    assert sample.names == ("b", "a", "empty")
    assert sample.sizes.tolist() == [1, 1, 0]
    assert sample.n_undefined.tolist() == [0, 1, 0]
    assert sample.n_left_out == 2


def test_sample_refuses_groups_without_an_order() -> None:
    with pytest.raises(TypeError, match="'race' has type"):
        group_sample(np.zeros(2), pd.Series(["a", "b"], name="race"))


def test_infinite_scores_rank_but_have_no_mean() -> None:
    values = np.array([1.0, np.inf, 3.0, 2.0, np.inf, np.inf])
    sample = group_sample(values, categories(["a", "a", "a", "a", "b", "b"], ["a", "b"]))
    first, second = summarise_groups(sample)
    assert (first["mean"], first["sd"], first["n_infinite"]) == (2.0, 1.0, 1)
    assert first["median"] == 2.5
    assert first["maximum"] == np.inf
    assert np.isnan(second["mean"])
    assert second["median"] == np.inf
    assert group_medians(sample).tolist() == [2.5, np.inf]
    assert group_means(sample)[0] == 2.0
    assert np.isnan(spread_of(group_medians(sample)))


def test_one_exam_has_no_sd_and_none_has_nothing() -> None:
    sample = group_sample(np.array([0.5]), categories(["a"], ["a", "b"]))
    one, none = summarise_groups(sample)
    assert np.isnan(one["sd"])
    assert one["median"] == 0.5
    assert none["n"] == 0
    assert np.isnan(none["median"])


def test_quantiles_agree_with_numpy_where_finite() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 8):
        values, shares = rng.normal(size=n), np.array([0, 0.1, 0.25, 0.5, 0.9, 1])
        assert np.allclose(order_quantiles(values, shares), np.quantile(values, shares))


def test_keep_renumbers_and_counts_who_is_out() -> None:
    sample = group_sample(np.arange(4.0), categories(["a", "b", "c", "c"], ["a", "b", "c"]))
    kept = sample.keep([0, 2])
    assert isinstance(kept, GroupedSample)
    assert kept.names == ("a", "c")
    assert kept.codes.tolist() == [0, 1, 1]
    assert kept.n_left_out == 1
