"""How often tests reject where a patient has several exams and nothing differs, and what intervals cover."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from scipy import stats

from calibration.rows import Row, Topic
from tworulers.battery.differences import compare_groups, draw_locations
from tworulers.diagnosis.counterfactual import swap_rulers
from tworulers.stats.families import adjust_p
from tworulers.stats.groups import GroupedSample
from tworulers.stats.paired_spread import compare_paired_spreads
from tworulers.stats.permute import (
    p_of_impact_ratio,
    p_of_parity_difference,
    p_of_ranks,
    p_of_signed_ranks,
    p_of_spreads,
    permute_successes,
)
from tworulers.stats.rates import count_effective, rate_interval
from tworulers.stats.types import FloatArray, IntArray
from tworulers.stats.wild import fit_by_patient

DESIGNS = ((40, 3, 0.6), (40, 2, 0.5), (60, 5, 0.3), (16, 4, 0.6))
"""Patients, exams of each, and the share of the variance that is between patients."""

DRAWS = 399
SCORES = 6
GROUPS = 3
SUCCESS = 0.8
"""True success rate of every group."""

LEVEL, HELD, COVERED = (0.03, 0.07), 0.07, 0.93

LEVELS = ("rank test rejects", "swap test of two rulers rejects", "joint model rejects")
"""What must reject neither too often nor too seldom; every other test must not reject too often."""

Counts = dict[str, list[bool]]


def measure_patients(studies: int, rng: np.random.Generator) -> list[Row]:
    """Measure every p and interval of a study without any effect, groups being of patients."""
    rows = []
    for patients, exams, share in DESIGNS:
        found: Counts = defaultdict(list)
        for _ in range(studies):
            _study(patients, exams, share, found, rng)
        scenario = (
            f"{patients} patients x {exams} exams, {share:g} of the variance between patients"
        )
        rows += [_row(scenario, what, np.array(seen)) for what, seen in found.items()]
    return rows + _measure_uneven(studies, rng)


def _row(scenario: str, what: str, seen: np.ndarray) -> Row:
    value, n = float(seen.mean()), len(seen)
    if "holds" in what:
        return Row(scenario, what, value, n, at_least=COVERED)
    if what in LEVELS:
        return Row(scenario, what, value, n, at_least=LEVEL[0], at_most=LEVEL[1])
    return Row(scenario, what, value, n, at_most=HELD)


def _study(
    patients: int, exams: int, share: float, found: Counts, rng: np.random.Generator
) -> None:
    """Simulate one study, and note what was rejected and what was covered."""
    unit = np.repeat(np.arange(patients), exams)
    groups = rng.permutation(np.arange(patients) % GROUPS)[unit]
    scores = np.stack([_draw(unit, share, rng) for _ in range(SCORES)])
    sample = _sample(scores[0], groups, unit)
    p = np.array([p_of_ranks(_sample(one, groups, unit), DRAWS, rng) for one in scores])
    found["rank test rejects"].append(p[0] < 0.05)
    found["any of six scores after correction"].append(adjust_p(p).min() < 0.05)
    found["unequal spread of groups rejects"].append(p_of_spreads(sample, DRAWS, rng) < 0.05)
    _compare(scores, groups, unit, found, rng)
    _model(scores[0], unit, found, rng)
    _judge_rates(sample, found, rng)


def _compare(
    scores: FloatArray, groups: IntArray, unit: IntArray, found: Counts, rng: np.random.Generator
) -> None:
    """Compare two rulers whose errors are alike."""
    both = 0.8 * scores[0] + 0.6 * scores[1:3]
    sample = _sample(both, groups, unit)
    swapped = swap_rulers(sample, draws=DRAWS, rng=rng).p
    found["swap test of two rulers rejects"].append(swapped < 0.05)
    spread = compare_paired_spreads(sample, draws=DRAWS, rng=rng).spread_p
    found["spread of two rulers rejects"].append(spread < 0.05)
    paired = p_of_signed_ranks(np.asarray(both[1] - both[0]), unit)
    found["signed ranks of two rulers reject"].append(paired < 0.05)


def _model(score: FloatArray, unit: IntArray, found: Counts, rng: np.random.Generator) -> None:
    """Fit a score on two attributes and age."""
    patients = int(unit.max()) + 1
    sex = rng.permutation(np.arange(patients) % 2)
    race = rng.permutation(np.arange(patients) % 4 == 0)
    age = rng.normal(50.0, 15.0, patients)
    X = np.column_stack([np.ones(patients), sex, race, age])[unit]
    fit = fit_by_patient(score, X, unit, draws=DRAWS, rng=rng)
    found["joint model rejects"].append(fit.joint_p < 0.05)
    for j, name in ((1, "half"), (2, "quarter")):
        found[f"coefficient of a group of a {name} rejects"].append(fit.p[j] < 0.05)
        inside = fit.low[j] <= 0 <= fit.high[j]
        found[f"interval of a coefficient of a {name} holds it"].append(inside)


def _judge_rates(sample: GroupedSample, found: Counts, rng: np.random.Generator) -> None:
    """Cut the scores so that four fifths succeed, and compare groups."""
    success = sample.values > stats.norm.isf(SUCCESS)
    hits = np.bincount(sample.codes[success], minlength=GROUPS).astype(np.int64)
    permuted = permute_successes(sample, success, DRAWS, rng)
    found["p of DPD rejects"].append(p_of_parity_difference(hits, sample.sizes, permuted) < 0.05)
    found["p of DIR rejects"].append(p_of_impact_ratio(hits, sample.sizes, permuted) < 0.05)
    low, high = rate_interval(*count_effective(sample, success))
    found["interval of a rate holds it"].append(bool(low[0] <= SUCCESS <= high[0]))
    drawn = draw_locations(sample, DRAWS, rng)
    pair = compare_groups(sample, success, *drawn)[0]
    for of in ("rate", "mean", "median"):
        inside = pair[f"{of}_difference_low"] <= 0 <= pair[f"{of}_difference_high"]
        found[f"interval of a difference of {of}s holds it"].append(inside)


def _measure_uneven(studies: int, rng: np.random.Generator) -> list[Row]:
    """Measure the rank test where patients have 1 to 6 exams, and where labels change within patients."""
    found: Counts = defaultdict(list)
    for _ in range(studies):
        unit = np.repeat(np.arange(30), rng.integers(1, 7, 30))
        groups = rng.permutation(np.arange(30) % GROUPS)[unit]
        sample = _sample(_draw(unit, 0.6, rng), groups, unit)
        found["30 patients of 1 to 6 exams"].append(p_of_ranks(sample, DRAWS, rng) < 0.05)
        unit = np.repeat(np.arange(40), 3)
        later = np.tile(np.arange(3), 40) >= rng.integers(0, 4, 40)[unit]
        sample = _sample(_draw(unit, 0.6, rng), later.astype(np.int64), unit)
        found["40 patients x 3 exams that change groups"].append(
            p_of_ranks(sample, DRAWS, rng) < 0.05
        )
    return [_row(scenario, LEVELS[0], np.array(seen)) for scenario, seen in found.items()]


def _draw(unit: IntArray, share: float, rng: np.random.Generator) -> FloatArray:
    """Draw normal scores of unit variance, of which a share is the patient's own."""
    own = rng.normal(size=int(unit.max()) + 1)[unit]
    return np.asarray(np.sqrt(share) * own + np.sqrt(1 - share) * rng.normal(size=len(unit)))


def _sample(values: FloatArray, groups: IntArray, unit: IntArray) -> GroupedSample:
    names = tuple(f"group {g}" for g in range(int(groups.max()) + 1))
    nothing = np.zeros(len(names), dtype=np.int64)
    return GroupedSample(values, groups, names, unit, unit, nothing, 0)


TOPIC = Topic(
    title="Patients with several exams",
    introduction=(
        "Groups are of patients and nothing differs between them. Tests move whole patients (ranks, rates, "
        "spreads, rulers exchanged) or weigh a patient's residuals alike (the joint model and the spread of two "
        "rulers, by the wild cluster bootstrap); rates count as many exams as would leave them as unsure."
    ),
    measure=measure_patients,
    studies=1000,
    measured=(
        "tworulers.battery.differences",
        "tworulers.diagnosis.counterfactual",
        "tworulers.stats.clustered_rates",
        "tworulers.stats.paired_spread",
        "tworulers.stats.permute",
        "tworulers.stats.rates",
        "tworulers.stats.wild",
    ),
)
