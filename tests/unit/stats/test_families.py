"""Benjamini-Hochberg over families, against the published adjusted p-values and statsmodels."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from tworulers.stats.families import adjust_family, adjust_rows

P = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def test_published_families(battery_golden: dict[str, Any]) -> None:
    for family in battery_golden["paper_fdr"].values():
        raw, adjusted = np.array(family).T
        found = adjust_family(raw)
        assert found.size == 63
        assert np.abs(found.adjusted - adjusted).max() < 1e-12


def test_undefined_tests_stay_undefined_and_are_not_counted() -> None:
    nan = np.nan
    found = adjust_family(np.array([0.004, 0.03, nan, 0.2, 0.012, nan, 0.7, 0.012]))
    expected = [0.024, 0.045, nan, 0.24, 0.024, nan, 0.7, 0.024]
    assert np.allclose(found.adjusted, expected, equal_nan=True)
    assert found.size == 6
    assert found.missing == (2, 5)


@given(P)
def test_adjusted_p_agree_with_statsmodels_and_are_monotone(p: list[float]) -> None:
    raw = np.array(p)
    for method, name in (("bh", "fdr_bh"), ("by", "fdr_by")):
        found = adjust_family(raw, method).adjusted  # type: ignore[arg-type]
        assert np.allclose(found, multipletests(raw, method=name)[1], atol=1e-12)
        assert (found >= raw - 1e-12).all()
        assert (np.diff(found[np.argsort(raw)]) >= -1e-12).all()


@given(P, P)
def test_rows_are_families_of_their_own(first: list[float], second: list[float]) -> None:
    width = max(len(first), len(second))
    table = np.full((2, width), np.nan)
    table[0, : len(first)], table[1, width - len(second) :] = first, second
    found = adjust_rows(table)
    for row, adjusted in zip(table, found, strict=True):
        assert np.allclose(adjusted, adjust_family(row).adjusted, equal_nan=True, atol=1e-12)


def test_a_family_without_a_test() -> None:
    found = adjust_family(np.array([np.nan]))
    assert found.size == 0
    assert np.isnan(found.adjusted).all()


def test_impossible_p_is_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.5 at position 1"):
        adjust_family(np.array([0.1, 1.5]))
