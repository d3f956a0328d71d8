"""How often the intervals of DIR and of gaps hold the truth, and how wide they are."""

import numpy as np
import pandas as pd
from scipy import stats

from tworulers.stats.differences import draw_locations, gap_interval
from tworulers.stats.groups import GroupedSample, group_medians
from tworulers.stats.rates import newcombe_interval
from tworulers.stats.resample import (
    Interval,
    UnitPatterns,
    bootstrap_interval,
    draw_tables,
    exact_interval,
    impact_ratio,
)

RATES = [
    ((38, 38), (0.97, 0.97)),
    ((45, 20), (0.95, 0.95)),
    ((45, 20), (0.95, 0.85)),
    ((38, 38), (0.95, 0.80)),
    ((100, 50), (0.95, 0.85)),
    ((66, 8), (0.97, 0.85)),
    ((21, 29, 26), (0.95, 0.95, 0.80)),
    ((38, 38), (0.70, 0.50)),
    ((200, 200), (0.90, 0.80)),
]
"""Group sizes and true success rates."""

NEGLIGIBLE = 1e-5


def calibrate_ratio(draws: int, studies: int, rng: np.random.Generator) -> pd.DataFrame:
    """Cover the true DIR: exactly for the enumerated interval of two groups, else by studies."""
    rows = []
    for sizes, rates in RATES:
        n, rate = np.array(sizes), np.array(rates)
        truth = rate.min() / rate.max()
        tables = [rng.binomial(n, rate) for _ in range(studies)]
        methods: dict[str, list[Interval]] = {"pooled": [], "exact": []}
        weights = np.full(studies, 1 / studies)
        for successes in tables:
            methods["pooled"].append(_pooled(successes, n, draws, rng))
        if len(n) == 2:
            tables, weights = _enumerate(n, rate)
        methods["exact"] = [exact_interval(successes, n) for successes in tables]
        for name, found in methods.items():
            mass = weights if name == "exact" else np.full(studies, 1 / studies)
            for kind in ("BCa", "percentile"):
                rows.append(_cover(sizes, rates, truth, f"{name} {kind}", found, mass))
    return pd.DataFrame(rows)


def _pooled(successes: np.ndarray, n: np.ndarray, draws: int, rng: np.random.Generator) -> Interval:
    eye = np.eye(len(n), dtype=np.int64)
    patterns = UnitPatterns(
        np.concatenate([eye, 0 * eye]),
        np.concatenate([eye, eye]),
        np.concatenate([successes, n - successes]),
    )
    used = patterns.count > 0
    patterns = UnitPatterns(patterns.successes[used], patterns.n[used], patterns.count[used])
    return bootstrap_interval(patterns, impact_ratio, draw_tables(patterns, draws, rng))


def _enumerate(n: np.ndarray, rate: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    mass = [stats.binom.pmf(np.arange(size + 1), size, p) for size, p in zip(n, rate, strict=True)]
    joint = np.multiply.outer(*mass)
    likely = joint > NEGLIGIBLE
    tables = [np.array(place) for place in np.argwhere(likely)]
    return tables, joint[likely] / joint[likely].sum()


def _cover(sizes, rates, truth, method, found, mass) -> dict[str, object]:
    prefix = "percentile_" if method.endswith("percentile") else ""
    low = np.array([getattr(interval, f"{prefix}low") for interval in found])
    high = np.array([getattr(interval, f"{prefix}high") for interval in found])
    degenerate = np.array([interval.degenerate for interval in found])
    inside = (low <= truth + 1e-9) & (truth - 1e-9 <= high)
    return {
        "n": " / ".join(map(str, sizes)),
        "rates": " / ".join(f"{rate:.2f}" for rate in rates),
        "true DIR": truth,
        "interval": method,
        "coverage": float(mass @ inside),
        "low above truth": float(mass @ (low > truth + 1e-9)),
        "mean width": float(mass @ (high - low)),
        "degenerate": float(mass @ degenerate),
    }


def calibrate_rate_difference() -> pd.DataFrame:
    """Cover the true difference of two rates by Newcombe's interval, exactly."""
    rows = []
    for sizes, rates in RATES:
        if len(sizes) > 2:
            continue
        tables, mass = _enumerate(np.array(sizes), np.array(rates))
        bounds = np.array([newcombe_interval(tuple(map(int, t)), sizes) for t in tables])
        truth = rates[1] - rates[0]
        inside = (bounds[:, 0] <= truth + 1e-9) & (truth - 1e-9 <= bounds[:, 1])
        rows.append(
            {
                "n": " / ".join(map(str, sizes)),
                "rates": " / ".join(f"{rate:.2f}" for rate in rates),
                "true difference": truth,
                "coverage": float(mass @ inside),
                "mean width": float(mass @ np.ptp(bounds, axis=1)),
            }
        )
    return pd.DataFrame(rows)


def calibrate_gap(draws: int, studies: int, rng: np.random.Generator) -> pd.DataFrame:
    """Cover the true difference of two locations, and the true gap over three groups."""
    rows = []
    for shape in ("normal", "left-skewed"):
        for sizes in ((38, 38), (66, 8), (21, 29, 26), (100, 100, 100)):
            for shift in (0.0, 0.8):
                at = shift * np.linspace(0, 1, len(sizes))
                found: dict[str, list[tuple[float, float]]] = {}
                for _ in range(studies):
                    sample = _sample(shape, sizes, at, rng)
                    medians, means = draw_locations(sample, draws, rng)
                    for name, drawn in (("median", medians), ("mean", means)):
                        bounds = np.quantile(drawn[:, -1] - drawn[:, 0], [0.025, 0.975])
                        found.setdefault(f"difference of {name}s", []).append(tuple(bounds))
                    gap = gap_interval(group_medians(sample), medians)
                    found.setdefault("gap of medians", []).append((gap.low, gap.high))
                for name, bounds in found.items():
                    low, high = np.array(bounds).T
                    rows.append(
                        {
                            "shape": shape,
                            "n": " / ".join(map(str, sizes)),
                            "true gap (SD)": shift,
                            "interval": name,
                            "coverage": float(np.mean((low <= shift) & (shift <= high))),
                            "mean width": float(np.mean(high - low)),
                        }
                    )
    return pd.DataFrame(rows)


def _sample(shape: str, sizes: tuple[int, ...], at: np.ndarray, rng) -> GroupedSample:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    values = draw_noise(shape, len(codes), rng) + at[codes]
    names = tuple(f"group {g}" for g in range(len(sizes)))
    patients = np.arange(len(codes))
    none = np.zeros(len(sizes), dtype=np.int64)
    return GroupedSample(values, codes, names, patients, patients, none, 0)


def draw_noise(shape: str, n: int | tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw noise of about unit spread: normal, or skewed to the left as overlap scores are."""
    noise = rng.normal(size=n)
    return noise if shape == "normal" else (1 - np.exp(0.9 * noise)) / 1.2
