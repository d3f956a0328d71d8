"""Synthetic exams: anatomy by sex and age, separate streams, geometry, the calibrated expert."""

from dataclasses import replace

import nibabel as nib
import numpy as np
import pytest
from scipy import ndimage, stats

from tworulers.phantom.anatomy import BODY, DISC, draw_anatomy
from tworulers.phantom.exams import make_exam
from tworulers.phantom.people import draw_people
from tworulers.phantom.randomness import open_stream, smooth_field
from tworulers.phantom.shape import voxel_centres
from tworulers.schema.phantom_settings import Phantom

SETTINGS = Phantom(patients=62, gold_patients=24, exams=65)


def dice(first, second):
    return 2 * (first & second).sum() / (first.sum() + second.sum())


@pytest.fixture(scope="module")
def people():
    exams = draw_people(SETTINGS)
    return exams[exams["shape"] == "10x120x72"].reset_index(drop=True)


@pytest.fixture(scope="module")
def made(people):
    return [make_exam(row, SETTINGS) for row in people.to_dict("records")]


@pytest.fixture(scope="module")
def volumes(made):
    return np.array([[(exam.truth == kind).sum() for kind in (BODY, DISC)] for exam in made])


def test_arrays_are_integers_of_the_configured_grid(made):
    for exam in made[:3]:
        assert exam.image.shape == exam.truth.shape == exam.expert.shape == (10, 120, 72)
        assert exam.image.dtype == np.int16
        assert exam.truth.dtype == exam.expert.dtype == np.uint8
        assert set(np.unique(exam.truth)) == set(np.unique(exam.expert)) == {0, BODY, DISC}
        assert exam.image.min() >= 0
        assert len(np.unique(exam.image)) > 200


def test_the_affine_says_left_down_back_with_the_spacing_and_the_centre_at_the_origin(made):
    affine = made[0].affine
    assert nib.aff2axcodes(affine) == ("L", "I", "P")
    np.testing.assert_allclose(np.linalg.norm(affine[:3, :3], axis=0), [4, 1.25, 1.25])
    np.testing.assert_allclose(affine @ [4.5, 59.5, 35.5, 1], [0, 0, 0, 1], atol=1e-12)


def test_the_canal_lies_behind_the_bodies_and_is_brighter(made):
    for exam in made[:5]:
        middle = exam.truth[5] == BODY
        rows = np.flatnonzero(middle.any(axis=1))[10:-10]
        last = 71 - np.argmax(middle[rows][:, ::-1], axis=1)
        behind = np.array(
            [
                exam.image[5, row, end + 2 : end + 6].max()
                for row, end in zip(rows, last, strict=True)
            ]
        )
        assert (last < 60).all()
        assert np.median(behind) > 1.2 * np.median(exam.image[5][middle])


def test_truth_has_seven_bodies_with_a_disc_between_each_pair(people, made):
    for row, exam in zip(people.to_dict("records"), made, strict=True):
        if row["age"] < 40:
            assert ndimage.label(ndimage.binary_erosion(exam.truth == BODY))[1] >= 7
            assert ndimage.label(exam.truth == DISC)[1] == 6


def test_structures_lie_within_the_volume(made):
    touching = [exam.truth[:, [0, -1]].any() or exam.truth[:, :, [0, -1]].any() for exam in made]
    assert np.mean(touching) < 0.05


def test_labels_are_where_the_image_shows_the_structures(people, made):
    contrasts = []
    for exam in made:
        body = exam.truth == BODY
        shell = ndimage.binary_dilation(exam.truth > 0) & (exam.truth == 0)
        contrasts.append(np.median(exam.image[body]) / np.median(exam.image[shell]))
    young = (people["age"] < 40).to_numpy()
    assert min(contrasts) > 1.05
    assert np.median(np.array(contrasts)[young]) > 1.5


def test_age_lowers_contrast_only_through_its_knob(people):
    old = people[people["age"] > 75].iloc[0]
    with_effect = make_exam(old, SETTINGS)
    without = make_exam(old, replace(SETTINGS, age_contrast=0.0))
    np.testing.assert_array_equal(with_effect.truth, without.truth)
    np.testing.assert_array_equal(with_effect.expert, without.expert)
    disc = ndimage.binary_erosion(without.truth == DISC)
    assert np.median(without.image[disc]) > 1.1 * np.median(with_effect.image[disc])


def test_men_are_larger_by_the_published_ratio():
    def mean_volume(male):
        drawn = [draw_anatomy(male, 50.0, np.random.default_rng(seed)) for seed in range(400)]
        return np.mean([(a.height_mm * a.depth_mm * a.width_mm).sum() for a in drawn])

    assert mean_volume(True) / mean_volume(False) == pytest.approx(1.23, abs=0.03)


def test_real_sizes_in_millilitres(volumes):
    bodies, discs = (volumes * 4 * 1.25 * 1.25 / 1000).mean(axis=0)
    assert 25 < bodies < 32
    assert 7 < discs < 11


def test_bodies_grow_and_discs_stay_with_age():
    ages = np.repeat(np.linspace(20, 90, 15), 40)
    drawn = [draw_anatomy(False, age, np.random.default_rng(i)) for i, age in enumerate(ages)]
    volume = np.array([a.height_mm * a.depth_mm * a.width_mm for a in drawn])
    kind = drawn[0].kind
    assert stats.spearmanr(ages, volume[:, kind == BODY].sum(axis=1)).statistic > 0.1
    assert abs(stats.spearmanr(ages, volume[:, kind == DISC].sum(axis=1)).statistic) < 0.15
    wear = [
        np.mean(
            [a.wear.mean() for a, age in zip(drawn, ages, strict=True) if low <= age < low + 20]
        )
        for low in (20, 70)
    ]
    assert wear[0] < 0.1 < 0.4 < wear[1]


def test_an_exam_depends_on_nothing_but_its_row_and_the_settings(people):
    first, second = (
        make_exam(people.iloc[4], SETTINGS),
        make_exam(people.to_dict("records")[4], SETTINGS),
    )
    for name in ("image", "truth", "expert"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_another_expert_seed_changes_the_expert_alone(people):
    first = make_exam(people.iloc[0], SETTINGS)
    second = make_exam(people.iloc[0], replace(SETTINGS, expert_seed=1))
    np.testing.assert_array_equal(first.image, second.image)
    np.testing.assert_array_equal(first.truth, second.truth)
    assert (first.expert != second.expert).any()


def test_expert_slips_are_unrelated_to_the_image(people, made):
    excess = [int((exam.expert > 0).sum()) - int((exam.truth > 0).sum()) for exam in made]
    again = [
        int((make_exam(row, replace(SETTINGS, expert_seed=9)).expert > 0).sum())
        - int((exam.truth > 0).sum())
        for row, exam in zip(people.to_dict("records"), made, strict=True)
    ]
    assert abs(stats.spearmanr(excess, again).statistic) < 0.3
    assert abs(stats.spearmanr(excess, [exam.image.mean() for exam in made]).statistic) < 0.3


def test_a_patients_two_exams_share_the_anatomy_and_not_the_scan(people, made, volumes):
    pairs = [
        rows.to_list() for _, rows in people.groupby("patient_id").groups.items() if len(rows) == 2
    ]
    assert len(pairs) == 3
    for first, second in pairs:
        assert (made[first].truth != made[second].truth).any()
        assert volumes[first].sum() == pytest.approx(volumes[second].sum(), rel=0.04)
    spread = volumes.sum(axis=1).std() / volumes.sum(axis=1).mean()
    assert spread > 0.08


def test_experts_are_as_good_and_as_uneven_as_calibrated(made):
    scores = np.array(
        [
            np.mean([dice(exam.truth == kind, exam.expert == kind) for kind in (BODY, DISC)])
            for exam in made
        ]
    )
    assert scores.mean() == pytest.approx(0.90, abs=0.025)
    assert 0.03 < scores.std() < 0.08


def test_a_careful_expert_agrees_with_truth(people):
    careful = replace(SETTINGS, expert_offset_mm=0.0, expert_sloppiness_mm=0.0)
    exam = make_exam(people.iloc[0], careful)
    np.testing.assert_array_equal(exam.expert, exam.truth)


def test_the_cap_bounds_the_worst_expert(people):
    wild = replace(SETTINGS, expert_offset_mm=0.0, expert_sloppiness_mm=50.0)
    mild = replace(wild, expert_sloppiness_cap_mm=0.1)
    wrong = [
        (make_exam(people.iloc[0], s).expert != make_exam(people.iloc[0], s).truth).mean()
        for s in (wild, mild)
    ]
    assert wrong[0] > 5 * wrong[1] > 0


@pytest.mark.parametrize(
    ("shape", "spacing"), [([16, 32, 32], [2.5, 4.7, 2.8]), ([6, 256, 200], [4, 0.6, 0.5])]
)
def test_sizes_in_millimetres_do_not_depend_on_the_grid(shape, spacing):
    grid = replace(SETTINGS, shape=shape, spacing=spacing)
    row, reference = draw_people(grid).iloc[0], draw_people(SETTINGS).iloc[0]
    ratio = [
        (make_exam(row, grid).truth == kind).sum()
        * np.prod(spacing)
        / ((make_exam(reference, SETTINGS).truth == kind).sum() * 4 * 1.25 * 1.25)
        for kind in (BODY, DISC)
    ]
    np.testing.assert_allclose(ratio, 1, atol=0.12)


def test_the_localizer_has_its_own_geometry():
    exams = draw_people(SETTINGS)
    localizer = exams[exams["shape"] != "10x120x72"].iloc[0]
    exam = make_exam(localizer, SETTINGS)
    assert exam.image.shape == (56, 120, 72)
    assert np.linalg.norm(exam.affine[:3, 0]) == 1.0
    assert (exam.truth == BODY).any()


def test_a_volume_that_misses_the_spine_is_still_made():
    tiny = replace(SETTINGS, shape=[1, 1, 1], spacing=[1.0, 1.0, 1.0])
    assert make_exam(draw_people(tiny).iloc[0], tiny).image.shape == (1, 1, 1)


def test_smooth_fields_have_unit_variance_between_lattice_points_too():
    axes = voxel_centres((12, 40, 30), (1.0, 1.0, 1.0))
    fields = np.stack([smooth_field(axes, 5.0, open_stream(0, "test", i)) for i in range(300)])
    np.testing.assert_allclose(fields.std(axis=0).mean(axis=(1, 2)), 1, atol=0.05)
    assert abs(fields.mean()) < 0.02
    beside = (fields[:, :, 1:] * fields[:, :, :-1]).mean()
    apart = (fields[:, :, 20:] * fields[:, :, :-20]).mean()
    assert beside > 0.85
    assert abs(apart) < 0.05
