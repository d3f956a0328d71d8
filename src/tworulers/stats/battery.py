"""What the audit says about one score in one grouping: test, disparity, differences, power."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tworulers.schema import Audit, Metric
from tworulers.stats.differences import compare_groups, draw_locations, gap_interval
from tworulers.stats.groups import GroupedSample, Row, group_means, group_medians, spread_of
from tworulers.stats.permute import (
    count_arrangements,
    p_of_impact_ratio,
    p_of_parity_difference,
    p_of_ranks,
    permute_successes,
)
from tworulers.stats.power import find_detectable_gap
from tworulers.stats.ranks import compare_ranks, compare_spreads
from tworulers.stats.rates import (
    clopper_pearson_interval,
    compare_rates,
    count_successes,
    impact_ratio,
    parity_difference,
    succeed,
    success_rate,
)
from tworulers.stats.resample import (
    bootstrap_interval,
    draw_tables,
    exact_interval,
    find_patterns,
    named_stream,
)
from tworulers.tables import pack_names

TOO_FEW = 2
"""A group with fewer exams is not tested."""

KEY = ["grouping", "structure", "metric"]
"""Columns that identify a question."""

MAIN, INTERSECTIONS, RANDOM, EXTRA = "main", "intersections", "random", "extra"
"""Families: the stated scores by the stated groupings; crossed groupings; random ones; more scores.
"""


@dataclass(frozen=True)
class Question:
    """One score in one grouping: the sample, its metric, and the names that its streams carry."""

    grouping: str
    structure: str
    metric: Metric
    sample: GroupedSample

    @property
    def key(self) -> Row:
        """The columns that identify it."""
        return {"grouping": self.grouping, "structure": self.structure, "metric": self.metric.name}

    def stream(self, seed: int, what: str) -> np.random.Generator:
        """Its own source of chance for one statistic."""
        return named_stream(seed, what, self.grouping, self.structure, self.metric.name)


def tested_part(sample: GroupedSample) -> GroupedSample:
    """Keep the groups that have enough exams to be tested."""
    return sample.keep([g for g, size in enumerate(sample.sizes) if size >= TOO_FEW])


def name_groups(sample: GroupedSample, below: int, at_least: int = 0) -> str:
    """List the groups with fewer than `below` and at least `at_least` exams, and how many."""
    return ", ".join(
        f"{name} (n {size})"
        for name, size in zip(sample.names, sample.sizes, strict=True)
        if at_least <= size < below
    )


def run_test(question: Question, settings: Audit) -> Row:
    """Test one score across groups: rank test, effect, gap, permutation, spread.

    Groups with fewer are named in `not_assessed`, groups below `min_group` in `small_groups`. Where
    fewer than two groups remain, numbers are NaN and `undefined_because` says why. The permutation
    keeps the exams of a patient together; `permutation_undefined_because` says why there is none.
    """
    whole = question.sample
    sample = tested_part(whole)
    test = compare_ranks(sample)
    metric = question.metric
    better, worse = (
        (test.highest, test.lowest) if metric.higher_is_better else (test.lowest, test.highest)
    )
    fault = test.undefined_because
    if fault and len(sample.names) < len(whole.names):
        fault += "; not assessed: " + name_groups(whole, TOO_FEW)
    row: Row = question.key | {
        "test": test.test,
        "method": test.method,
        "groups": pack_names(sample.names),
        "statistic": test.statistic,
        "p": test.p,
        "effect": test.effect,
        "effect_name": test.effect_name,
        "effect_textbook": test.effect_textbook,
        "effect_textbook_name": test.effect_textbook_name,
        "n": test.n,
        "n_undefined": int(whole.n_undefined.sum()),
        "n_infinite": int(np.isinf(sample.values).sum()),
        "best_group": None if better is None else sample.names[better],
        "worst_group": None if worse is None else sample.names[worse],
        "median_gap": spread_of(group_medians(sample)),
        "mean_gap": spread_of(group_means(sample)),
        "small_groups": name_groups(whole, settings.min_group, TOO_FEW),
        "not_assessed": name_groups(whole, TOO_FEW),
        "undefined_because": fault,
    }
    reason = fault or find_permutation_fault(sample, settings)
    row |= {"p_permutation": np.nan, "permutation_undefined_because": reason}
    if reason is None:
        stream = question.stream(settings.seed, "permute ranks")
        row["p_permutation"] = p_of_ranks(sample, settings.permutations, stream)
    row["spread_f"], row["spread_p"] = compare_spreads(sample)
    row["unequal_spread"] = bool(row["spread_p"] < settings.alpha)
    return row


def find_permutation_fault(sample: GroupedSample, settings: Audit) -> str | None:
    """Say why no permutation p can be given; None where one can.

    With so few arrangements of labels over patients that the smallest p there is cannot fall below
    alpha, the test cannot say anything.
    """
    if settings.permutations < 1:
        return "no permutations were asked for (audit.permutations)"
    ways = count_arrangements(sample)
    if ways * settings.alpha > 1 or np.ptp(sample.values) == 0:
        return None
    plural = "way" if ways == 1 else "ways"
    return (
        f"cannot say: with patients kept together, labels can lie in {ways:.0f} {plural} only, too "
        f"few for a p below {settings.alpha:g}"
    )


def locate_groups(question: Question, settings: Audit) -> tuple[Row, list[Row]]:
    """Give the gaps of medians and means with intervals, and the differences of all pairs."""
    sample, level = question.sample, 1 - settings.alpha
    present = sample.keep([g for g, size in enumerate(sample.sizes) if size > 0])
    stream = question.stream(settings.seed, "locations")
    medians, means = draw_locations(present, settings.bootstrap_draws, stream)
    gaps: Row = {}
    for name, location, drawn in (
        ("median_gap", group_medians(present), medians),
        ("mean_gap", group_means(present), means),
    ):
        interval = gap_interval(location, drawn, level)
        enough = len(present.names) >= 2 and present.sizes.min() >= TOO_FEW
        gaps[f"{name}_low"] = interval.low if enough else np.nan
        gaps[f"{name}_high"] = interval.high if enough else np.nan
    threshold = settings.thresholds.get(question.metric.name)
    successes = (
        count_successes(present, threshold, question.metric)
        if threshold is not None
        else np.zeros(len(present.names), dtype=np.int64)
    )
    pairs = compare_groups(present, successes, medians, means, level)
    if threshold is None:
        pairs = [row | {name: np.nan for name in row if name.startswith("rate_")} for row in pairs]
    return gaps, [question.key | row for row in pairs]


def judge_rates(question: Question, threshold: float, settings: Audit, primary: bool) -> Row:
    """Reduce success rates at one threshold to DPD and DIR, with intervals at the primary one.

    `dpd` and `dir` are over all groups that have exams; `dpd_eligible` and `dir_eligible` over
    those with at least `min_group`. Intervals and permutation p are given where every group that
    has exams has at least two.
    """
    whole, metric = question.sample, question.metric
    sample = whole.keep([g for g, size in enumerate(whole.sizes) if size > 0])
    n, successes = sample.sizes, count_successes(sample, threshold, metric)
    found = compare_rates(successes, n, settings.four_fifths)
    large = n >= settings.min_group
    eligible = compare_rates(successes[large], n[large], settings.four_fifths)
    rate = success_rate(successes, n)
    apart = len(n) > 1 and found.dpd > 0
    row: Row = question.key | {
        "threshold": threshold,
        "primary": primary,
        "groups": pack_names(sample.names),
        "counts": pack_names(f"{s}/{m}" for s, m in zip(successes, n, strict=True)),
        "n": int(n.sum()),
        "dpd": found.dpd,
        "dir": found.dir,
        "saturated": found.saturated,
        "below_four_fifths": found.below_four_fifths,
        "best_group": sample.names[int(rate.argmax())] if apart else None,
        "worst_group": sample.names[int(rate.argmin())] if apart else None,
        "dpd_eligible": eligible.dpd,
        "dir_eligible": eligible.dir,
        "not_assessed": name_groups(whole, settings.min_group),
        "lowest_exact_bound": np.nan,
        "undefined_because": found.undefined_because,
    }
    if len(n):
        row["lowest_exact_bound"] = float(
            clopper_pearson_interval(successes, n, 1 - settings.alpha)[0].min()
        )
    row |= _no_intervals(None)
    if not primary or len(n) < 2:
        return row
    if n.min() < TOO_FEW:
        return row | _no_intervals("group under two exams: " + name_groups(sample, TOO_FEW))
    return row | _bound_rates(question, sample, threshold, settings)


INTERVALS = ("dir", "dir_percentile", "dir_exact", "dir_exact_percentile", "dpd", "dpd_percentile")


def _no_intervals(note: str | None) -> Row:
    row: Row = {f"{name}_{side}": np.nan for name in INTERVALS for side in ("low", "high")}
    empty = {"p_dir": np.nan, "p_dpd": np.nan, "interval_draws": 0}
    return row | empty | {"dir_method": None, "degenerate": False, "interval_note": note}


def _bound_rates(
    question: Question, sample: GroupedSample, threshold: float, settings: Audit
) -> Row:
    """Bootstrap and permute the success table of groups that all have at least two exams."""
    level = 1 - settings.alpha
    n, successes = sample.sizes, count_successes(sample, threshold, question.metric)
    success: NDArray[np.bool_] = succeed(sample.values, threshold, question.metric)
    patterns = find_patterns(sample.codes, success, sample.units, len(n))
    stream = question.stream(settings.seed, "bootstrap rates")
    tables = draw_tables(patterns, settings.bootstrap_draws, stream)
    ratio = bootstrap_interval(patterns, impact_ratio, tables, level)
    parity = bootstrap_interval(patterns, parity_difference, tables, level)
    exact = exact_interval(successes, n, level)
    bounds = {
        "dir": (ratio.low, ratio.high),
        "dir_percentile": (ratio.percentile_low, ratio.percentile_high),
        "dir_exact": (exact.low, exact.high),
        "dir_exact_percentile": (exact.percentile_low, exact.percentile_high),
        "dpd": (parity.low, parity.high),
        "dpd_percentile": (parity.percentile_low, parity.percentile_high),
    }
    row: Row = {f"{name}_low": low for name, (low, _) in bounds.items()}
    row |= {f"{name}_high": high for name, (_, high) in bounds.items()}
    row |= {
        "dir_method": ratio.method,
        "degenerate": ratio.degenerate,
        "interval_draws": ratio.draws,
    }
    row |= {"interval_note": ratio.note, "p_dir": np.nan, "p_dpd": np.nan}
    if settings.permutations > 0:
        stream = question.stream(settings.seed, "permute rates")
        permuted = permute_successes(sample, success, settings.permutations, stream)
        row["p_dpd"] = p_of_parity_difference(successes, n, permuted)
        if not np.array_equal(sample.units, sample.patients):
            # The published p of DIR shuffles what the bootstrap draws.
            drawn = replace(sample, patients=sample.units)
            permuted = permute_successes(drawn, success, settings.permutations, stream)
        row["p_dir"] = p_of_impact_ratio(successes, n, permuted)
    return row


def measure_power(question: Question, settings: Audit, family_size: int) -> list[Row]:
    """Find the gap this test finds with 80 % power, at alpha and at alpha over family size."""
    sample = tested_part(question.sample)
    stream = question.stream(settings.seed, "power")
    alphas = (settings.alpha, settings.alpha / max(family_size, 1))
    found = find_detectable_gap(sample, alphas, settings.power_draws, stream)
    observed = spread_of(group_medians(sample))
    return [
        question.key
        | {
            "correction": correction,
            "alpha": gap.alpha,
            "power": gap.power,
            "detectable_gap": gap.gap,
            "observed_gap": observed,
            "power_at_observed": gap.power_at_observed,
            "draws": gap.draws,
            "undefined_because": gap.undefined_because,
        }
        for correction, gap in zip(("none", "family"), found, strict=True)
    ]
