"""Patch areas against the table of the surface-distance package, patterns against plain loops."""

import numpy as np
import pytest
from surface_distance import lookup_tables

from tworulers.metrics.patches import corner_patterns, patch_areas


def published_areas(spacing: tuple[float, ...]) -> np.ndarray:
    """The package's table, put into our order of bits."""
    if len(spacing) == 2:
        table = lookup_tables.create_table_neighbour_code_to_contour_length(spacing)
        weights = lookup_tables.ENCODE_NEIGHBOURHOOD_2D_KERNEL.ravel()
    else:
        table = lookup_tables.create_table_neighbour_code_to_surface_area(spacing)
        weights = lookup_tables.ENCODE_NEIGHBOURHOOD_3D_KERNEL.ravel()
    bits = np.arange(len(table))[:, None] >> np.arange(len(weights)) & 1
    return table[bits @ weights]


@pytest.mark.parametrize(
    "spacing", [(1, 1, 1), (4, 0.53, 0.53), (0.3, 2.7, 1.1), (1, 1), (3.3, 0.7)]
)
def test_every_pattern_has_the_published_area(spacing):
    np.testing.assert_allclose(patch_areas(spacing), published_areas(spacing), atol=1e-12)


def test_a_flat_side_has_the_area_of_the_voxel_face():
    areas = patch_areas((2.0, 3.0, 5.0))
    assert areas[0b00001111] == pytest.approx(15)  # the first axis is cut
    assert areas[0b00110011] == pytest.approx(10)
    assert areas[0b01010101] == pytest.approx(6)
    assert areas[0] == areas[255] == 0


@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 4, 3), (4, 6)])
def test_patterns_list_the_voxels_around_each_corner(shape):
    mask = np.random.default_rng(3).random(shape) < 0.5
    patterns = corner_patterns(mask)
    padded = np.pad(mask, 1)
    assert patterns.shape == tuple(side + 1 for side in shape)
    for corner in np.ndindex(patterns.shape):
        block = padded[tuple(slice(i, i + 2) for i in corner)]
        expected = sum(
            int(block[voxel]) << bit for bit, voxel in enumerate(np.ndindex(block.shape))
        )
        assert patterns[corner] == expected
