"""How often the permutation p of DIR and of DPD rejects where all rates are equal, and that no seed moves it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibration.rows import Row, Topic
from tworulers.stats.draw import named_stream
from tworulers.stats.groups import GroupedSample, group_sample
from tworulers.stats.permute import p_of_impact_ratio, p_of_parity_difference, permute_successes

EQUAL = [
    ((38, 38), 0.97),
    ((66, 8), 0.90),
    ((45, 20), 0.80),
    ((21, 29, 26), 0.90),
    ((8, 60, 8), 0.90),
    ((65, 19, 144), 0.97),
]
"""Group sizes, and the success rate of all of them."""

COUNTS = [
    ((63, 65), (19, 19), (144, 144)),
    ((37, 38), (37, 38)),
    ((112, 114), (114, 114)),
]
"""Published tables of successes and exams, whose p by draws lay anywhere from .23 to 1."""

PATIENTS, EXAMS, SHARE = 40, 3, 0.6
DRAWS, SEEDS = 999, 20


def measure_impact_ratio(studies: int, rng: np.random.Generator) -> list[Row]:
    """Measure the level of the tests of DIR and DPD, and how far their p move with the seed."""
    rows = [_hold_still(counts) for counts in COUNTS]
    for sizes, rate in EQUAL:
        codes = np.repeat(np.arange(len(sizes)), sizes)
        name = f"{' / '.join(map(str, sizes))} exams, every success rate {rate:.2f}"
        drawn = [rng.random(len(codes)) < rate for _ in range(studies)]
        rows += _reject(name, [_make_sample(codes, success) for success in drawn], drawn, rng)
    rows += _reject_of_patients(max(studies // 2, 20), rng)
    return rows


def _make_sample(
    codes: np.ndarray, success: np.ndarray, patients: np.ndarray | None = None
) -> GroupedSample:
    names = [f"group {code}" for code in range(codes.max() + 1)]
    groups = pd.Series(pd.Categorical.from_codes(codes, names, ordered=True))
    return group_sample(success.astype(float), groups, patients)


def _test(
    sample: GroupedSample, success: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    permuted = permute_successes(sample, success, DRAWS, rng)
    successes = np.bincount(sample.codes[success], minlength=len(sample.names))
    return (
        p_of_impact_ratio(successes, sample.sizes, permuted),
        p_of_parity_difference(successes, sample.sizes, permuted),
    )


def _hold_still(counts: tuple[tuple[int, int], ...]) -> Row:
    codes = np.repeat(np.arange(len(counts)), [size for _, size in counts])
    success = np.concatenate([np.arange(size) < some for some, size in counts])
    sample = _make_sample(codes, success)
    found = [_test(sample, success, named_stream(seed, "seeds"))[0] for seed in range(SEEDS)]
    told = ", ".join(f"{some}/{size}" for some, size in counts)
    what = "largest less smallest p of DIR over seeds"
    return Row(f"successes {told}", what, float(np.ptp(found)), SEEDS, at_most=0.0)


def _reject(
    name: str, samples: list[GroupedSample], drawn: list[np.ndarray], rng: np.random.Generator
) -> list[Row]:
    found = [_test(sample, success, rng) for sample, success in zip(samples, drawn, strict=True)]
    share = np.mean(np.array(found) < 0.05, axis=0)
    return [
        Row(name, f"p of {what} is below .05", float(value), len(samples), at_most=0.05)
        for what, value in zip(("DIR", "DPD"), share, strict=True)
    ]


def _reject_of_patients(studies: int, rng: np.random.Generator) -> list[Row]:
    """Let most of what makes an exam succeed be its patient's, and labels be of patients."""
    owner = np.repeat(np.arange(PATIENTS), EXAMS)
    samples, drawn = [], []
    for _ in range(studies):
        level = np.sqrt(SHARE) * rng.normal(size=PATIENTS)[owner]
        level += np.sqrt(1 - SHARE) * rng.normal(size=len(owner))
        drawn.append(level > -1.2)
        codes = rng.permutation(np.arange(PATIENTS) % 2)[owner]
        samples.append(_make_sample(codes, drawn[-1], owner))
    name = f"{PATIENTS} patients with {EXAMS} exams, {SHARE:.0%} of the variance between them"
    return _reject(name, samples, drawn, rng)


TOPIC = Topic(
    "Permutation p of success rates",
    "Labels are permuted over all success tables, each with its probability, so that no p depends on a seed; with "
    "several exams a patient permutations of patients are drawn. All groups have one true success rate. Tables are "
    "few, so that a p below .05 is rarer than .05.",
    measure_impact_ratio,
    2_000,
    ("tworulers.stats.permute", "tworulers.stats.rates"),
)
