"""How comparisons given something else, of unequal spreads, along an order and of all pairs keep their word."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from scipy import stats

from calibration.rows import Row, Topic
from tworulers.stats.mixed import fit_mixed
from tworulers.stats.shifts import shift_pairs
from tworulers.stats.stratified import compare_within_strata, cut_strata
from tworulers.stats.trend import compare_in_order, permute_trend
from tworulers.stats.types import FloatArray, IntArray
from tworulers.stats.unequal import compare_unequal, permute_unequal

ALPHA = 0.05
DRAWS = 199
"""Permutations of a simulated study; with 199 the level is exact."""

AGES = {
    "age (0.08 SD a year) differs by 12 years, 38/38, no difference": ((38, 38), False, 0.0),
    "the same, only above 60 years": ((38, 38), True, 0.0),
    "the same in three groups 21/29/26, the third 12 years older": ((21, 29, 26), False, 0.0),
    "38/38, 0.8 SD lower in the older group": ((38, 38), False, -0.8),
    "38/38, 0.8 SD higher in the older group, so that age hides it": ((38, 38), False, 0.8),
}
SPREADS = {
    (8, 66): (3, 1),
    (16, 53): (3, 1),
    (66, 8): (3, 1),
    (8, 60, 8): (3, 1, 3),
    (21, 29, 26): (3, 1, 1),
}
CLUSTERS = {(40, 3): 0.6, (40, 2): 0.5, (60, 5): 0.3, (16, 4): 0.6}
"""By patients and exams of each: the share of the variance between patients."""

SHAPES: Mapping[str, Callable[[FloatArray, IntArray], FloatArray]] = {
    "normal": lambda noise, _: noise,
    "skewed (log-normal 0.8)": lambda noise, _: -np.exp(0.8 * noise),
    "spread 3:1:3": lambda noise, codes: noise * np.array([3.0, 1.0, 3.0])[codes],
}


def measure_adjusted(studies: int, rng: np.random.Generator) -> list[Row]:
    """Measure all of it."""
    rows = [row for name in AGES for row in _given_age(name, studies, rng)]
    rows += [_given_provenance(studies, rng)]
    rows += [row for sizes in SPREADS for row in _spread(sizes, studies, rng)]
    rows += [_trend(sizes, studies, rng) for sizes in ((21, 29, 26), (8, 60, 8))]
    for sizes in ((21, 29, 26), (8, 60, 8)):
        rows += [_cover(sizes, shape, studies, rng) for shape in SHAPES]
    rows.append(_cover((13, 14, 13), "normal", studies, rng, exams=3, within=0.6))
    return rows + [row for design in CLUSTERS for row in _cluster(design, studies, rng)]


def _given_age(name: str, studies: int, rng: np.random.Generator) -> Iterator[Row]:
    sizes, late, effect = AGES[name]
    codes = np.repeat(np.arange(len(sizes)), sizes)
    older, who = codes == len(sizes) - 1, np.arange(len(codes))
    rejected = np.zeros((studies, 2), dtype=bool)
    for study in rejected:
        age = np.clip(rng.normal(50, 12, len(codes)) + 12 * older, 18, 90)
        years = np.maximum(age - 60, 0) if late else age
        values = rng.normal(size=len(codes)) - 0.08 * years + effect * older
        study[0] = _rank_p(values, codes) < ALPHA
        strata = cut_strata(age, who, 5)
        study[1] = compare_within_strata(values, codes, strata, who).p < ALPHA
    plain, given = map(float, rejected.mean(axis=0))
    most = 0.06 if effect == 0 else np.nan
    least = 0.75 if effect < 0 else np.nan
    yield Row(name, "rank test rejects", plain, studies)
    yield Row(name, "given age (five strata) rejects", given, studies, least, most)


def _given_provenance(studies: int, rng: np.random.Generator) -> Row:
    codes, who = np.repeat([0, 1], 38), np.arange(76)
    rejected = []
    for _ in range(studies):
        machine = rng.random(76) < np.array([0.3, 0.7])[codes]
        values = np.where(machine, 2 + 0.3 * rng.normal(size=76), rng.normal(size=76))
        found = compare_within_strata(values, codes, machine.astype(np.int64), who)
        rejected.append(found.p < ALPHA)
    share = float(np.mean(rejected))
    scenario = "a machine judged 30 and 70 % of two groups 2 SD higher, no difference"
    return Row(scenario, "given provenance rejects", share, studies, at_most=0.06)


def _spread(sizes: tuple[int, ...], studies: int, rng: np.random.Generator) -> Iterator[Row]:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    scale = np.array(SPREADS[sizes], dtype=float)[codes]
    rejected = np.zeros((studies, 2), dtype=bool)
    for study in rejected:
        values = rng.normal(size=len(codes)) * scale
        study[0] = _rank_p(values, codes) < ALPHA
        study[1] = compare_unequal(values, codes, np.arange(len(codes))).p < ALPHA
    plain, allowed = map(float, rejected.mean(axis=0))
    name = f"spread {_write(SPREADS[sizes], ':')} in {_write(sizes)}, symmetric about one median"
    yield Row(name, "rank test rejects", plain, studies)
    yield Row(name, "p of unequal spread rejects", allowed, studies, at_most=0.06)


def _trend(sizes: tuple[int, ...], studies: int, rng: np.random.Generator) -> Row:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    noise = rng.normal(size=(studies, len(codes))).round(1)
    share = float(np.mean([compare_in_order(values, codes).p < ALPHA for values in noise]))
    name = f"coarse scores without a trend in {_write(sizes)}"
    return Row(name, "trend test rejects", share, studies, 0.03, 0.07)


def _cover(
    sizes: tuple[int, ...],
    shape: str,
    studies: int,
    rng: np.random.Generator,
    exams: int = 1,
    within: float = 0.0,
) -> Row:
    codes = np.repeat(np.arange(len(sizes)), np.multiply(sizes, exams))
    who = np.repeat(np.arange(sum(sizes)), exams)
    places, held = np.array([0.0, 0.5, 1.0]), 0
    for _ in range(studies):
        noise = _draw_clusters(who, within, rng)
        pairs = shift_pairs(SHAPES[shape](noise, codes) + places[codes], codes, who)
        truth = [places[pair.second] - places[pair.first] for pair in pairs]
        held += all(pair.low <= at <= pair.high for pair, at in zip(pairs, truth, strict=True))
    name = f"{shape}, {_write(sizes)}" + f" patients with {exams} exams" * (exams > 1)
    most = 0.98 if shape.startswith("skewed") else 0.97
    return Row(name, "all three shifts within their intervals", held / studies, studies, 0.93, most)


def _cluster(design: tuple[int, int], studies: int, rng: np.random.Generator) -> Iterator[Row]:
    patients, exams = design
    who = np.repeat(np.arange(patients), exams)
    rejected: dict[str, list[bool]] = defaultdict(list)
    for _ in range(studies):
        of_patient = rng.permutation(np.arange(patients) % 3)
        codes, age = of_patient[who], rng.normal(50, 12, patients)[who]
        values = _draw_clusters(who, CLUSTERS[design], rng) - 0.05 * age
        about, chance = (values, codes), (DRAWS, rng)
        strata = cut_strata(age, who, 5 if patients >= 40 else 2)
        given = compare_within_strata(*about, strata, who, draws=DRAWS, rng=rng)
        found = {
            "given age rejects": given.p_permutation,
            "p of unequal spread rejects": permute_unequal(*about, who, *chance),
            "trend test rejects": permute_trend(*about, who, *chance),
        }
        if patients >= 20:
            found["mixed model rejects"] = _mixed_p(values, codes, age, who)
        for what, p in found.items():
            rejected[what].append(p <= ALPHA)
    name = f"{patients} patients with {exams} exams, three groups, no difference"
    for what, those in rejected.items():
        yield Row(name, what, float(np.mean(those)), studies, at_most=0.07)


def _mixed_p(values: FloatArray, codes: IntArray, age: FloatArray, who: IntArray) -> float:
    X = np.column_stack([np.ones(len(values)), codes == 1, codes == 2, age])
    fit = fit_mixed(values, X, [who])
    contrast = fit.coefficients[1:3]
    f = contrast @ np.linalg.solve(fit.covariance[1:3, 1:3], contrast) / 2
    return float(stats.f.sf(f, 2, len(np.unique(who)) - X.shape[1]))


def _draw_clusters(who: IntArray, within: float, rng: np.random.Generator) -> FloatArray:
    shared = rng.normal(size=int(who.max()) + 1)[who]
    return np.sqrt(within) * shared + np.sqrt(1 - within) * rng.normal(size=len(who))


def _rank_p(values: FloatArray, codes: IntArray) -> float:
    parts = [values[codes == g] for g in range(int(codes.max()) + 1)]
    found = stats.mannwhitneyu(*parts) if len(parts) == 2 else stats.kruskal(*parts)
    return float(found.pvalue)


def _write(numbers: tuple[int, ...], sign: str = "/") -> str:
    return sign.join(map(str, numbers))


TOPIC = Topic(
    "Given something else, unequal spreads, trends and all pairs at once",
    "*Given age*: five strata of age, van Elteren's test. Where age hides a difference or makes one, the rank test "
    "says the wrong thing; within strata some of age is left, which costs power where it works against the "
    "difference. *Spread*: groups of one median whose spreads differ. *All three shifts* are those of three groups, "
    "and have to lie within their intervals together; under skew these are a little wide, and up to .98 may. With "
    "several exams a patient every test moves labels over patients, and the mixed model (patients random, age fixed) "
    "counts patients less fixed effects.",
    measure_adjusted,
    2_000,
    (
        "tworulers.stats.stratified",
        "tworulers.stats.unequal",
        "tworulers.stats.trend",
        "tworulers.stats.shifts",
        "tworulers.stats.mixed",
        "tworulers.stats.relabel",
    ),
)
