"""How often tests of equal AUCs reject where the AUCs are equal, and how often intervals hold the true AUC."""

from __future__ import annotations

import numpy as np
from scipy import stats

from calibration.rows import Row, Topic
from tworulers.auc.bootstrap import bootstrap_matrices
from tworulers.auc.covariance import compute_covariance
from tworulers.auc.intervals import compare_aucs, estimate_overall
from tworulers.auc.matrix import stratify_scores
from tworulers.auc.score_type import AucEvidence, bound_difference, weigh_evidence
from tworulers.stats.interval import percentile_interval
from tworulers.stats.types import FloatArray

Sizes = tuple[int, int]

PAIRS: list[tuple[Sizes, Sizes, float]] = [
    *(((3, 200), (60, 400), auc) for auc in (0.71, 0.82, 0.90)),
    *(((5, 200), (60, 400), auc) for auc in (0.71, 0.82, 0.90)),
    *(((5, 20), (30, 100), auc) for auc in (0.76, 0.90)),
    ((7, 66), (20, 56), 0.82),
    *(((10, 30), (10, 30), auc) for auc in (0.50, 0.76, 0.90)),
    ((1, 200), (60, 400), 0.76),
    ((1, 20), (10, 30), 0.76),
    ((2, 30), (2, 30), 0.90),
    ((3, 200), (60, 400), 0.50),
    ((200, 3), (400, 60), 0.82),
    ((20, 20), (20, 20), 0.82),
    ((100, 300), (100, 300), 0.82),
]
"""Events and non-events of two groups, and the AUC that both have."""

WIDE_PAIRS: list[tuple[Sizes, Sizes, float]] = [
    ((5, 200), (60, 400), 0.82),
    ((10, 30), (10, 30), 0.76),
    ((20, 20), (20, 20), 0.82),
    ((100, 300), (100, 300), 0.82),
]

PATIENTS = ((40, 4, 0.6), (40, 3, 0.6), (16, 4, 0.6), (60, 5, 0.3))
"""Patients, rows of each, and the share of the variance of scores that is between patients."""

DRAWS = 300


def measure_pairs(studies: int, rng: np.random.Generator) -> list[Row]:
    """Measure the level of the pairwise test, of the test of all groups, and coverage with repeated patients."""
    rows = [_reject(*pair, 1.0, studies, rng, at_most=0.06) for pair in PAIRS]
    for first, second, auc in WIDE_PAIRS:
        bound = 0.06 if min(*first, *second) >= 20 else float("nan")
        rows.append(_reject(first, second, auc, 2.0, studies, rng, at_most=bound))
    rows.append(_reject_any_of_three(max(studies // 10, 20), rng))
    for patients, repeats, share in PATIENTS:
        for auc in (0.76, 0.90):
            rows += _cover(patients, repeats, share, auc, max(studies // 20, 20), rng)
    return rows


def _reject(
    first: Sizes,
    second: Sizes,
    auc: float,
    spread: float,
    studies: int,
    rng: np.random.Generator,
    *,
    at_most: float,
) -> Row:
    pair = [draw_evidence(sizes, auc, spread, studies, rng) for sizes in (first, second)]
    low, high = bound_difference(pair[0], pair[1], 0.0, 0.95)
    sizes = " and ".join(f"{events}/{others}" for events, others in (first, second))
    shape = "" if spread == 1.0 else f", events spread {spread:g} times as much"
    return Row(
        f"events/non-events {sizes}, both AUC {auc:.2f}{shape}",
        "test of the pair rejects at .05",
        float(np.mean((low > 0) | (high < 0))),
        studies,
        at_most=at_most,
    )


def draw_evidence(
    sizes: Sizes, auc: float, spread: float, studies: int, rng: np.random.Generator
) -> AucEvidence:
    """Draw normal scores of many studies, events spread so many times as much, and gather their evidence."""
    shift = np.hypot(spread, 1.0) * stats.norm.ppf(auc)
    events = rng.normal(shift, spread, (studies, sizes[0]))
    others = rng.normal(0.0, 1.0, (studies, sizes[1]))
    ranks = stats.rankdata(np.hstack([events, others]), axis=1)
    placed = (ranks[:, : sizes[0]] - stats.rankdata(events, axis=1)) / sizes[1]
    passed = 1 - (ranks[:, sizes[0] :] - stats.rankdata(others, axis=1)) / sizes[0]
    counts = tuple(np.full(studies, float(n)) for n in sizes)
    parts = tuple(
        one.var(axis=1, ddof=1) / one.shape[1]
        if one.shape[1] > 1
        else np.full(studies, float("nan"))
        for one in (placed, passed)
    )
    value: FloatArray = placed.mean(axis=1)
    both = (counts[0], counts[1])
    return weigh_evidence(
        value, both, (parts[0], parts[1]), patients=both, inflation=np.ones(studies)
    )


def _reject_any_of_three(studies: int, rng: np.random.Generator) -> Row:
    sizes = [(3, 200), (20, 100), (60, 400)]
    outcome = np.concatenate([np.repeat([1, 0], size) for size in sizes])
    group = np.repeat(["a", "b", "c"], [sum(size) for size in sizes])
    rejected = 0
    for _ in range(studies):
        score = rng.normal(np.sqrt(2) * stats.norm.ppf(0.82) * outcome)
        uncertain = compute_covariance(stratify_scores(score, outcome, group))
        own = [uncertain.matrix.coefficients(g, g) for g in range(3)]
        rejected += compare_aucs(uncertain, own)[1] < 0.05
    return Row(
        "events/non-events 3/200, 20/100 and 60/400, all AUC 0.82",
        "test of all groups rejects at .05",
        rejected / studies,
        studies,
        at_most=0.06,
    )


def _cover(
    patients: int, repeats: int, share: float, auc: float, studies: int, rng: np.random.Generator
) -> list[Row]:
    """Cover the true AUC where a patient's rows share an outcome and most of their score."""
    owner = np.repeat(np.arange(patients), repeats)
    held = {"score-type interval": 0, "bootstrap of patients": 0}
    for _ in range(studies):
        outcome = np.zeros(patients)
        outcome[rng.permutation(patients)[: int(0.4 * patients)]] = 1
        score = np.sqrt(2) * stats.norm.ppf(auc) * outcome[owner]
        score += np.sqrt(share) * rng.normal(size=patients)[owner]
        score += np.sqrt(1 - share) * rng.normal(size=len(owner))
        sample = stratify_scores(score, outcome[owner], np.full(len(owner), "all"))
        found = estimate_overall(sample, level=0.95, cluster=owner)
        held["score-type interval"] += found.low <= auc <= found.high
        drawn = bootstrap_matrices(
            sample, draws=DRAWS, seed=int(rng.integers(2**31)), cluster=owner
        )
        low, high = percentile_interval(drawn[:, 0, 0], 0.95)
        held["bootstrap of patients"] += low <= auc <= high
    bounds = {"score-type interval": (0.93, 0.97), "bootstrap of patients": (0.80, 1.0)}
    return [
        Row(
            f"{patients} patients with {repeats} rows, {share:.0%} of the variance between them, AUC {auc:.2f}",
            f"95 % {what} holds the AUC",
            count / studies,
            studies,
            *bounds[what],
        )
        for what, count in held.items()
    ]


TOPIC = Topic(
    "AUCs of groups with few events",
    "Scores are normal, in both groups with one true AUC, so that every rejection is false. The interval of an AUC is "
    "Newcombe's (2006, method 5) with the variance that it assumes moved towards the observed one; a pair is compared "
    "by MOVER (Zou and Donner 2008). Where events spread more than non-events and there are few of either, nothing in "
    "the rows can tell, and the test rejects more often: those rows are shown without a bound.",
    measure_pairs,
    10_000,
    (
        "tworulers.auc.score_type",
        "tworulers.auc.intervals",
        "tworulers.auc.covariance",
        "tworulers.auc.bootstrap",
    ),
)
