"""Counts, Dice, kappa and nDSC against golden values and worked numbers, and their properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tworulers.metrics.case import score_structure
from tworulers.metrics.known.dice import DICE
from tworulers.metrics.overlap import (
    Counts,
    count_overlap,
    normalised_dice,
    reference_fractions,
    voxel_volume,
    weigh_false_positives,
)
from tworulers.schema.settings import Audit

sizes = st.integers(1, 400)


def dice_of(counts):
    masks = np.ones((2, 2), bool), np.ones((2, 2), bool)
    return score_structure(masks, counts, (1.0, 1.0), [DICE], Audit())["dice"]


def count_all(prediction, reference, structures):
    """Count every structure of two label maps."""
    return {
        name: count_overlap(prediction == label, reference == label)
        for name, label in structures.items()
    }


def test_golden_counts_and_dice(golden):
    for case in golden.cases:
        counts = count_all(case.prediction, case.reference, case.structures)
        for label, expected in case.expected.items():
            found = counts[label]
            assert (found.tp, found.fp, found.fn) == (
                expected["tp"],
                expected["fp"],
                expected["fn"],
            ), case.name
            assert dice_of(found) == pytest.approx(expected["dice"], abs=1e-9, nan_ok=True)
            mm3 = voxel_volume(case.affine)
            assert found.reference_voxels * mm3 == pytest.approx(expected["vol_ref_mm3"], abs=1e-6)
            assert found.predicted_voxels * mm3 == pytest.approx(expected["vol_pred_mm3"], abs=1e-6)


@pytest.mark.parametrize("reading", ["fraction", "volume", "ratio"])
def test_golden_kappa_and_ndsc(golden, reading):
    for case in golden.cases:
        for label, expected in case.expected.items():
            tp, fp, fn = expected["tp"], expected["fp"], expected["fn"]
            average = (golden.mean_fraction if reading == "fraction" else golden.mean_volume_mm3)[
                label
            ]
            kappa = weigh_false_positives(
                reading, tp + fn, case.reference.size, average, voxel_mm3=voxel_volume(case.affine)
            )
            score = normalised_dice(tp, fp, fn, kappa, empty="zero")
            assert kappa[0] == pytest.approx(expected[f"kappa_{reading}"], abs=1e-9, nan_ok=True)
            assert score[0] == pytest.approx(expected[f"ndsc_{reading}"], abs=1e-9, nan_ok=True)


@pytest.mark.parametrize(
    ("tp", "fp", "fn", "r", "kappa", "ndsc"),
    [
        (38, 16, 10, 0.05, 2.111111, 0.634508),
        (38, 16, 10, 0.10, 1.0, 0.745098),
        (38, 16, 10, 0.15, 0.62963, 0.791056),
        (86, 24, 10, 0.05, 4.75, 0.581081),
        (86, 24, 10, 0.20, 1.0, 0.834951),
        (86, 24, 10, 0.15, 1.416667, 0.796296),
    ],
)
def test_worked_ndsc_numbers(tp, fp, fn, r, kappa, ndsc):
    found = weigh_false_positives("fraction_frozen", tp + fn, 480, r)
    assert found[0] == pytest.approx(kappa, abs=1e-6)
    assert normalised_dice(tp, fp, fn, found)[0] == pytest.approx(ndsc, abs=1e-6)


@pytest.mark.parametrize(
    ("fp", "empty", "expected"),
    [(54, "nan", np.nan), (54, "zero", 0.0), (0, "nan", np.nan), (0, "zero", np.nan)],
)
def test_ndsc_of_an_empty_reference(fp, empty, expected):
    kappa = weigh_false_positives("fraction", 0, 480, 0.1)
    assert normalised_dice(0, fp, 0, kappa, empty=empty)[0] == pytest.approx(expected, nan_ok=True)


@given(tp=sizes, fp=sizes, fn=sizes)
def test_ndsc_is_dice_at_the_reference_fraction(tp, fp, fn):
    kappa = weigh_false_positives("fraction", tp + fn, 1500, (tp + fn) / 1500)
    dice = dice_of(Counts(tp, fp, fn, 1500))
    assert normalised_dice(tp, fp, fn, kappa)[0] == pytest.approx(dice, abs=1e-12)


@given(tp=sizes, fn=sizes, r=st.floats(0.01, 0.9))
def test_ndsc_is_dice_where_voxels_are_only_missed(tp, fn, r):
    kappa = weigh_false_positives("fraction", tp + fn, 1500, r)
    assert normalised_dice(tp, 0, fn, kappa)[0] == pytest.approx(
        dice_of(Counts(tp, 0, fn, 1500)), abs=1e-12
    )


@given(tp=sizes, fp=sizes, fn=sizes)
def test_false_positives_cost_more_in_larger_structures(tp, fp, fn):
    kappa = weigh_false_positives("fraction", [50, 100, 200], 1500, 100 / 1500)
    assert kappa[0] < kappa[1] < kappa[2]
    assert kappa[1] == pytest.approx(1, abs=1e-12)
    scores = normalised_dice(tp, fp, fn, kappa)
    assert scores[0] > scores[1] > scores[2]


@given(tp=sizes, fp=sizes, fn=sizes)
def test_dice_is_symmetric_and_ndsc_is_not(tp, fp, fn):
    assert dice_of(Counts(tp, fp, fn, 1500)) == dice_of(Counts(tp, fn, fp, 1500))
    forth = normalised_dice(tp, fp, fn, weigh_false_positives("fraction", tp + fn, 1500, 0.1))
    back = normalised_dice(tp, fn, fp, weigh_false_positives("fraction", tp + fp, 1500, 0.1))
    assert (abs(forth - back) < 1e-12).all() == (fp == fn)


def test_padding_lowers_kappa_of_the_fraction_and_leaves_the_ratio():
    small, padded = (
        weigh_false_positives("fraction", 90, voxels, 0.05)[0] for voxels in (1000, 2000)
    )
    assert padded < small
    small, padded = (weigh_false_positives("ratio", 90, voxels, 60.0)[0] for voxels in (1000, 2000))
    assert small == padded == pytest.approx(1.5)


def test_volume_equals_fraction_where_all_fields_of_view_are_alike():
    voxels = np.array([40, 90, 200])
    mean = voxels.mean()
    np.testing.assert_allclose(
        weigh_false_positives("volume", voxels, 1000, mean * 0.25, voxel_mm3=0.25),
        weigh_false_positives("fraction", voxels, 1000, mean / 1000),
        rtol=1e-12,
    )


@pytest.mark.parametrize("average", [0.0, 1.0, -0.1])
def test_an_impossible_average_is_refused(average):
    with pytest.raises(ValueError, match=r"exam e1: .* on average"):
        weigh_false_positives("fraction", [10], [100], average, exams=["e1"])


def test_a_reference_that_fills_its_image_costs_its_own_ndsc_alone():
    kappa = weigh_false_positives("fraction", [100, 10, 50], [100, 100, 50], 0.2)
    assert np.isnan(kappa).tolist() == [True, False, True]
    assert np.isnan(normalised_dice([100, 8], [0, 1], [0, 2], kappa[:2])).tolist() == [True, False]


def test_an_absent_structure_needs_no_average():
    assert np.isnan(weigh_false_positives("fraction", [0, 0], 100, 0.0)).all()
    assert np.isnan(weigh_false_positives("ratio", [0], 100, 0.0)).all()


def test_fractions_are_means_over_exams_with_absent_ones_as_zero():
    assert reference_fractions({"vb": [(10, 100), (0, 100), (60, 200)]}) == {
        "vb": pytest.approx(0.4 / 3)
    }


def test_volume_of_a_sheared_voxel():
    affine = np.array([[0.5, 0.05, 0, 0], [0, 0.5, 0, 0], [0, 0, 4, 0], [0, 0, 0, 1.0]])
    assert voxel_volume(affine) == pytest.approx(1.0)
    assert voxel_volume(np.diag([-0.5, 0.5, 4, 1])) == pytest.approx(1.0)


def test_other_labels_count_as_background():
    reference = np.array([[0, 1, 2, 255]])
    prediction = np.array([[1, 1, 7, 2]], dtype=np.int64)
    counts = count_all(prediction, reference, {"vb": 1, "disc": 2})
    assert counts == {"vb": Counts(1, 1, 0, 4), "disc": Counts(0, 1, 1, 4)}


def test_two_grids_are_refused_with_both_shapes():
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(3, 2\)"):
        count_overlap(np.zeros((2, 3), bool), np.zeros((3, 2), bool))
