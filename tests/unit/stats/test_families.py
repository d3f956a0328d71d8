"""Benjamini-Hochberg over families, against the published adjusted p-values and statsmodels."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from tworulers.stats.families import adjust_p, adjust_within

P = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def test_published_families(battery_golden: dict[str, Any]) -> None:
    for family in battery_golden["paper_fdr"].values():
        raw, adjusted = np.array(family).T
        assert len(raw) == 63
        assert np.abs(adjust_p(raw) - adjusted).max() < 1e-12


def test_undefined_tests_stay_undefined_and_are_not_counted() -> None:
    nan = np.nan
    found = adjust_p(np.array([0.004, 0.03, nan, 0.2, 0.012, nan, 0.7, 0.012]))
    expected = [0.024, 0.045, nan, 0.24, 0.024, nan, 0.7, 0.024]
    assert np.allclose(found, expected, equal_nan=True)


@pytest.mark.slow
@given(P)
def test_adjusted_p_agree_with_statsmodels_and_are_monotone(p: list[float]) -> None:
    raw = np.array(p)
    for method, name in (("bh", "fdr_bh"), ("holm", "holm"), ("bonferroni", "bonferroni")):
        found = adjust_p(raw, method)  # type: ignore[arg-type]
        assert np.allclose(found, multipletests(raw, method=name)[1], atol=1e-12)
        assert (found >= raw - 1e-12).all()
        assert (np.diff(found[np.argsort(raw)]) >= -1e-12).all()


@given(P, P)
def test_rows_are_families_of_their_own(first: list[float], second: list[float]) -> None:
    width = max(len(first), len(second))
    table = np.full((2, width), np.nan)
    table[0, : len(first)], table[1, width - len(second) :] = first, second
    found = adjust_p(table)
    for row, adjusted in zip(table, found, strict=True):
        assert np.allclose(adjusted, adjust_p(row), equal_nan=True, atol=1e-12)


def test_every_family_is_adjusted_on_its_own() -> None:
    p, families = pd.Series([0.01, 0.5, 0.04, np.nan]), pd.Series(["a", "b", "a", "b"])
    assert np.allclose(adjust_within(p, families), [0.02, 0.5, 0.04, np.nan], equal_nan=True)


def test_a_family_without_a_test() -> None:
    assert np.isnan(adjust_p(np.array([np.nan]))).all()


def test_impossible_p_is_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.5 at position 1"):
        adjust_p(np.array([0.1, 1.5]))
