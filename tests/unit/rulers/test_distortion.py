import numpy as np
import pytest
from scipy import ndimage

from tworulers.rulers.distortion import distort_label, draw_field
from tworulers.schema.settings import Distortion

SPACING = (2.0, 1.0, 1.0)


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


def ball(radius_mm: float = 14.0) -> np.ndarray:
    grid = np.stack(np.meshgrid(*[np.arange(n) for n in (26, 52, 52)], indexing="ij"), -1)
    away = (grid - np.array([13, 26, 26])) * np.array(SPACING)
    return (np.linalg.norm(away, axis=-1) <= radius_mm).astype(np.uint8)


def radius(mask: np.ndarray) -> float:
    return float((np.count_nonzero(mask) * np.prod(SPACING) * 3 / (4 * np.pi)) ** (1 / 3))


def discs() -> np.ndarray:
    label = np.zeros((12, 60, 20), dtype=np.uint8)
    for i in range(6):
        label[2:10, 4 + 9 * i : 9 + 9 * i, 4:16] = 1 + i % 2
    return label


@pytest.mark.parametrize("amount", [-2.0, -0.6, 0.6, 2.0])
def test_the_radius_of_a_ball_changes_by_the_stated_amount(amount) -> None:
    found = [
        radius(distort_label(ball(), SPACING, Distortion(dilate_mm=amount), rng(seed)))
        for seed in range(4)
    ]
    assert np.mean(found) - radius(ball()) == pytest.approx(amount, abs=0.35)


def test_boundary_noise_moves_the_boundary_both_ways_by_about_its_size() -> None:
    label = ball()
    drawn = distort_label(label, SPACING, Distortion(boundary_noise_mm=1.5), rng())
    depth = ndimage.distance_transform_edt(label, sampling=SPACING)
    reach = ndimage.distance_transform_edt(label == 0, sampling=SPACING)
    lost, gained = depth[(label == 1) & (drawn == 0)], reach[(label == 0) & (drawn == 1)]
    assert min(len(lost), len(gained)) > 100
    assert 1.0 < np.quantile(np.concatenate([lost, gained]), 0.95) < 4.5
    assert radius(drawn) == pytest.approx(radius(label), abs=0.7)


def test_components_are_missed_whole_at_the_stated_share() -> None:
    label = discs()
    components = ndimage.label(label)[0]
    missed = 0
    for seed in range(60):
        drawn = distort_label(label, SPACING, Distortion(missed_share=0.3), rng(seed))
        kept = [np.unique(drawn[components == c] != 0) for c in range(1, 7)]
        assert all(len(values) == 1 for values in kept)
        missed += sum(not values[0] for values in kept)
    assert missed / 360 == pytest.approx(0.3, abs=0.08)


def test_a_dilated_component_that_is_missed_leaves_no_rim() -> None:
    drawn = distort_label(discs(), SPACING, Distortion(dilate_mm=1.0, missed_share=1.0), rng())
    assert not drawn.any()


def test_structures_keep_their_labels_and_do_not_grow_into_each_other() -> None:
    label = discs()
    label[2:10, 9, 4:16] = 2  # touches the first disc
    drawn = distort_label(label, SPACING, Distortion(dilate_mm=1.5), rng())
    assert (drawn[label != 0] == label[label != 0]).all()
    assert set(np.unique(drawn)) == {0, 1, 2}
    assert drawn.dtype == label.dtype


def test_nothing_stated_changes_nothing_and_one_seed_gives_one_map() -> None:
    label = discs()
    assert (distort_label(label, SPACING, Distortion(), rng()) == label).all()
    noisy = Distortion(boundary_noise_mm=1.0)
    first, again = (distort_label(label, SPACING, noisy, rng(1)) for _ in range(2))
    assert (first == again).all()
    assert (first != distort_label(label, SPACING, noisy, rng(2))).any()


def test_memory_order_changes_nothing() -> None:
    label, strong = discs(), Distortion(dilate_mm=-1.2, boundary_noise_mm=0.5)
    expected = distort_label(label, SPACING, strong, rng())
    assert (distort_label(np.asfortranarray(label), SPACING, strong, rng()) == expected).all()


def test_the_random_field_has_unit_variance_and_its_length() -> None:
    field = np.stack([draw_field((12, 40, 40), SPACING, rng(seed)) for seed in range(12)])
    assert field.std() == pytest.approx(1.0, abs=0.06)
    near = np.mean(field * np.roll(field, 1, axis=-1))
    far = np.mean(field * np.roll(field, 12, axis=-1))
    assert near > 0.9
    assert abs(far) < 0.15


def test_impossible_amounts_are_listed_together() -> None:
    wrong = Distortion(missed_share=1.2, boundary_noise_mm=-1)
    with pytest.raises(ValueError, match=r"(?s)spacing.*missed_share 1.2.*boundary_noise_mm -1"):
        distort_label(discs(), (1.0, 1.0), wrong, rng())
