"""Adjustment of p-values for the number of tests asked together."""

from typing import Literal

import numpy as np
import pandas as pd

from tworulers.stats.types import FloatArray


def adjust_p(p: FloatArray, method: Literal["bh", "holm", "bonferroni"] = "bh") -> FloatArray:
    """Adjust p-values over the last axis; NaN is a test that could not be computed, not counted.

    Parameters
    ----------
    p : raw p-values, shape (..., tests).
    method : `bh` controls the false discovery rate (Benjamini and Hochberg 1995), `holm` (1979) and
        `bonferroni` the chance of any false discovery.

    Raises
    ------
    ValueError : where a p-value lies outside 0 to 1.
    """
    p = np.asarray(p, dtype=np.float64)
    if ((p < 0) | (p > 1)).any():
        outside = np.argwhere((p < 0) | (p > 1))[0]
        raise ValueError(f"p-value {p[tuple(outside)]} at position {outside[-1]}: expected 0 to 1")
    size = (~np.isnan(p)).sum(axis=-1, keepdims=True)
    rank = np.arange(1, p.shape[-1] + 1)
    order = np.argsort(p, axis=-1)  # NaN sorts last
    ordered = np.take_along_axis(p, order, axis=-1)
    if method == "bh":
        scaled = np.where(np.isnan(ordered), np.inf, ordered * (size / rank))
        scaled = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1]
    else:
        scaled = ordered * (np.maximum(size - rank + 1, 1) if method == "holm" else size)
        scaled = np.maximum.accumulate(scaled, axis=-1)
    scaled = np.where(np.isnan(ordered), np.nan, np.minimum(scaled, 1.0))
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, scaled, axis=-1)
    return adjusted


def adjust_within(p: pd.Series, families: pd.Series) -> FloatArray:
    """Adjust each p-value within its family (Benjamini-Hochberg), shape (n,)."""
    adjusted = np.full(len(p), np.nan)
    for rows in families.groupby(families).indices.values():
        adjusted[rows] = adjust_p(p.to_numpy(dtype=float)[rows])
    return adjusted
