"""What the audit says about one score in one grouping: test, disparity, differences, power."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from tworulers.battery.differences import (
    compare_groups,
    draw_locations,
    expand_level,
    gap_interval,
)
from tworulers.battery.unequal import judge_unequal
from tworulers.schema.metric import Metric
from tworulers.schema.settings import Audit
from tworulers.schema.tables import pack_names
from tworulers.stats.draw import named_stream
from tworulers.stats.groups import GroupedSample, group_means, group_medians, spread_of
from tworulers.stats.permute import (
    count_arrangements,
    p_of_impact_ratio,
    p_of_parity_difference,
    p_of_spreads,
    permute_successes,
)
from tworulers.stats.permute_together import p_of_ranks_together, share_labels
from tworulers.stats.ranks import compare_ranks, compare_spreads
from tworulers.stats.rates import (
    compare_rates,
    count_effective,
    count_successes,
    impact_ratio,
    parity_difference,
    rate_interval,
    success_rate,
)
from tworulers.stats.resample import (
    bootstrap_interval,
    draw_tables,
    exact_interval,
    find_patterns,
)
from tworulers.stats.types import Row

TOO_FEW = 2
"""A group with fewer exams is not tested."""

KEY = ["grouping", "structure", "metric"]
"""Columns that identify a question."""

PRIMARY, MAIN, INTERSECTIONS, RANDOM, EXTRA = "primary", "main", "intersections", "random", "extra"
"""Families: the questions locked beforehand; the stated scores by the stated groupings; crossed
groupings; random ones; more scores.
"""


@dataclass(frozen=True)
class Question:
    """One score in one grouping: the sample, its metric, and the names that its streams carry.

    `not_assessed` names the groups that the sample was already rid of, having too few exams.
    """

    grouping: str
    structure: str
    metric: Metric
    sample: GroupedSample
    not_assessed: str = ""

    @property
    def key(self) -> Row:
        """The columns that identify it."""
        return {"grouping": self.grouping, "structure": self.structure, "metric": self.metric.name}

    def stream(self, seed: int, what: str) -> np.random.Generator:
        """Its own source of chance for one statistic."""
        return named_stream(seed, what, self.grouping, self.structure, self.metric.name)


def tested_part(sample: GroupedSample) -> GroupedSample:
    """Keep the groups that have enough exams to be tested."""
    return sample.at_least(TOO_FEW)


def name_groups(sample: GroupedSample, below: int, at_least: int = 0) -> str:
    """List the groups with fewer than `below` and at least `at_least` exams, and how many."""
    return ", ".join(
        f"{name} (n {size})"
        for name, size in zip(sample.names, sample.sizes, strict=True)
        if at_least <= size < below
    )


def run_test(question: Question, settings: Audit) -> Row:
    """Test one score across groups: rank test, effect, gap, spread; its permutation p is that of `permute_ranks`.

    Groups with fewer are named in `not_assessed`, groups below `min_group` in `small_groups`. Where
    fewer than two groups remain, numbers are NaN and `undefined_because` says why. The permutation
    keeps the exams of a patient together; `permutation_undefined_because` says why there is none.
    """
    whole = question.sample
    sample = tested_part(whole)
    test = compare_ranks(sample)
    metric = question.metric
    ends = (test.highest, test.lowest)
    better, worse = ends if metric.higher_is_better else ends[::-1]
    fault = test.undefined_because
    if fault and len(sample.names) < len(whole.names):
        fault += "; not assessed: " + name_groups(whole, TOO_FEW)
    row: Row = (
        question.key
        | asdict(test)
        | {
            "groups": pack_names(sample.names),
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
    )
    row["permutation_undefined_because"] = fault or find_permutation_fault(sample, settings)
    row["spread_f"], row["spread_p"] = compare_spreads(sample)
    row["spread_p_verdict"] = row["spread_p"]
    if sample.repeats:
        stream = question.stream(settings.seed, "permute spreads")
        row["spread_p_verdict"] = p_of_spreads(sample, settings.permutations, stream)
    row["unequal_spread"] = bool(row["spread_p_verdict"] < settings.alpha)
    row |= judge_unequal(sample, fault, settings, question.stream(settings.seed, "unequal"))
    return row


def permute_ranks(
    questions: Sequence[Question], tests: Sequence[Row], settings: Audit
) -> list[float]:
    """Give the permutation p of each question of one grouping; scores of the same exams share their permutations.

    Each set of exams has the grouping's own source of chance, so that one score more does not move another.

    Parameters
    ----------
    questions : of one grouping.
    tests : as `run_test` gives them, row by row; NaN where one says why there is no permutation.
    settings : permutations and seed.
    """
    samples = [tested_part(question.sample) for question in questions]
    left = [n for n, test in enumerate(tests) if not test["permutation_undefined_because"]]
    p = [np.nan] * len(samples)
    while left:
        alike = [n for n in left if share_labels(samples[left[0]], samples[n])]
        stream = named_stream(settings.seed, "permute ranks", questions[0].grouping)
        found = p_of_ranks_together([samples[n] for n in alike], settings.permutations, stream)
        for n, one in zip(alike, found, strict=True):
            p[n] = float(one)
        left = [n for n in left if n not in alike]
    return p


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
    """Give the gaps of medians and means with intervals, and the differences of all pairs.

    Patients are drawn with all their exams, whatever the published resampling unit.
    """
    level = 1 - settings.alpha
    present = question.sample.at_least(1).by_patient
    stream = question.stream(settings.seed, "locations")
    medians, means = draw_locations(present, settings.bootstrap_draws, stream)
    enough = len(present.names) >= 2 and present.sizes.min() >= TOO_FEW
    gaps: Row = {}
    drawn_at = level
    if present.repeats:
        drawn_at = expand_level(level, len(np.unique(present.patients)), len(present.names))
    for name, drawn in (("median_gap", medians), ("mean_gap", means)):
        bounds = gap_interval(drawn, drawn_at) if enough else (np.nan, np.nan)
        gaps[f"{name}_low"], gaps[f"{name}_high"] = bounds
    threshold = settings.thresholds.get(question.metric.name)
    success = None
    if threshold is not None:
        success = question.metric.succeeds(present.values, threshold)
    pairs = compare_groups(present, success, medians, means, level)
    return gaps, [question.key | row for row in pairs]


def judge_rates(question: Question, threshold: float, settings: Audit, primary: bool) -> Row:
    """Reduce success rates at one threshold to DPD and DIR, with intervals at the primary one.

    `dpd` and `dir` are over all groups that have exams; `dpd_eligible` and `dir_eligible` over
    those with at least `min_group`. Intervals and permutation p are given where every group that
    has exams has at least two.
    """
    whole, metric = question.sample, question.metric
    sample = whole.at_least(1)
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
        "best_group": sample.names[int(rate.argmax())] if apart else None,
        "worst_group": sample.names[int(rate.argmin())] if apart else None,
        "dpd_eligible": eligible.dpd,
        "dir_eligible": eligible.dir,
        "not_assessed": name_groups(whole, settings.min_group),
    }
    effective = count_effective(sample, metric.succeeds(sample.values, threshold))
    lower = rate_interval(*effective, 1 - settings.alpha, "beta")[0]
    row |= asdict(found) | {"lowest_exact_bound": float(lower.min()) if len(n) else np.nan}
    row |= _no_intervals(None)
    if not primary or len(n) < 2:
        return row
    if n.min() < TOO_FEW:
        return row | _no_intervals("group under two exams: " + name_groups(sample, TOO_FEW))
    return row | _bound_rates(question, sample, threshold, settings)


INTERVALS = (
    "dir",
    "dir_bca",
    "dir_percentile",
    "dir_exact",
    "dir_exact_percentile",
    "dpd",
    "dpd_percentile",
)


def _no_intervals(note: str | None) -> Row:
    row: Row = {f"{name}_{side}": np.nan for name in INTERVALS for side in ("low", "high")}
    empty: Row = {"p_dir": np.nan, "p_dpd": np.nan, "interval_draws": 0}
    empty |= {"dir_method": None, "dir_bca_method": None}
    return row | empty | {"degenerate": False, "interval_note": note}


def _bound_rates(
    question: Question, sample: GroupedSample, threshold: float, settings: Audit
) -> Row:
    """Bootstrap and permute the success table of groups that all have at least two exams."""
    level = 1 - settings.alpha
    n, successes = sample.sizes, count_successes(sample, threshold, question.metric)
    success = question.metric.succeeds(sample.values, threshold)
    patterns = find_patterns(sample.codes, success, sample.patients, len(n))
    stream = question.stream(settings.seed, "bootstrap rates")
    tables = draw_tables(patterns, settings.bootstrap_draws, stream)
    together = ratio = bootstrap_interval(patterns, impact_ratio, tables, level)
    parity = bootstrap_interval(patterns, parity_difference, tables, level)
    if not np.array_equal(sample.units, sample.patients):
        # The published interval draws what it was asked to draw.
        patterns = find_patterns(sample.codes, success, sample.units, len(n))
        tables = draw_tables(patterns, settings.bootstrap_draws, stream)
        ratio = bootstrap_interval(patterns, impact_ratio, tables, level)
    exact = exact_interval(successes, n, level)
    enumerated = (exact.percentile_low, exact.percentile_high)
    # Enumerated tables take every exam as drawn on its own, which patients with several are not.
    is_exact = not np.isnan(exact.percentile_low) and not sample.repeats
    bounds = {
        "dir": enumerated if is_exact else (together.percentile_low, together.percentile_high),
        "dir_bca": (ratio.low, ratio.high),
        "dir_percentile": (ratio.percentile_low, ratio.percentile_high),
        "dir_exact": (exact.low, exact.high),
        "dir_exact_percentile": enumerated,
        "dpd": (parity.low, parity.high),
        "dpd_percentile": (parity.percentile_low, parity.percentile_high),
    }
    row: Row = {}
    for name, (low, high) in bounds.items():
        row |= {f"{name}_low": low, f"{name}_high": high}
    row |= {
        "dir_method": "exact_percentile" if is_exact else "percentile",
        "dir_bca_method": ratio.method,
        "degenerate": together.degenerate,
        "interval_draws": ratio.draws,
        "interval_note": ratio.note,
    }
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
