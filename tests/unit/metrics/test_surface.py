"""Surface scores against golden values, surface-distance, MONAI, plain loops; their properties."""

import numpy as np
import pytest
import surface_distance
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import ndimage

from tworulers.metrics.case import score_structure
from tworulers.metrics.known.hd95 import weighted_percentile
from tworulers.metrics.overlap import count_overlap
from tworulers.metrics.registry import METRICS
from tworulers.schema.metric import BORDER, ELEMENTS
from tworulers.schema.settings import Audit

SURFACE_METRICS = [name for name, one in METRICS.items() if one.needs in (ELEMENTS, BORDER)]
masks = hnp.arrays(bool, (5, 4, 6))
SPACING = (0.5, 0.5, 4.0)
DEFINITIONS = {
    "hd95": "hd95_surfel",
    "hd95_voxel": "hd95_directed_max",
    "hd95_pooled": "hd95_pooled",
}


def score_surfaces(prediction, reference, spacing, metrics, tolerance_mm=1.0):
    counts = count_overlap(prediction, reference)
    asked = [METRICS[name] for name in metrics]
    settings_ = Audit(surface_tolerance_mm=tolerance_mm)
    return score_structure((prediction, reference), counts, spacing, asked, settings_)


def hd95(*masks_and_spacing):
    return score_surfaces(*masks_and_spacing, ["hd95"])["hd95"]


def hd95_voxel(*masks_and_spacing):
    return score_surfaces(*masks_and_spacing, ["hd95_voxel"])["hd95_voxel"]


def place(*corners: tuple[int, int, int], size=(4, 6, 3), shape=(8, 10, 6)) -> np.ndarray:
    """Blocks in an 8 x 10 x 6 grid, by their lowest corners."""
    mask = np.zeros(shape, bool)
    for corner in corners:
        mask[tuple(slice(i, i + side) for i, side in zip(corner, size, strict=True))] = True
    return mask


def blobs(seed: int, shape: tuple[int, ...], change: float) -> tuple[np.ndarray, np.ndarray]:
    """A smooth random mask, and another like it."""
    rng = np.random.default_rng(seed)
    base, noise = (ndimage.gaussian_filter(rng.normal(size=shape), 1.5) for _ in range(2))
    return base > 0.02, base + change * noise > 0.02


def test_golden_distances(golden):
    for case in golden.cases:
        for label, expected in case.expected.items():
            found = score_surfaces(
                case.prediction == int(label),
                case.reference == int(label),
                np.diag(case.affine)[:3],
                list(DEFINITIONS),
            )
            for metric, key in DEFINITIONS.items():
                assert found[metric] == pytest.approx(expected[key], abs=1e-9, nan_ok=True), (
                    case.name
                )


def test_recorded_monai_values(golden):
    """MONAI 1.6.1, HausdorffDistanceMetric(percentile=95), in float32; empty masks apart."""
    for case in golden.cases:
        for label, expected in case.expected.items():
            if np.isfinite(expected["monai_hd95"]):
                masks = case.prediction == int(label), case.reference == int(label)
                assert hd95_voxel(*masks, np.diag(case.affine)[:3]) == pytest.approx(
                    expected["monai_hd95"], abs=2e-6
                )


@pytest.mark.parametrize("shape", [(12, 14, 10), (9, 11, 1), (1, 8, 13), (14, 16)])
@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_the_surface_distance_package(shape, seed):
    prediction, reference = blobs(seed, shape, change=0.4)
    spacing = np.random.default_rng(seed).uniform(0.4, 3.5, len(shape))
    theirs = surface_distance.compute_surface_distances(reference, prediction, spacing)
    ours = score_surfaces(prediction, reference, spacing, SURFACE_METRICS, tolerance_mm=1.3)
    assert ours["hd95"] == pytest.approx(
        surface_distance.compute_robust_hausdorff(theirs, 95), abs=1e-9
    )
    assert ours["surface_dice"] == pytest.approx(
        surface_distance.compute_surface_dice_at_tolerance(theirs, 1.3), abs=1e-9
    )
    means = surface_distance.compute_average_surface_distance(theirs)
    areas = theirs["surfel_areas_gt"].sum(), theirs["surfel_areas_pred"].sum()
    assert ours["mean_surface_distance"] == pytest.approx(
        np.average(means, weights=areas), abs=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_monai(seed):
    torch = pytest.importorskip("torch")
    metrics = pytest.importorskip("monai.metrics")
    prediction, reference = blobs(seed, (12, 14, 10), change=0.4)
    spacing = (4.0, 0.53, 0.7)
    batch = [torch.from_numpy(mask)[None, None].float() for mask in (prediction, reference)]
    theirs = metrics.compute_hausdorff_distance(*batch, True, percentile=95, spacing=spacing)
    assert hd95_voxel(prediction, reference, spacing) == pytest.approx(float(theirs), abs=1e-5)


@pytest.mark.parametrize("metric", ["hd95_voxel", "hd95_pooled"])
@pytest.mark.parametrize("seed", range(4))
def test_border_voxels_by_plain_loops(metric, seed):
    prediction, reference = blobs(seed, (5, 6, 4), change=0.8)
    assert prediction.any()
    assert reference.any()
    borders = []
    for mask in (prediction, reference):
        padded = np.pad(mask, 1)
        steps = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
        borders.append(
            [
                np.array(voxel) * SPACING
                for voxel in np.argwhere(mask)
                if not all(padded[tuple(voxel + 1 + step)] for step in steps)
            ]
        )
    forth = [min(np.linalg.norm(a - b) for b in borders[1]) for a in borders[0]]
    back = [min(np.linalg.norm(a - b) for a in borders[0]) for b in borders[1]]
    expected = (
        np.percentile(forth + back, 95)
        if metric == "hd95_pooled"
        else max(np.percentile(forth, 95), np.percentile(back, 95))
    )
    assert score_surfaces(prediction, reference, SPACING, [metric])[metric] == pytest.approx(
        expected
    )


def test_three_definitions_of_one_exam():
    """A block, and a prediction with a bite out of it and four voxels far away."""
    reference = place((1, 1, 1), size=(3, 8, 2))
    prediction = place((1, 1, 1), size=(2, 8, 2)) | place((3, 4, 1), size=(1, 5, 2))
    prediction[[6, 6, 7, 7], [8, 9, 8, 9], [4, 5, 5, 5]] = True
    found = score_surfaces(prediction, reference, SPACING, list(DEFINITIONS))
    assert found == pytest.approx(
        {"hd95": 12.041595, "hd95_voxel": 11.112641, "hd95_pooled": 0.5}, abs=1e-5
    )


@pytest.mark.parametrize("measure", [hd95, hd95_voxel])
@pytest.mark.parametrize(
    ("moved_to", "expected"),
    [((1, 2, 0), 0.0), ((1, 2, 1), 4.0), ((2, 2, 0), 0.5), ((3, 2, 0), 1.0)],
)
def test_a_shift_is_measured_in_mm_along_its_own_axis(measure, moved_to, expected):
    """One slice of 4 mm, and one or two voxels of 0.5 mm in the plane."""
    assert measure(place(moved_to), place((1, 2, 0)), SPACING) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", SURFACE_METRICS)
def test_empty_masks(metric):
    full, empty = place((1, 2, 0)), np.zeros((8, 10, 6), bool)
    one_missing = 0.0 if metric == "surface_dice" else np.inf
    assert score_surfaces(full, empty, SPACING, [metric]) == {metric: one_missing}
    assert score_surfaces(empty, full, SPACING, [metric]) == {metric: one_missing}
    assert np.isnan(score_surfaces(empty, empty, SPACING, [metric])[metric])


@pytest.mark.parametrize("metric", SURFACE_METRICS)
@given(a=masks, b=masks)
@settings(max_examples=40, deadline=None)
def test_symmetric(metric, a, b):
    forth, back = (score_surfaces(*pair, SPACING, [metric])[metric] for pair in ((a, b), (b, a)))
    assert forth == pytest.approx(back, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("metric", SURFACE_METRICS)
@given(a=masks, b=masks)
@settings(max_examples=40, deadline=None)
def test_unchanged_by_padding_and_by_turning_the_axes(metric, a, b):
    expected = score_surfaces(a, b, SPACING, [metric])[metric]
    padded = score_surfaces(
        np.pad(a, ((2, 0), (1, 3), (0, 1))), np.pad(b, ((2, 0), (1, 3), (0, 1))), SPACING, [metric]
    )
    turned = score_surfaces(
        a.transpose(2, 0, 1)[::-1], b.transpose(2, 0, 1)[::-1], (4.0, 0.5, 0.5), [metric]
    )
    assert padded[metric] == pytest.approx(expected, rel=1e-12, nan_ok=True)
    assert turned[metric] == pytest.approx(expected, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("metric", SURFACE_METRICS)
@given(a=masks, b=masks, factor=st.floats(0.1, 10))
@settings(max_examples=40, deadline=None)
def test_scales_with_the_spacing(metric, a, b, factor):
    assume(a.any() and b.any())
    scaled = tuple(side * factor for side in SPACING)
    found = score_surfaces(a, b, scaled, [metric], tolerance_mm=1.1 * factor)[metric]
    expected = score_surfaces(a, b, SPACING, [metric], tolerance_mm=1.1)[metric]
    assert found == pytest.approx(
        expected if metric == "surface_dice" else expected * factor, rel=1e-9
    )


@pytest.mark.parametrize("count", [20, 40, 60, 80, 100])
@pytest.mark.parametrize("area", [0.1, 0.3, 0.7, 1 / 3, 0.53])
def test_a_tie_at_95_percent_is_not_decided_by_rounding(count, area):
    """The first 95 % of equal elements reach the share, whichever way their sum is rounded."""
    near = count * 95 // 100
    distances = np.repeat([1.0, 9.0], [near, count - near])
    assert weighted_percentile(distances, np.full(count, area)) == 1.0
