"""What a test could have found against what is true, and how tests and spreads fare on scores that tie."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy import stats

from calibration.intervals import draw_noise
from calibration.rows import Row, Topic
from tworulers.battery.detectable import find_detectable_gap
from tworulers.stats.dispersion import bootstrap_spread
from tworulers.stats.groups import group_sample, pair_sample
from tworulers.stats.ranks import choose_kind, compare_ranks, kruskal_h, scatter_of
from tworulers.stats.types import FloatArray, IntArray

Sizes = tuple[int, ...]

DESIGNS: tuple[Sizes, ...] = ((8, 60, 8), (5, 71), (21, 29, 26))
TIED: tuple[Sizes, ...] = ((38, 38), (8, 66), (21, 29, 26), (8, 60, 8))
PATIENTS = (40, 3, 0.6)
"""Patients, exams of each, and the share of the variance that is between patients."""

TRUTHS, DRAWS, LEVEL, POWER = 6_000, 1_000, 0.05, 0.8


def measure_numbers(studies: int, rng: np.random.Generator) -> list[Row]:
    """Measure detectable gaps, levels of the rank test on scores that tie, and spreads of coarse scores."""
    few = max(studies // 8, 20)
    rows = []
    for shape in ("normal", "left-skewed"):
        for sizes in DESIGNS:
            rows += _measure_gap(sizes, shape, few, rng)
    rows += _measure_gap_of_patients(few, rng)
    rows += [_reject(sizes, name, studies, rng) for name in MAKERS for sizes in TIED]
    return rows + _measure_coarse(few, rng)


def _labels(codes: IntArray) -> pd.Series:
    names = [f"group {g}" for g in range(int(codes.max()) + 1)]
    return pd.Series(pd.Categorical.from_codes(codes, names, ordered=True))


def _measure_gap(sizes: Sizes, shape: str, studies: int, rng: np.random.Generator) -> list[Row]:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    noise = draw_noise(shape, (TRUTHS, len(codes)), rng)

    def find_share(gap: float) -> float:
        shares = []
        for part, sign in ((noise[::2], 1), (noise[1::2], -1)):
            at = sign * gap * np.linspace(-0.5, 0.5, len(sizes))[codes]
            ranks = stats.rankdata(part + at, axis=1)
            member = (codes[:, None] == np.arange(len(sizes))).astype(float)
            p = choose_kind(len(sizes)).p_of_sums(
                ranks @ member, np.array(sizes), scatter_of(ranks)
            )
            shares.append(float(np.mean(p < LEVEL)))
        return float(np.mean(shares))

    answers = [
        find_detectable_gap(
            group_sample(draw_noise(shape, len(codes), rng), _labels(codes)), [LEVEL], DRAWS, rng
        )[0]
        for _ in range(studies)
    ]
    where = f"{'/'.join(map(str, sizes))} exams, {shape}"
    return _compare(where, answers, _bisect(find_share), (0.9, 1.1))


def _measure_gap_of_patients(studies: int, rng: np.random.Generator) -> list[Row]:
    """By the test that permutes patients, in its chi-squared form: ranks summed by patient."""
    patients, repeats, share = PATIENTS
    owner = np.repeat(np.arange(patients), repeats)
    group = np.arange(patients) % 2

    def draw(n: int) -> FloatArray:
        between = rng.normal(size=(n, patients))[:, owner]
        return np.asarray(
            np.sqrt(share) * between + np.sqrt(1 - share) * rng.normal(size=(n, len(owner)))
        )

    noise = draw(TRUTHS)
    member = (group[:, None] == np.arange(2)).astype(float)

    def find_share(gap: float) -> float:
        ranks = stats.rankdata(noise + gap * (group[owner] - 0.5), axis=1)
        sums = (ranks - ranks.mean()).reshape(TRUTHS, patients, repeats).sum(axis=2)
        sizes = np.bincount(group)
        level = sums @ member + sizes * (patients + 1) / 2
        h = kruskal_h(level, sizes, (sums**2).sum(axis=1))
        return float(np.mean(stats.chi2.sf(h, 1) < LEVEL))

    labels = _labels(group[owner])
    answers = [
        find_detectable_gap(group_sample(draw(1)[0], labels, owner), [LEVEL], DRAWS, rng)[0]
        for _ in range(studies)
    ]
    where = f"{patients} patients with {repeats} exams, {share:.0%} of the variance between them"
    return _compare(where, answers, _bisect(find_share), (0.9, 1.1))


def _bisect(find_share: Callable[[float], float]) -> float:
    low, high = 0.0, 8.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if find_share(middle) >= POWER else (middle, high)
    return high


def _compare(where: str, answers: list, truth: float, bounds: tuple[float, float]) -> list[Row]:
    gaps = np.array([one.detectable_gap for one in answers])
    held = [one.detectable_gap_low <= truth <= one.detectable_gap_high for one in answers]
    middle = float(np.nanmedian(gaps))
    error = 1.253 * float(np.nanstd(gaps)) / np.sqrt(len(gaps)) / truth
    count, what = len(answers), "detectable gap"
    return [
        Row(where, f"median {what} / true one", middle / truth, count, *bounds, float(error)),
        Row(
            where,
            f"{what}: its 10 to 90 % hold the true one",
            float(np.mean(held)),
            count,
            0.6,
            0.9,
        ),
    ]


def _make_decimals(n: int, rng: np.random.Generator) -> FloatArray:
    return np.asarray(rng.normal(0.9, 0.03, n).round(2))


def _make_ceiling(n: int, rng: np.random.Generator) -> FloatArray:
    return np.asarray(np.minimum(rng.normal(0.99, 0.03, n), 1.0))


MAKERS = {"two decimals": _make_decimals, "two in five at the ceiling": _make_ceiling}


def _reject(sizes: Sizes, name: str, studies: int, rng: np.random.Generator) -> Row:
    labels = _labels(np.repeat(np.arange(len(sizes)), sizes))
    found = [
        compare_ranks(group_sample(MAKERS[name](len(labels), rng), labels)).p
        for _ in range(studies)
    ]
    where = f"{'/'.join(map(str, sizes))} exams, no difference, {name}"
    rejected = float(np.mean(np.array(found) < LEVEL))
    return Row(where, "rank test rejects at .05", rejected, studies, 0.03, 0.07)


def _measure_coarse(studies: int, rng: np.random.Generator) -> list[Row]:
    """Compare what two and four decimals say of the ratio of spreads."""
    codes = np.repeat(np.arange(3), (21, 29, 26))
    rows, shown = [], {}
    for factor, what in ((1.0, "equal noise"), (0.45, "noise x .45")):
        shared, own = rng.normal(size=(2, studies, len(codes)))
        base, other = 0.85 + 0.03 * shared, 0.9 + 0.03 * factor * (0.7 * shared + 0.714 * own)
        for decimals in (4, 2):
            lows = [
                bootstrap_spread(
                    pair_sample(a.round(decimals), b.round(decimals), codes), draws=300, rng=rng
                ).vcr_mad_low
                for a, b in zip(base, other, strict=True)
            ]
            share = shown[decimals] = float(np.mean(np.array(lows) > 1))
            most = 0.05 if factor == 1 else float("nan")
            where = f"21/29/26 exams, {what}, scores of {decimals} decimals"
            rows.append(
                Row(where, "MAD ratio's 95 % interval above 1", share, studies, at_most=most)
            )
    error = np.sqrt(shown[2] * (1 - shown[2]) / studies) / max(shown[4], 1e-9)
    where = "21/29/26 exams, noise x .45, two decimals"
    what = "narrower spreads shown / those of four decimals"
    kept = shown[2] / max(shown[4], 1e-9)
    return [*rows, Row(where, what, kept, studies, 0.8, error=float(error))]


TOPIC = Topic(
    "Detectable gaps, ties and coarse scores",
    "The true detectable gap is that of 6,000 studies of the stated noise, groups evenly apart, half of the studies in "
    "either direction. A study's answer is computed from its own exams, without a difference between groups; the "
    "median answer should be the true one. *Its 10 to 90 %* are of samples drawn anew from the study's exams, and hold "
    "the true gap somewhat less often than four times in five, since few exams tell little of their own tails.",
    measure_numbers,
    2_000,
    (
        "tworulers.battery.detectable",
        "tworulers.battery.power",
        "tworulers.stats.ranks",
        "tworulers.stats.lattice",
        "tworulers.stats.dispersion",
    ),
)
