"""What is printed of few experts' labels and many machine labels, where a few exams fail badly."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from calibration.rows import Row, Topic
from tworulers.diagnosis.anchored_means import anchor_groups, anchor_mean
from tworulers.diagnosis.failures import rate_failures, rate_groups
from tworulers.diagnosis.few_labels import FewLabels
from tworulers.metrics.known.dice import DICE
from tworulers.stats.gaffke import bound_mean

MORE = 200
"""Exams with a silver score alone."""

THRESHOLD, COVERS, WIDEST = 0.8, 0.93, 1.5
WEIGHT_DRAWS = 2_000
BEFORE = "mean of all, anchored by t (no longer printed)"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Population:
    """Where scores come from.

    `draw` gives (patients, exams a patient) of both scores from a number of patients; `fails` is the share of exams
    not above the threshold, `rest` the mean of the others and `whole` that of all, by the expert's label.
    """

    name: str
    draw: Callable[[int, np.random.Generator], tuple[Floats, Floats]]
    fails: float
    rest: float
    whole: float
    contaminated: bool = True


def measure_anchored(studies: int, rng: np.random.Generator) -> list[Row]:
    """Cover the failure rate, the mean of the rest and the mean of all, over populations and numbers of gold exams.

    Parameters
    ----------
    studies : of each cell.
    rng : source of chance.
    """
    rows: list[Row] = []
    for population in list_populations():
        for n in (15, 30, 60):
            rows += _cover(population, n, MORE, studies, rng)
    for n in (15, 30, 60):
        rows += _cover_gaps((_mix(0.6), _mix(0.6, share=0.1)), n, studies, rng)
    for likeness in (0.0, 1.0):
        rows += _cover(_mix(0.6, exams=3, likeness=likeness), 40, 40, studies, rng)
    return rows


def list_populations() -> list[Population]:
    """List a tight bulk with and without failures, seen by the machine or not, and log-normal shapes."""
    found = [_mix(rho, sees=sees) for rho in (0.6, 0.9) for sees in (0.0, 0.5, 1.0)]
    found += [_mix(rho, share=0.0) for rho in (0.6, 0.9)]
    return found + [_skew(sigma, rho) for sigma in (0.3, 0.6, 0.9) for rho in (0.6, 0.9)]


def _cover(
    population: Population, n: int, more: int, studies: int, rng: np.random.Generator
) -> list[Row]:
    """Count what holds the truth; `n` and `more` are patients with and without a gold label."""
    inside: dict[str, list[bool]] = {}
    ratios = []
    for _ in range(studies):
        gold, silver = population.draw(n + more, rng)
        each = gold.shape[1]
        whose = np.repeat(np.arange(n + more), each)
        known = np.where(np.arange(n + more)[:, None] < n, gold, np.nan).ravel()
        scores = FewLabels.of(known, silver.ravel(), whose, DICE, THRESHOLD)
        mean, rate = anchor_mean(scores).told, rate_failures(scores)
        bound = bound_mean(
            known[: n * each], whose[: n * each], low=0, high=1, draws=WEIGHT_DRAWS, rng=rng
        )
        # Without a threshold it is the interval that was printed before.
        before = anchor_mean(replace(scores, threshold=None)).told
        printed = {
            BEFORE: (before.low, before.high, population.whole),
            "mean of the rest, anchored": (mean.low, mean.high, population.rest),
            "mean of the rest, gold alone": (mean.gold_low, mean.gold_high, population.rest),
            "failure rate, anchored": (rate.low, rate.high, population.fails),
            "failure rate, gold alone": (rate.gold_low, rate.gold_high, population.fails),
            "mean of all, whatever the tail": (*bound, population.whole),
        }
        for what, (low, high, truth) in printed.items():
            if not np.isnan(low):
                inside.setdefault(what, []).append(bool(low <= truth <= high))
        if not population.contaminated:
            t = stats.t.ppf(0.975, n - 1) * gold[:n].std(ddof=1) / np.sqrt(n)
            ratios.append((mean.high - mean.low) / (2 * t))
    exams = f"{n} gold exams" if each == 1 else f"{n} patients of {each} gold exams"
    scenario = f"{population.name}, {exams}"
    rows = [
        _count(scenario, what, held, COVERS if what != BEFORE else np.nan)
        for what, held in inside.items()
        if what != BEFORE or population.contaminated
    ]
    if ratios:
        error = float(np.std(ratios, ddof=1) / np.sqrt(studies))
        what = "mean of the rest, anchored: width over that of t from gold alone"
        rows.append(
            Row(scenario, what, float(np.mean(ratios)), studies, at_most=WIDEST, error=error)
        )
    return rows


def _cover_gaps(
    both: tuple[Population, Population], n: int, studies: int, rng: np.random.Generator
) -> list[Row]:
    """Count how often differences of two groups, of `n` gold exams each, hold the truth."""
    first, second = both
    truths = {
        "failure rate": second.fails - first.fails,
        "mean of the rest": second.rest - first.rest,
        "mean of all, whatever the tail": second.whole - first.whole,
    }
    inside: dict[str, list[bool]] = {}
    groups = pd.Series(pd.Categorical(np.repeat(["a", "b"], n + MORE)))
    for _ in range(studies):
        drawn = [population.draw(n + MORE, rng) for population in both]
        gold, silver = (np.concatenate([one[k].ravel() for one in drawn]) for k in (0, 1))
        gold[np.tile(np.arange(n + MORE) >= n, 2)] = np.nan
        scores = FewLabels.of(gold, silver, np.arange(len(gold)), DICE, THRESHOLD)
        bounds = [
            bound_mean(part[:n], low=0, high=1, level=0.975, draws=WEIGHT_DRAWS, rng=rng)
            for part in np.split(gold, 2)
        ]
        rate, mean = (find(scores, groups)[1].iloc[0] for find in (rate_groups, anchor_groups))
        printed = {
            "mean of all, whatever the tail": (
                bounds[1][0] - bounds[0][1],
                bounds[1][1] - bounds[0][0],
            )
        }
        for name, row in (("failure rate", rate), ("mean of the rest", mean)):
            printed[f"{name}, anchored"] = (row["difference_low"], row["difference_high"])
            printed[f"{name}, gold alone"] = (
                row["gold_difference_low"],
                row["gold_difference_high"],
            )
        for what, (low, high) in printed.items():
            truth = next(value for name, value in truths.items() if what.startswith(name))
            if not np.isnan(low):
                inside.setdefault(what, []).append(bool(low <= truth <= high))
    scenario = f"two groups, 4% and 10% fail, {n} gold exams each"
    return [_count(scenario, f"difference, {what}", held, COVERS) for what, held in inside.items()]


def _count(scenario: str, what: str, held: list[bool], at_least: float) -> Row:
    words = f"{what}: interval holds the truth"
    return Row(scenario, words, float(np.mean(held)), len(held), at_least)


def _mix(
    rho: float, *, share: float = 0.04, sees: float = 0.0, exams: int = 1, likeness: float = 0.0
) -> Population:
    """Mix a tight bulk of .92 with failures from .2 to .7, of which the machine's label sees a share.

    With several exams a patient, half of the bulk's variance is the patient's, and `likeness` is the share of patients
    who fail with all exams or none.
    """

    def draw(patients: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        shape = (patients, exams)
        common, own = rng.normal(size=(2, *shape))
        if exams > 1:
            common = np.sqrt(0.5) * (common + rng.normal(size=(patients, 1)))
        gold = 0.92 + 0.03 * common
        silver = 0.975 + 0.0075 * (rho * common + np.sqrt(1 - rho**2) * own)
        alike = rng.random((patients, 1)) < likeness
        failed = np.where(alike, rng.random((patients, 1)), rng.random(shape)) < share
        gold = np.where(failed, rng.uniform(0.2, 0.7, shape), gold)
        seen = failed & (rng.random(shape) < sees)
        silver = np.where(seen, gold + rng.normal(0, 0.03, shape), silver)
        return gold.clip(0, 1), silver.clip(0, 1)

    name = f"tight bulk, {share:.0%} fail" if share else "tight bulk, none fails"
    if share and exams == 1:
        name += f", silver sees {sees:.0%} of them"
    if exams > 1:
        name += ", patients alike" if likeness else ", exams independent"
    beyond, bulk = _cut_normal((THRESHOLD - 0.92) / 0.03)
    rest, fails = 0.92 + 0.03 * bulk, share + (1 - share) * beyond
    whole = share * 0.45 + (1 - share) * 0.92
    return Population(f"{name}, correlation {rho}", draw, fails, rest, whole, share > 0)


def _cut_normal(at: float) -> tuple[float, float]:
    """Return the share of a standard normal below a point, and the mean of what lies above."""
    return float(stats.norm.cdf(at)), float(stats.norm.pdf(at) / stats.norm.sf(at))


def _skew(sigma: float, rho: float) -> Population:
    """Let the error, 1 less the score, be log-normal under both rulers."""

    def draw(patients: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        common, own = rng.normal(size=(2, patients, 1))
        mixed = rho * common + np.sqrt(1 - rho**2) * own
        gold = (1 - 0.09 * np.exp(sigma * common)).clip(0, 1)
        return gold, (1 - 0.025 * np.exp(sigma * mixed)).clip(0, 1)

    at = np.log((1 - THRESHOLD) / 0.09) / sigma
    kept = float(stats.norm.cdf(at))
    error = 0.09 * np.exp(sigma**2 / 2)
    rest = 1 - error * float(stats.norm.cdf(at - sigma)) / kept
    name = f"log-normal error of {sigma}, correlation {rho}"
    return Population(name, draw, 1 - kept, float(rest), float(1 - error))


TOPIC = Topic(
    title="Few experts' labels: failures, and the mean of the rest",
    introduction=(
        f"Exams with an expert's label and {MORE} with a machine's alone. A tight bulk (.92, spread .03) with 4 % of "
        "exams that fail badly (.2 to .7), of which the machine's label sees none, half or all; the same without "
        "failures; log-normal errors; and 40 patients of three exams beside 40 of three without an expert's label. A "
        f"score not above {THRESHOLD} counts as failed. The t interval of the mean of all exams stands here without a "
        "bound and is printed no longer: it cannot know a failure that is not in the sample. Anchored failure rates "
        "are withheld, and not counted, where no exam of a class that the machine's label makes, failed or not, has an "
        "expert's. Widths are over that of the t interval of all gold exams."
    ),
    measure=measure_anchored,
    studies=1_000,
    measured=(
        "tworulers.diagnosis.anchored_means",
        "tworulers.diagnosis.failures",
        "tworulers.diagnosis.few_labels",
        "tworulers.stats.clustered_rates",
        "tworulers.stats.gaffke",
        "tworulers.stats.rates",
    ),
)
