"""How many exams would answer a test that cannot be answered now, were gaps and spreads as seen."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy import special

from tworulers.battery.questions import TOO_FEW
from tworulers.schema.settings import Audit
from tworulers.schema.tables import pack_names
from tworulers.stats.groups import GroupedSample
from tworulers.stats.rate_margin import bound_difference
from tworulers.stats.types import Row

POWER = 0.8
"""Share of studies that should have an answer."""

MOST = 1_000_000
"""Exams of all groups above which no number is given."""


def find_needed(
    sample: GroupedSample, test: Row, pairs: pd.DataFrame, levels: Sequence[float], settings: Audit
) -> Row:
    """Find the exams at which 80 % of studies would find a difference, or groups within the margin.

    By normal approximation: shifts and failure rates are those seen, the test's noncentrality what is seen beyond
    chance, and errors shrink with the root of the number of exams. The chance that every pair is inside is at least one
    minus the sum of the others. A gap that comes out large is found, one that comes out small is inside, so that few
    studies have neither; failures come out on their own.

    Parameters
    ----------
    sample : the groups; their proportions are kept, and none stays under `min_group`.
    test : its row: `p_verdict`, and why it cannot be within.
    pairs : of its groups, as `within.measure_pairs` gives them; without rows where none was asked.
    levels : of the test, and of every bound: those of the strictest step of their corrections.
    settings : least group.

    Returns
    -------
    `n_needed` over all groups and `n_needed_groups`, a JSON list in the order of `groups`, or NaN and
    `n_needed_because`.
    """
    sizes = sample.sizes[sample.sizes > 0]
    nothing: Row = {"n_needed": np.nan, "n_needed_groups": None}
    if len(sizes) < 2:
        return nothing | {"n_needed_because": "fewer than two groups have exams"}
    if sizes.min() < TOO_FEW or np.isnan(test["p_verdict"]):
        return nothing | {"n_needed_because": "the spread is not known"}
    reason = test["within_undefined_because"] or ""
    may_be_within = len(pairs) > 0 and (not reason or reason.startswith("group under"))
    differs = _power_of_test(float(test["p_verdict"]), len(sizes) - 1, levels[0])
    inside = _power_of_pairs(pairs, levels[1]) if may_be_within else None

    def answers(scale: float) -> bool:
        found, (shifts, failures) = differs(scale), inside(scale) if inside else (0.0, 0.0)
        neither = max(0.0, 1 - found - shifts) + (1 - failures) * min(1 - found, shifts)
        return 1 - neither >= POWER

    scale = _search(answers, max(1.0, settings.min_group / sizes.min()), MOST / sizes.sum())
    if scale is None:
        why = "neither is shown" if inside else f"within {reason or 'undefined'}; no difference"
        return nothing | {"n_needed_because": f"{why} up to {MOST:,} exams"}
    needed = np.ceil(sizes * scale - 1e-9).astype(int)
    return {"n_needed": float(needed.sum()), "n_needed_groups": pack_names(needed)} | {
        "n_needed_because": None
    }


def _power_of_test(p: float, freedom: int, level: float) -> Callable[[float], float]:
    """Power of a rank test at a multiple of its exams: noncentral chi squared, as far from the centre as seen."""
    seen = special.chdtri(freedom, max(p, 1e-300))
    beyond, bound = max(float(seen) - freedom, 0.0), float(special.chdtri(freedom, level))
    return lambda scale: float(1 - special.chndtr(bound, freedom, beyond * scale))


def _power_of_pairs(pairs: pd.DataFrame, level: float) -> Callable[[float], tuple[float, float]]:
    """Least chance that all shifts, and that all differences of failures, are inside, at a multiple of the exams."""
    z = -float(special.ndtri(level))
    wide = -float(special.ndtri((1 - float(pairs["level"].iloc[0])) / 2))
    shift, margin = (pairs[name].to_numpy(dtype=float) for name in ("shift", "margin"))
    error = (pairs["shift_high"] - pairs["shift_low"]).to_numpy(dtype=float) / (2 * wide)
    n, failed = (
        pairs[[f"{name}_a", f"{name}_b"]].to_numpy(dtype=float) for name in ("n", "failures")
    )
    alone = pairs[["independent_a", "independent_b"]].to_numpy(dtype=float)
    rates, limit = failed / n, pairs["failure_margin"].to_numpy(dtype=float)

    def chance(scale: float) -> tuple[float, float]:
        spread = np.maximum(error / np.sqrt(scale), 1e-12)
        shifts = sum(special.ndtr((margin - side * shift) / spread - z) for side in (1, -1)) - 1
        low, high = bound_difference(rates, alone * scale, level)
        noise = np.sqrt((rates * (1 - rates) / (alone * scale)).sum(axis=1))
        noise = np.maximum(noise, 1e-12)
        failures = special.ndtr((limit - high) / noise) + special.ndtr((limit + low) / noise) - 1
        both = (1 - float(np.sum(1 - part)) for part in (shifts, failures))
        first, second = (max(part, 0.0) if np.isfinite(part) else 0.0 for part in both)
        return first, second

    return chance


def _search(reached: Callable[[float], bool], least: float, most: float) -> float | None:
    """Return the least multiple that reaches something, by doubling and halving; None where none does."""
    if least > most:
        return None
    low = high = least
    while not reached(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
