"""Largest components as recorded from nnU-Net, and the two decisions made by cross-validation."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from tworulers.recipe.clean import (
    CleanUp,
    choose_configuration,
    decide_cleanup,
    dice_of,
    force_cleanup,
    keep_largest_component,
    mean_dice,
)

GOLDEN = json.loads(
    gzip.decompress(
        (Path(__file__).parents[2] / "golden" / "nnunet_postprocess.json.gz").read_bytes()
    )
)


def draw(*spans: tuple[int, int, int], length: int = 30) -> np.ndarray:
    """A one-row volume with label `value` from `start` to `stop` for each span."""
    label = np.zeros((1, 1, length), dtype=np.uint8)
    for value, start, stop in spans:
        label[..., start:stop] = value
    return label


@pytest.mark.parity
@pytest.mark.parametrize(
    ("labels", "name"),
    [((1, 2), "foreground_wide"), ((1,), "class_1_only"), ((2,), "class_2_only")],
)
def test_largest_component_is_as_recorded(labels: tuple[int, ...], name: str) -> None:
    label = np.array(GOLDEN["input"], dtype=np.uint8)
    before = label.copy()
    np.testing.assert_array_equal(keep_largest_component(label, labels), GOLDEN[name])
    np.testing.assert_array_equal(label, before)


@pytest.mark.parity
def test_components_that_tie_all_stay() -> None:
    tied = np.array(GOLDEN["tie_input"], dtype=np.uint8)
    np.testing.assert_array_equal(keep_largest_component(tied, (1,)), GOLDEN["tie_output"])


def test_empty_prediction_stays_empty() -> None:
    assert not keep_largest_component(np.zeros((2, 3, 4), np.uint8), (1,)).any()


def test_corners_join_in_the_plane_too() -> None:
    label = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0]], dtype=np.uint8)
    np.testing.assert_array_equal(keep_largest_component(label, (1,)), label)


def test_whole_foreground_is_adopted_when_no_structure_loses() -> None:
    reference = draw((1, 0, 6), (2, 6, 10))
    predicted = draw((1, 0, 6), (2, 6, 10), (1, 20, 23), (2, 26, 28))
    cleanup = decide_cleanup([(predicted, reference)] * 2, (1, 2))
    assert cleanup.steps == ((1, 2),)
    np.testing.assert_array_equal(cleanup.apply(predicted), reference)
    assert "whole foreground: Dice 0.8000 without, 1.0000 with, adopted" in cleanup.reason


def test_structures_that_lie_apart_are_cleaned_one_by_one() -> None:
    reference = draw((1, 0, 6), (2, 12, 16))
    predicted = draw((1, 0, 6), (2, 12, 16), (2, 20, 22))
    cleanup = decide_cleanup([(predicted, reference)], (1, 2))
    # Keeping one component of the whole foreground would lose structure 2.
    assert cleanup.steps == ((2,),)
    assert "whole foreground" in cleanup.reason
    assert "label 1: Dice 1.0000 without, 1.0000 with, not adopted" in cleanup.reason
    np.testing.assert_array_equal(cleanup.apply(predicted), reference)


def test_whole_foreground_is_not_adopted_at_the_cost_of_a_structure() -> None:
    reference = draw((1, 0, 8), (2, 20, 22))
    predicted = draw((1, 0, 8), (1, 10, 16), (2, 20, 22), (2, 26, 27))
    assert (1, 2) not in decide_cleanup([(predicted, reference)], (1, 2)).steps


def test_one_structure_is_decided_once() -> None:
    cleanup = decide_cleanup([(draw((1, 0, 6), (1, 9, 11)), draw((1, 0, 6)))], (1,))
    assert cleanup.steps == ((1,),)


def test_forced_cleanup_asks_nobody() -> None:
    assert force_cleanup((1, 2)).steps == ((1, 2),)
    label = draw((1, 0, 2))
    assert CleanUp((), "").apply(label) is label


def test_exams_with_background_alone_decide_nothing() -> None:
    cleanup = decide_cleanup([(draw(), draw())], (1, 2))
    assert cleanup.steps == ()
    assert "Dice nan without" in cleanup.reason


def test_exams_must_be_readable_twice() -> None:
    exam = (draw((1, 0, 2)), draw((1, 0, 2)))
    with pytest.raises(ValueError, match="not a generator"):
        decide_cleanup(iter([exam]), (1,))
    with pytest.raises(ValueError, match="no exams"):
        decide_cleanup([], (1,))


def test_dice_is_undefined_where_a_structure_is_in_neither_map() -> None:
    dices = np.stack(
        [
            dice_of(draw((1, 0, 4)), draw((1, 2, 6)), (1, 2, 3)),
            dice_of(draw((2, 0, 1)), draw(), (1, 2, 3)),
        ]
    )
    np.testing.assert_array_equal(dices, [[0.5, np.nan, np.nan], [np.nan, 0.0, np.nan]])
    np.testing.assert_array_equal(mean_dice(dices), [0.5, 0.0, np.nan])


def test_highest_dice_wins() -> None:
    choice = choose_configuration(
        {("2d",): 0.80, ("2d", "3d_fullres"): 0.86, ("3d_fullres",): 0.85}
    )
    assert choice.members == ("2d", "3d_fullres")
    assert choice.reason == (
        "the highest cross-validated foreground Dice of "
        "2d 0.8000, 3d_fullres 0.8500, 2d + 3d_fullres 0.8600"
    )


def test_single_configuration_wins_a_tie() -> None:
    choice = choose_configuration({("2d", "3d_fullres"): 0.85, ("3d_fullres",): 0.85})
    assert choice.members == ("3d_fullres",)
    assert "tied" in choice.reason


def test_undefined_scores_are_not_chosen() -> None:
    assert choose_configuration({("2d",): np.nan, ("3d_fullres",): 0.1}).members == ("3d_fullres",)
    with pytest.raises(ValueError, match="nothing to choose"):
        choose_configuration({("2d",): np.nan})
