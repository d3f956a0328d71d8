"""Fusing: folds as logits, configurations as probabilities, geometry back, confidence."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

from tworulers.recipe.fuse import agree, average, fuse_exam, measure_confidence, take_largest
from tworulers.recipe.preprocess import Geometry


def geometry(shape: tuple[int, ...] = (3, 4, 5)) -> Geometry:
    """A crop inside a larger exam whose axes were stored in another order, not resampled."""
    return Geometry(
        spacing=(3.0, 1.0, 1.0),
        target=(3.0, 1.0, 1.0),
        full_shape=(5, 6, 8),
        box=((1, 4), (0, 4), (2, 7)),
        shape=shape,
        transpose_forward=(2, 0, 1),
    )


@pytest.fixture
def folds() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(3, 3, 4, 5)).astype(np.float32) for _ in range(3)]


def test_largest_is_argmax_and_the_first_on_ties() -> None:
    scores = np.random.default_rng(0).integers(0, 3, (4, 5, 6, 7)).astype(np.float32)
    np.testing.assert_array_equal(take_largest(scores), scores.argmax(0))


def test_average_takes_arrays_one_at_a_time_and_leaves_them_alone(folds: list[np.ndarray]) -> None:
    before = [fold.copy() for fold in folds]
    np.testing.assert_allclose(average(iter(folds)), np.mean(before, axis=0), rtol=1e-6)
    np.testing.assert_array_equal(folds[0], before[0])
    with pytest.raises(ValueError, match="nothing to average"):
        average([])


def test_folds_average_logits_and_configurations_average_probabilities(
    folds: list[np.ndarray],
) -> None:
    exam = fuse_exam(
        {"2d": folds[:2], "3d_fullres": folds[2:]},
        {"2d": geometry(), "3d_fullres": geometry()},
        (1, 2),
    )
    p = (softmax((folds[0] + folds[1]) / 2, axis=0) + softmax(folds[2], axis=0)) / 2
    expected = np.zeros((5, 6, 8), dtype=np.uint8)
    expected[1:4, 0:4, 2:7] = p.argmax(0)
    # Stored axes: transposed axis 0 is stored axis 2.
    np.testing.assert_array_equal(exam.label_map, expected.transpose(1, 2, 0))
    assert exam.label_map.dtype == np.uint8
    foreground = p[:, p.argmax(0) > 0]
    assert exam.confidence.mean_top_probability == pytest.approx(foreground.max(0).mean(), rel=1e-5)
    entropy = stats.entropy(foreground, axis=0).mean()
    assert exam.confidence.mean_entropy == pytest.approx(entropy, rel=1e-5)
    assert 0 < exam.confidence.disagreement < 1


def test_identical_folds_agree(folds: list[np.ndarray]) -> None:
    exam = fuse_exam({"2d": [folds[0]] * 3}, {"2d": geometry()}, (1, 2))
    assert exam.confidence.disagreement == 0
    assert exam.confidence.undefined_because == ""


def test_one_network_cannot_disagree(folds: list[np.ndarray]) -> None:
    confidence = fuse_exam({"2d": folds[:1]}, {"2d": geometry()}, (1, 2)).confidence
    assert np.isnan(confidence.disagreement)
    assert confidence.undefined_because == "fewer than two members"


def test_exam_predicted_empty_has_no_confidence() -> None:
    logits = np.zeros((3, 3, 4, 5), dtype=np.float32)
    logits[0] = 9
    confidence = fuse_exam({"2d": [logits] * 2}, {"2d": geometry()}, (1, 2)).confidence
    assert np.isnan([confidence.mean_top_probability, confidence.mean_entropy]).all()
    assert confidence.undefined_because == "no foreground predicted; all members empty"


def test_certain_prediction_has_no_entropy() -> None:
    p = np.zeros((2, 1, 1, 4))
    p[1] = 1
    confidence = measure_confidence(p, np.ones((1, 1, 4), np.uint8))
    assert (confidence.mean_top_probability, confidence.mean_entropy) == (1.0, 0.0)


def test_agreement_is_the_mean_dice_of_every_pair() -> None:
    a = np.array([1, 1, 2, 0], dtype=np.uint8)
    b = np.array([1, 0, 2, 2], dtype=np.uint8)
    c = np.array([0, 0, 2, 2], dtype=np.uint8)
    # a-b: 2/3 and 2/3; a-c: 0 and 2/3; b-c: 0 and 1. Structure 3 is nowhere.
    np.testing.assert_allclose(agree([a, b, c], (1, 2, 3)), [2 / 3, 1 / 3, 1 / 2])
    assert np.isnan(agree([a * 0, a * 0], (1, 2))).all()


def test_what_cannot_be_fused_is_listed(folds: list[np.ndarray]) -> None:
    with pytest.raises(ValueError, match=r"2d has no fold; .*3d_fullres has no geometry"):
        fuse_exam({"2d": [], "3d_fullres": folds}, {"2d": geometry()}, (1, 2))
    with pytest.raises(ValueError, match="no configuration"):
        fuse_exam({}, {}, (1,))
