"""How often the intervals of DIR and of gaps hold the truth, and how wide they are."""

import numpy as np
from scipy import stats

from calibration.rows import Row, Topic
from tworulers.battery.differences import draw_locations, gap_interval
from tworulers.stats.groups import GroupedSample
from tworulers.stats.interval import Interval
from tworulers.stats.rates import impact_ratio, newcombe_intervals
from tworulers.stats.resample import (
    UnitPatterns,
    bootstrap_interval,
    draw_tables,
    exact_interval,
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


DRAWS = 1_000
"""Of a bootstrap in a simulated study."""


def measure(studies: int, rng: np.random.Generator) -> list[Row]:
    """Cover true ratios and differences of rates, differences of locations, and gaps."""
    return [
        *cover_ratio(DRAWS, studies, rng),
        *cover_rate_difference(),
        *cover_locations(DRAWS, studies, rng),
    ]


def cover_ratio(draws: int, studies: int, rng: np.random.Generator) -> list[Row]:
    """Cover the true DIR: exactly for the enumerated interval of two groups, else by studies."""
    rows = []
    for sizes, rates in RATES:
        n, rate = np.array(sizes), np.array(rates)
        truth = rate.min() / rate.max()
        tables = [rng.binomial(n, rate) for _ in range(studies)]
        pooled = [_pooled(successes, n, draws, rng) for successes in tables]
        weights = np.full(studies, 1 / studies)
        many = 0
        if len(n) == 2:
            tables, weights = _enumerate(n, rate)
            many = EXACT
        exact = [exact_interval(successes, n) for successes in tables]
        uniform = np.full(studies, 1 / studies)
        for name, found, mass, count in (
            ("pooled", pooled, uniform, studies),
            ("exact", exact, weights, many or studies),
        ):
            for kind in ("BCa", "percentile"):
                promised = name == "exact" and kind == "percentile" and min(sizes) >= ENOUGH
                share = _cover(found, kind, mass, truth)
                scenario = f"{_join(sizes)} exams, rates {_join(rates)}, true DIR {truth:.3f}"
                bound = 0.93 if promised and truth < 1 else np.nan
                rows.append(Row(scenario, f"{name} {kind} interval holds it", share, count, bound))
    return rows


EXACT = 1_000_000
"""Stands for the number of studies where every table was enumerated, so that there is no error of simulation."""

ENOUGH = 15
"""Exams a group from which the recommended interval of DIR is promised to hold."""


def _join(values: tuple[float, ...]) -> str:
    return " / ".join(f"{value:g}" for value in values)


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


def _cover(found: list[Interval], kind: str, mass: np.ndarray, truth: float) -> float:
    prefix = "percentile_" if kind == "percentile" else ""
    low, high = (
        np.array([getattr(interval, f"{prefix}{side}") for interval in found])
        for side in ("low", "high")
    )
    return float(mass @ ((low <= truth + 1e-9) & (truth - 1e-9 <= high)))


def cover_rate_difference() -> list[Row]:
    """Cover the true difference of two rates by Newcombe's interval, exactly."""
    rows = []
    for sizes, rates in RATES:
        if len(sizes) > 2:
            continue
        tables, mass = _enumerate(np.array(sizes), np.array(rates))
        first = np.arange(0, 2 * len(tables), 2)
        counts = np.tile(sizes, len(tables))
        low, high = newcombe_intervals(np.ravel(tables), counts, first, first + 1)
        truth = rates[1] - rates[0]
        share = float(mass @ ((low <= truth + 1e-9) & (truth - 1e-9 <= high)))
        scenario = f"{_join(sizes)} exams, rates {_join(rates)}"
        rows.append(Row(scenario, "Newcombe's interval holds the difference", share, EXACT, 0.93))
    return rows


def cover_locations(draws: int, studies: int, rng: np.random.Generator) -> list[Row]:
    """Cover the true difference of two locations, and the true gap over three groups."""
    rows = []
    for shape in ("normal", "left-skewed"):
        for sizes in ((38, 38), (66, 8), (21, 29, 26), (100, 100, 100)):
            for shift in (0.0, 0.8):
                at = shift * np.linspace(0, 1, len(sizes))
                held: dict[str, int] = {}
                for _ in range(studies):
                    medians, means = draw_locations(_sample(shape, sizes, at, rng), draws, rng)
                    bounds = {
                        f"difference of {name}s": np.quantile(
                            drawn[:, -1] - drawn[:, 0], [0.025, 0.975]
                        )
                        for name, drawn in (("median", medians), ("mean", means))
                    } | {"gap of medians": gap_interval(medians)}
                    for name, (low, high) in bounds.items():
                        held[name] = held.get(name, 0) + int(low <= shift <= high)
                scenario = f"{_join(sizes)} exams, {shape}, true difference {shift:g} SD"
                rows += [
                    Row(
                        scenario,
                        f"interval of the {name} holds it",
                        count / studies,
                        studies,
                        0.93 if name == "difference of medians" else np.nan,
                    )
                    for name, count in held.items()
                ]
    return rows


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


TOPIC = Topic(
    title="Intervals of rates, locations and gaps",
    introduction="`pooled` draws exams over the whole set, as the published audit did; `exact` enumerates all tables "
    "with group sizes fixed, and its coverage for two groups is itself enumerated, as is that of Newcombe's interval. "
    "Where the true DIR is 1 no coverage is claimed: a minimum over a maximum cannot straddle its own bound. With a "
    f"group below {ENOUGH} exams no interval of DIR holds, and the difference of rates is the one to read. A gap of "
    "medians is never negative, so that its interval cannot hold 0: it is a size, not a test. Means of a small group "
    "with a long tail do not hold their level; differences of medians do.",
    measure=measure,
    studies=400,
    measured=(
        "tworulers.battery.differences",
        "tworulers.stats.interval",
        "tworulers.stats.rates",
        "tworulers.stats.resample",
    ),
)
