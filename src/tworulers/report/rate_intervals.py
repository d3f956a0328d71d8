"""The interval of a ratio of success rates that is recommended, by its measured coverage (docs/calibration.md)."""

from typing import Any, NamedTuple

import numpy as np


class Bounds(NamedTuple):
    """An interval, NaN where there is none; `drawn` where it comes from draws and not from all tables."""

    low: float
    high: float
    drawn: bool = False


def recommend_interval(ratio: Any, resampling_unit: str) -> Bounds:
    """Return the recommended interval of a ratio of success rates.

    It is the exact percentile interval; where patients have several exams, and where there are too many tables to
    enumerate, the percentile interval of the draws, which keep a patient's exams together.

    Parameters
    ----------
    ratio : a row of an audit's disparities.
    resampling_unit : `exam` or `patient`, as the audit drew.
    """
    exact = Bounds(ratio.dir_exact_percentile_low, ratio.dir_exact_percentile_high)
    if resampling_unit == "exam" and not np.isnan(exact.low):
        return exact
    return Bounds(ratio.dir_percentile_low, ratio.dir_percentile_high, True)


def name_recommended(resampling_unit: str) -> str:
    """Name the recommended interval in a heading."""
    kind = "exact percentile interval" if resampling_unit == "exam" else "percentile interval"
    return f"{kind} (recommended)"


def explain_recommended(resampling_unit: str) -> str:
    """Say what the recommended interval is drawn from."""
    if resampling_unit == "exam":
        return (
            "Exact percentile: over all success tables that these group sizes and rates can give; "
            "drawn, where those are too many."
        )
    return "Percentile: patients are drawn with all their exams, since some have several."
