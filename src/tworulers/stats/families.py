"""Which tests are corrected together, and what their p-values become."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Family:
    """A family of tests after correction.

    Attributes
    ----------
    adjusted : adjusted p in the order given, shape (n,); NaN where the test could not be computed.
    size : how many tests could be computed, the m of the correction.
    missing : positions of the tests that could not.
    """

    adjusted: FloatArray
    size: int
    missing: tuple[int, ...]


def adjust_family(p: FloatArray, method: Literal["bh", "by"] = "bh") -> Family:
    """Control the false discovery rate over the tests of a family that could be computed.

    Parameters
    ----------
    p : raw p-values, shape (n,); NaN is a test that could not be computed and is not counted.
    method : `bh` (Benjamini and Hochberg 1995) or `by` (Benjamini and Yekutieli 2001, under any
        dependence).

    Raises
    ------
    ValueError : where a p-value lies outside 0 to 1.
    """
    p = np.asarray(p, dtype=np.float64)
    valid = ~np.isnan(p)
    outside = np.flatnonzero(valid & ((p < 0) | (p > 1)))
    if len(outside):
        raise ValueError(f"p-value {p[outside[0]]} at position {outside[0]}: expected 0 to 1")
    adjusted = np.full(len(p), np.nan)
    if valid.any():
        adjusted[valid] = stats.false_discovery_control(p[valid], method=method)
    return Family(adjusted, int(valid.sum()), tuple(int(i) for i in np.flatnonzero(~valid)))


def adjust_rows(p: FloatArray) -> FloatArray:
    """Adjust every row as a family of its own (Benjamini-Hochberg); NaN takes no part.

    Parameters
    ----------
    p : raw p-values, shape (draws, tests).
    """
    size = (~np.isnan(p)).sum(axis=1, keepdims=True)
    order = np.argsort(p, axis=1)  # NaN sorts last
    ordered = np.take_along_axis(p, order, axis=1)
    scaled = ordered * size / np.arange(1, p.shape[1] + 1)
    scaled = np.where(np.isnan(scaled), np.inf, scaled)
    stepped = np.minimum(np.minimum.accumulate(scaled[:, ::-1], axis=1)[:, ::-1], 1.0)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.where(np.isnan(ordered), np.nan, stepped), axis=1)
    return adjusted
