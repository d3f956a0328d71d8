"""Fingerprints: cropping, the intensity sample against NumPy on the sample drawn out, JSON."""

import json
from pathlib import Path

import nibabel
import numpy as np
import pytest

from tworulers.recipe import fingerprint
from tworulers.recipe.fingerprint import (
    CaseFingerprint,
    bound,
    fill_nonzero,
    measure_case,
    pool_fingerprints,
)


def make_exam(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    image = np.zeros((2, 6, 9, 8), dtype=np.float32)
    image[0, 1:5, 2:8, 1:7] = rng.normal(100, 30, (4, 6, 6)).round()
    image[1, 1:5, 2:8, 1:7] = rng.normal(0, 1, (4, 6, 6))
    label = np.zeros(image.shape[1:], dtype=np.uint8)
    label[2:4, 3:7, 2:6] = rng.integers(0, 3, (2, 4, 4))
    return image, label


def draw_out(seeds: list[int], n: int, channel: int) -> np.ndarray:
    """The pooled sample itself, drawn as the definition says."""
    pooled = []
    for seed in seeds:
        image, label = make_exam(seed)
        stream = np.random.RandomState(1234)
        voxels = image[:, label > 0]
        pooled.append([stream.choice(values, n, replace=True) for values in voxels][channel])
    return np.concatenate(pooled).astype(np.float64)


def test_holes_belong_to_the_body() -> None:
    image = np.zeros((1, 5, 5, 5), dtype=np.float32)
    image[0, 1:4, 1:4, 1:4] = 1
    image[0, 2, 2, 2] = 0
    assert fill_nonzero(image).sum() == 27


def test_empty_image_keeps_its_whole_box() -> None:
    assert bound(np.zeros((3, 4, 5), dtype=bool)) == (slice(0, 3), slice(0, 4), slice(0, 5))


def test_shape_is_that_of_the_tight_box() -> None:
    case = measure_case(*make_exam(0), spacing=(4.0, 0.5, 0.5), n_cases=10_000)
    assert case.shape_after_crop == (4, 6, 6)
    assert case.relative_size_after_cropping == pytest.approx(144 / 432)


@pytest.mark.parametrize("channel", [0, 1])
def test_intensities_are_those_of_the_drawn_sample(
    monkeypatch: pytest.MonkeyPatch, channel: int
) -> None:
    monkeypatch.setattr(fingerprint, "SAMPLES_IN_ALL", 3 * 501)
    cases = [measure_case(*make_exam(seed), (1, 1, 1), n_cases=3) for seed in range(3)]
    found = pool_fingerprints(cases).foreground_intensity_properties_per_channel[str(channel)]
    sample = draw_out([0, 1, 2], 501, channel)
    assert found["mean"] == pytest.approx(sample.mean(), abs=1e-9)
    assert found["std"] == pytest.approx(sample.std(), rel=1e-9)
    assert (found["min"], found["max"]) == (sample.min(), sample.max())
    for name, q in (("median", 50), ("percentile_00_5", 0.5), ("percentile_99_5", 99.5)):
        assert found[name] == pytest.approx(np.percentile(sample, q), rel=1e-9)


def test_exam_without_foreground_adds_no_intensities() -> None:
    image, label = make_exam(0)
    full = measure_case(image, label, (1, 1, 1), 10_000)
    empty = measure_case(image, label * 0, (1, 1, 1), 10_000)
    assert all(len(values) == 0 for values, _ in empty.intensities)
    pooled = pool_fingerprints([full, empty])
    alone = pool_fingerprints([full])
    assert pooled.foreground_intensity_properties_per_channel == (
        alone.foreground_intensity_properties_per_channel
    )
    assert len(pooled.spacings) == 2
    with pytest.raises(ValueError, match="labels are empty"):
        pool_fingerprints([empty])


def test_bad_exams_are_refused() -> None:
    image, label = make_exam(0)
    with pytest.raises(ValueError, match="do not match"):
        measure_case(image, label[1:], (1, 1, 1), 5)
    with pytest.raises(ValueError, match="2 numbers"):
        measure_case(image, label, (1, 1), 5)
    image[0, 0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        measure_case(image, label, (1, 1, 1), 5)
    with pytest.raises(ValueError, match="at least one exam"):
        pool_fingerprints([])


@pytest.mark.parity
@pytest.mark.slow
@pytest.mark.needs_shared
def test_hippocampus_has_the_recorded_fingerprint(shared: Path) -> None:
    recorded = json.loads((shared / "reference/golden/hippocampus_plan.json").read_text())
    images = sorted(shared.glob("data/**/imagesTr/hippocampus_*.nii.gz"))
    files = [(i, Path(str(i).replace("imagesTr", "labelsTr"))) for i in images]
    files = [(i, label) for i, label in files if label.is_file()]
    cases: list[CaseFingerprint] = []
    for image, label in files:
        volume = np.asarray(nibabel.load(image).dataobj, dtype=np.float32).T
        truth = np.asarray(nibabel.load(label).dataobj).T
        cases.append(measure_case(volume[None], truth, (1, 1, 1), len(files)))
    pooled = pool_fingerprints(cases)
    assert [list(shape) for shape in pooled.shapes_after_crop] == recorded["shapes_after_crop"]
    found = pooled.foreground_intensity_properties_per_channel["0"]
    expected = recorded["fingerprint"]["foreground_intensity_properties_per_channel"]["0"]
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-5), name
