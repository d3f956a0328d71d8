"""How often groups are called within the margin: where the true gap is at the margin, and where there is none."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from calibration.rows import Row, Topic
from tworulers.stats.families import adjust_p
from tworulers.stats.rate_margin import count_independent, p_inside
from tworulers.stats.selection import median_of_differences
from tworulers.stats.shift import p_of_margin

Floats = NDArray[np.float64]
Draw = Callable[[int, np.random.Generator], Floats]

ALPHA = 0.05
MARGIN, FAILURES = 0.02, 0.10
FAILED = 0.5
"""A score below this is a failure."""

EXAMS = 3
"""A patient, where patients have several."""


@dataclass(frozen=True)
class Design:
    """Groups whose pseudo-medians lie at `places` (in margins), each drawn from a shape with its spread."""

    name: str
    sizes: Sequence[int]
    spreads: Sequence[float]
    places: Sequence[float]
    shape: Callable[[float], Draw]
    failing: Sequence[float] = ()
    clustered: bool = False

    @property
    def limit(self) -> float:
        """Margin of failures: without any failure, one that few exams exclude, so that the shift alone decides."""
        return FAILURES if self.failing else 0.99


def normal(spread: float) -> Draw:
    """Scores around 0 with a standard deviation."""
    return lambda n, rng: rng.normal(0, spread, n)


def skewed(spread: float) -> Draw:
    """Errors that are log-normal, so that scores have a tail of worse ones."""
    return lambda n, rng: -spread * np.exp(rng.normal(0, 0.8, n))


def ceiling(spread: float) -> Draw:
    """Scores of which a third are perfect: those above a ceiling are at it."""
    return lambda n, rng: np.minimum(rng.normal(0, spread, n), 0.43 * spread)


def clustered(spread: float) -> Draw:
    """Three exams a patient, with an intraclass correlation of .6."""

    def draw(n: int, rng: np.random.Generator) -> Floats:
        own = np.repeat(rng.normal(0, np.sqrt(0.6), n // EXAMS), EXAMS)
        return spread * (own + rng.normal(0, np.sqrt(0.4), n))

    return draw


AT_MARGIN = (
    Design("normal, 38/38", (38, 38), (0.015, 0.015), (0, 1), normal),
    Design("skewed, 38/38", (38, 38), (0.01, 0.01), (0, 1), skewed),
    Design("skewed, 38/38, the other way", (38, 38), (0.01, 0.01), (0, -1), skewed),
    Design("8/60/8, one pair at the margin", (8, 60, 8), (0.004,) * 3, (0, 0.5, 1), normal),
    Design("8/60/8, skewed, two pairs at it", (8, 60, 8), (0.004,) * 3, (0, 0, 1), skewed),
    Design("8/60/8, spread 3:1:3", (8, 60, 8), (0.009, 0.003, 0.009), (0, 1, 0.5), normal),
    Design("21/29/26, spread 3:1:3", (21, 29, 26), (0.015, 0.005, 0.015), (0, 1, 0.5), normal),
    Design("8/60, spread 3:1", (8, 60), (0.009, 0.003), (0, 1), normal),
    Design("8/60, skewed, spread 1:3", (8, 60), (0.003, 0.009), (0, 1), skewed),
    Design("ceiling, 38/38", (38, 38), (0.02, 0.02), (0, 1), ceiling),
    Design("40 patients x 3 exams", (60, 60), (0.01, 0.01), (0, 1), clustered, (), True),
)
"""True gap of the pair exactly at the margin, no failures."""

FAILING = (
    Design("10 % failures in one group, 29/29", (29, 29), (0.01,) * 2, (0, 0), normal, (0, 0.1)),
    Design("10 % failures in one group, 46/46", (46, 46), (0.01,) * 2, (0, 0), normal, (0, 0.1)),
    Design("3 and 13 % failures, 200/100", (200, 100), (0.01,) * 2, (0, 0), normal, (0.03, 0.13)),
    Design(
        "10 % failures in one group, 58 patients x 3 exams, a patient's all or none",
        *((87, 87), (0.005,) * 2, (0, 0), clustered, (0, 0.1), True),
    ),
)
"""Equal medians, and failures that lie apart by their margin."""

ALIKE = Design("no gap, no failures, 38/38, SD .03", (38, 38), (0.03, 0.03), (0, 0), normal, (0, 0))


def measure_within(studies: int, rng: np.random.Generator) -> list[Row]:
    """Count the studies that call groups within, by design."""
    rows = []
    for kind, designs in (("a gap", AT_MARGIN), ("failures", FAILING)):
        for design in designs:
            share = float(np.mean(find_p(design, studies, rng) < ALPHA))
            scenario = f"true difference at the margin: {design.name}"
            rows.append(Row(scenario, f"{kind} called within", share, studies, at_most=ALPHA))
    share = float(np.mean(find_p(ALIKE, studies, rng) < ALPHA))
    rows.append(Row(ALIKE.name, "called within", share, studies, at_least=0.7))
    family = np.stack([find_p(AT_MARGIN[0], studies, rng) for _ in range(9)], axis=-1)
    share = float(np.mean((adjust_p(family, "holm") < ALPHA).any(axis=-1)))
    name = "9 tests, the true gap of each at the margin, Holm"
    return [*rows, Row(name, "any called within", share, studies, at_most=ALPHA)]


def find_p(design: Design, studies: int, rng: np.random.Generator) -> Floats:
    """Give the p of within, the largest of all pairs in scores and failures, of each study."""
    draws = [design.shape(spread) for spread in design.spreads]
    middle = [find_middle(design.shape, design.spreads[0], spread) for spread in design.spreads]
    shift = np.array(design.places) * MARGIN - np.array(middle)
    units = [
        np.arange(n) // (EXAMS if design.clustered else 1) + 1_000 * g
        for g, n in enumerate(design.sizes)
    ]
    found = np.zeros(studies)
    counts = np.zeros((studies, len(draws)))
    for study in range(studies):
        scores = [
            0.9 + draw(n, rng) + at for draw, n, at in zip(draws, design.sizes, shift, strict=True)
        ]
        for g, share in enumerate(design.failing):
            _, unit = np.unique(units[g], return_inverse=True)
            bad = (rng.random(unit.max() + 1) < share)[unit]
            scores[g] = np.where(bad, 0.3, scores[g])
        counts[study] = [np.mean(part < FAILED) for part in scores]
        for a, b in combinations(range(len(scores)), 2):
            p = p_of_margin(scores[a], scores[b], MARGIN, (units[a], units[b]))
            found[study] = max(found[study], p)
    independent = [count_independent(of) for of in units]
    for a, b in combinations(range(len(draws)), 2):
        n = np.broadcast_to([independent[a], independent[b]], (studies, 2))
        found = np.maximum(found, p_inside(counts[:, [a, b]], n, design.limit))
    return found


@cache
def find_middle(shape: Callable[[float], Draw], first: float, second: float) -> float:
    """Find the median difference of a shape at two spreads, second minus first, from many of either."""
    if first == second or shape is normal:
        return 0.0
    rng, n = np.random.default_rng(1), 20_000
    return median_of_differences(shape(second)(n, rng), shape(first)(n, rng))


TOPIC = Topic(
    "Within a margin",
    "Groups are called within where intervals of the shift (the median difference between exams of two groups) and of "
    "the difference of failure rates lie inside their margins, 2 points and 10 %, for every pair of groups. The true "
    "difference of a pair is exactly at the margin, which may be called within in 5 % of studies; the other pairs lie "
    "inside. Where there are no failures the shift alone decides. No correction but in the last row.",
    measure_within,
    2_000,
    (
        "tworulers.stats.shift",
        "tworulers.stats.rate_margin",
        "tworulers.stats.families",
    ),
)
