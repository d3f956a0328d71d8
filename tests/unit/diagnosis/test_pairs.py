import numpy as np
import pandas as pd
import pytest

from tworulers.diagnosis.pairs import group_pairs, pair_scores


def scores(values: list[float], metric: str = "hd95") -> pd.DataFrame:
    return pd.DataFrame(
        {
            "exam_id": [f"E{i}" for i in range(len(values))],
            "structure": "disc",
            "metric": metric,
            "value": values,
        }
    )


def test_pairs_keep_finite_values_and_count_the_others() -> None:
    base, other = scores([1, np.nan, 3, np.inf, 5]), scores([1, 2, np.inf, 4, 6]).sample(frac=1)
    (pair,) = pair_scores(base, other)
    assert list(pair.exams) == ["E0", "E4"]
    assert pair.base.tolist() == [1, 5]
    assert pair.other.tolist() == [1, 6]
    assert (pair.n_undefined, pair.n_infinite) == (1, 2)


def test_exams_of_one_side_only_are_named() -> None:
    with pytest.raises(ValueError, match="only in the second: exam E3, disc hd95"):
        pair_scores(scores([1, 2, 3]), scores([1, 2, 3, 4]))


def test_a_metric_without_a_direction_is_refused() -> None:
    with pytest.raises(ValueError, match="no direction is known for the metrics \\['area'\\]"):
        pair_scores(scores([1], "area"), scores([1], "area"))


def test_groups_keep_their_order_and_single_exams_are_not_assessed() -> None:
    (pair,) = pair_scores(scores([1, 2, 3, 4, 5, 6]), scores([6, 5, 4, 3, 2, 1]))
    levels = ["c", "b", "a", "empty"]
    column = pd.Categorical(["a", "a", "b", "c", "c", None], categories=levels, ordered=True)
    groups = pd.DataFrame({"g": column}, index=[f"E{i}" for i in range(6)])
    patients = pd.Series(["p", "p", "q", "r", "s", "t"], index=groups.index)
    (asked,) = group_pairs(pair, groups, patients)
    assert asked.sample.names == ("c", "a")
    assert asked.sample.codes.tolist() == [1, 1, 0, 0]
    assert asked.sample.values.tolist() == [[1, 2, 4, 5], [6, 5, 3, 2]]
    assert asked.not_assessed == "b (n 1), empty (n 0)"
    assert asked.sample.units.tolist() == [0, 0, 1, 2]
    (single,) = group_pairs(pair, groups, patients.drop("E0").reindex(groups.index, fill_value="z"))
    assert single.sample.units.tolist() == [0, 1, 2, 3]
