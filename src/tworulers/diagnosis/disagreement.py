"""Everything two rulers say differently about one score in one grouping: spread, gap, parts,
verdict.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from tworulers.battery.questions import Question
from tworulers.diagnosis.counterfactual import (
    Decomposition,
    decompose_h,
    find_equivalent_gap,
    swap_rulers,
)
from tworulers.diagnosis.mechanism import Evidence, Judgement, judge
from tworulers.schema.metric import DECIMALS
from tworulers.schema.settings import Audit
from tworulers.stats.dispersion import (
    GapIntervals,
    Spread,
    SpreadIntervals,
    bootstrap_gaps,
    bootstrap_spread,
    measure_spread,
    permute_spread,
)
from tworulers.stats.groups import group_medians
from tworulers.stats.paired_spread import SpreadTest, compare_paired_spreads
from tworulers.stats.permute import SwapTest
from tworulers.stats.types import Row

SIDES = ("base", "other")
CHANGE = ("growth_low", "growth_high", "shrinkage_low", "shrinkage_high")
GAPS = (
    *("change", "gap_base", "gap_other", "gap_change", "gap_change_low", "gap_change_high"),
    *("gap_ratio", "gap_ratio_low", "gap_ratio_high", *CHANGE),
)
"""The columns of a change of the gap between two sides."""

FIGURES = (
    *("vcr_mad", "vcr_mad_low", "vcr_mad_high", "hc3_p", "spread_p"),
    *("gap_base", "gap_other", "gap_ratio", "gap_ratio_low", "gap_ratio_high"),
    *("gap_change_low", "gap_change_high", *CHANGE, "gap_over_noise"),
    *("gap_part", "noise_part", "swap_p", "swap_p_fdr"),
)
"""The figures that a verdict rests on; missing where there is nothing to diagnose."""


@dataclass(frozen=True)
class Disagreement:
    """What was measured on one score in one grouping under two rulers."""

    spread: Spread
    tested: SpreadTest
    intervals: SpreadIntervals
    exchanged: SwapTest
    parts: Decomposition
    parts_by_means: Decomposition
    equivalent_gap: float
    swapped: SwapTest

    def judge(
        self,
        significant_base: bool,
        significant_other: bool,
        alpha: float,
        *,
        own_p_crosses: bool = True,
        swap_p: float | None = None,
    ) -> Judgement:
        """Name what made the conclusion change, given which side is significant after adjustment.

        Parameters
        ----------
        significant_base, significant_other : after adjustment.
        alpha : level.
        own_p_crosses : whether the test's own p alone makes the change; true of a single test.
        swap_p : p of exchanging the rulers, adjusted over the family; the test's own if None.
        """
        known = self.tabulate_figures() | {
            "significant_base": significant_base,
            "significant_other": significant_other,
            "spread_slope": self.tested.hc3_slope,
            "own_p_crosses": own_p_crosses,
            "swap_p_fdr": self.swapped.p if swap_p is None else swap_p,
        }
        evidence = Evidence(**{field.name: known[field.name] for field in fields(Evidence)})
        return judge(evidence, alpha=alpha)

    def tabulate_spread(self) -> Row:
        """Write spread, its tests and its intervals as one row."""
        reasons = [self.spread.undefined_because, self.tested.undefined_because]
        row = asdict(self.spread) | asdict(self.intervals) | asdict(self.tested)
        row |= {"exchange_p": self.exchanged.p}
        return row | {"undefined_because": ", ".join(filter(None, reasons)) or None}

    def tabulate_parts(self) -> Row:
        """Write the four tables, by medians and by means, as one row."""
        row = asdict(self.parts)
        row |= {f"{name}_by_means": value for name, value in asdict(self.parts_by_means).items()}
        return row | {"equivalent_gap": self.equivalent_gap, "swap_p": self.swapped.p}

    def tabulate_figures(self) -> Row:
        """Write the figures that a verdict rests on as one row, in the order of `FIGURES`."""
        known = asdict(self.tested) | asdict(self.parts) | _find_gaps(self.spread, self.intervals)
        known |= {"vcr_mad": self.spread.vcr_mad, "gap_over_noise": self.spread.snr_ratio_mad}
        known |= {"swap_p": self.swapped.p}
        return {name: known[name] for name in FIGURES if name in known}


def _find_gaps(spread: Spread, intervals: SpreadIntervals | GapIntervals) -> Row:
    """Name the gap between group medians on both sides, its ratio and all intervals."""
    gaps = {f"gap_{name}": getattr(spread, f"gap_{name}_median") for name in SIDES}
    return asdict(intervals) | gaps | {"gap_ratio": spread.gap_ratio_median}


def measure_disagreement(question: Question, settings: Audit) -> Disagreement:
    """Measure spread, gap and parts of one score in one grouping, at least two groups of two exams.

    Parameters
    ----------
    question : with the scores of both sides.
    settings : numbers of draws and the seed.
    """
    sample = question.sample

    def draw(what: str) -> dict[str, Any]:
        return {"draws": settings.permutations, "rng": question.stream(settings.seed, what)}

    return Disagreement(
        spread=measure_spread(sample),
        tested=compare_paired_spreads(sample, **draw("weigh residuals")),
        intervals=bootstrap_spread(
            sample,
            draws=settings.bootstrap_draws,
            rng=question.stream(settings.seed, "bootstrap spread"),
            level=1 - settings.alpha,
        ),
        exchanged=permute_spread(sample, **draw("exchange residuals")),
        parts=decompose_h(sample),
        parts_by_means=decompose_h(sample, location="mean"),
        equivalent_gap=find_equivalent_gap(sample),
        swapped=swap_rulers(sample, **draw("swap rulers")),
    )


def compare_gaps(question: Question, settings: Audit) -> Row:
    """Compare the gap between group medians on two sides, as one row with the interval of its
    change.

    `change` is `wider` or `narrower` where both the gap itself and the paired change along the other or the base side's
    best and worst group lie beyond their intervals, else `no clear change`. The pair alone takes groups that change
    places for a wider gap, the gap alone takes the noise of a maximum for one.
    """
    drawn = bootstrap_gaps(
        question.sample,
        draws=settings.bootstrap_draws,
        rng=question.stream(settings.seed, "bootstrap gaps"),
        level=1 - settings.alpha,
    )
    known = _find_gaps(measure_spread(question.sample), drawn)
    known["gap_change"] = known["gap_other"] - known["gap_base"]
    narrower = drawn.shrinkage_low > 0 and known["gap_change_high"] < 0
    wider = drawn.growth_low > 0 and known["gap_change_low"] > 0
    known["change"] = "wider" if wider else "narrower" if narrower else "no clear change"
    return {name: known[name] for name in GAPS}


def order_groups(question: Question) -> Row:
    """Name best and worst group by median on both sides, write the medians, and tell a reversal.

    Tied groups share a place; it is a reversal only where no group holds it on both sides.
    """
    row: Row = {}
    places = []
    names = question.sample.names
    for side, medians in zip(SIDES, group_medians(question.sample).round(DECIMALS), strict=True):
        oriented = question.metric.sign * medians
        best = [names[g] for g in np.flatnonzero(oriented == oriented.max())]
        worst = [names[g] for g in np.flatnonzero(oriented == oriented.min())]
        places.append((set(best), set(worst)))
        row |= {f"best_{side}": " = ".join(best), f"worst_{side}": " = ".join(worst)}
        written = [f"{name} {median:.4f}" for name, median in zip(names, medians, strict=True)]
        row[f"medians_{side}"] = ", ".join(written)
    row["reversal"] = any(not (base & other) for base, other in zip(*places, strict=True))
    return row
