"""Everything two rulers say differently about one score in one grouping: spread, gap, parts,
verdict.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tworulers.schema import Audit, Provenance
from tworulers.stats.counterfactual import (
    Decomposition,
    decompose_h,
    find_equivalent_gap,
    swap_rulers,
)
from tworulers.stats.diagnosis import Evidence, Judgement, Verdict, judge
from tworulers.stats.pairs import GroupedPair
from tworulers.stats.redraw import SwapTest
from tworulers.stats.resample import named_stream
from tworulers.stats.spread import (
    DECIMALS,
    Spread,
    SpreadIntervals,
    SpreadTest,
    bootstrap_spread,
    compare_paired_spreads,
    locate_groups,
    measure_spread,
    permute_spread,
)

Row = dict[str, Any]

CONCERN = "This concerns the ruler; of the patients it says nothing."
"""What ends a verdict where no labels that can say so show a difference between the patients."""

OF_PATIENTS = {
    Provenance.TRUTH: "the noise-free truth ({}) shows",
    Provenance.GOLD: "the labels of experts ({}) show",
}
"""Whose labels may speak of the patients, the best first."""

FIGURES = (
    *("vcr_mad", "vcr_mad_low", "vcr_mad_high", "hc3_p"),
    *("gap_base", "gap_other", "gap_ratio", "gap_ratio_low", "gap_ratio_high"),
    *("growth_low", "growth_high", "shrinkage_low", "shrinkage_high"),
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
        """Name what the other ruler did, given which side is significant after adjustment.

        Parameters
        ----------
        significant_base, significant_other : after adjustment.
        alpha : level.
        own_p_crosses : whether the test's own p alone makes the change; true of a single test.
        swap_p : p of exchanging the rulers, adjusted over the family; the test's own if None.
        """
        evidence = Evidence(
            significant_base=significant_base,
            significant_other=significant_other,
            vcr_low=self.intervals.vcr_mad_low,
            vcr_high=self.intervals.vcr_mad_high,
            hc3_slope=self.tested.hc3_slope,
            hc3_p=self.tested.hc3_p,
            gap_ratio=self.spread.gap_ratio_median,
            gap_ratio_low=self.intervals.gap_ratio_low,
            gap_ratio_high=self.intervals.gap_ratio_high,
            growth_low=self.intervals.growth_low,
            shrinkage_low=self.intervals.shrinkage_low,
            gap_part=self.parts.gap_part,
            noise_part=self.parts.noise_part,
            own_p_crosses=own_p_crosses,
            swap_p=self.swapped.p if swap_p is None else swap_p,
        )
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
        return {
            "vcr_mad": self.spread.vcr_mad,
            "vcr_mad_low": self.intervals.vcr_mad_low,
            "vcr_mad_high": self.intervals.vcr_mad_high,
            "hc3_p": self.tested.hc3_p,
            "gap_base": self.spread.gap_base_median,
            "gap_other": self.spread.gap_other_median,
            "gap_ratio": self.spread.gap_ratio_median,
            "gap_ratio_low": self.intervals.gap_ratio_low,
            "gap_ratio_high": self.intervals.gap_ratio_high,
            "growth_low": self.intervals.growth_low,
            "growth_high": self.intervals.growth_high,
            "shrinkage_low": self.intervals.shrinkage_low,
            "shrinkage_high": self.intervals.shrinkage_high,
            "gap_part": self.parts.gap_part,
            "noise_part": self.parts.noise_part,
            "swap_p": self.swapped.p,
        }


def measure_disagreement(grouped: GroupedPair, settings: Audit) -> Disagreement:
    """Measure spread, gap and parts of one score in one grouping, at least two groups of two exams.

    Parameters
    ----------
    grouped : the paired scores.
    settings : numbers of draws and the seed.
    """
    data = (grouped.base, grouped.other, grouped.codes)
    clusters = grouped.clusters

    def stream(what: str) -> np.random.Generator:
        return named_stream(
            settings.seed, what, grouped.grouping, grouped.structure, grouped.metric.name
        )

    return Disagreement(
        spread=measure_spread(*data),
        tested=compare_paired_spreads(*data),
        intervals=bootstrap_spread(
            *data,
            draws=settings.bootstrap_draws,
            rng=stream("bootstrap spread"),
            clusters=clusters,
            level=1 - settings.alpha,
        ),
        exchanged=permute_spread(
            *data, draws=settings.permutations, rng=stream("exchange residuals"), clusters=clusters
        ),
        parts=decompose_h(*data),
        parts_by_means=decompose_h(*data, location="mean"),
        equivalent_gap=find_equivalent_gap(*data),
        swapped=swap_rulers(
            *data, draws=settings.permutations, rng=stream("swap rulers"), clusters=clusters
        ),
    )


def compare_gaps(grouped: GroupedPair, settings: Audit) -> Row:
    """Compare the gap between group medians on two sides, as one row with the interval of its
    change.

    `change` is `wider` or `narrower` where the paired change along the other or the base side's
    best and worst group lies beyond its interval, else `no clear change`.
    """
    data = (grouped.base, grouped.other, grouped.codes)
    spread = measure_spread(*data)
    drawn = bootstrap_spread(
        *data,
        draws=settings.bootstrap_draws,
        rng=_stream(grouped, settings, "bootstrap gaps"),
        clusters=grouped.clusters,
        level=1 - settings.alpha,
    )
    change = "no clear change"
    if drawn.growth_low > 0:
        change = "wider"
    elif drawn.shrinkage_low > 0:
        change = "narrower"
    return {
        "change": change,
        "gap_base": spread.gap_base_median,
        "gap_other": spread.gap_other_median,
        "gap_change": spread.gap_other_median - spread.gap_base_median,
        "gap_change_low": drawn.gap_change_low,
        "gap_change_high": drawn.gap_change_high,
        "gap_ratio": spread.gap_ratio_median,
        "gap_ratio_low": drawn.gap_ratio_low,
        "gap_ratio_high": drawn.gap_ratio_high,
        "growth_low": drawn.growth_low,
        "growth_high": drawn.growth_high,
        "shrinkage_low": drawn.shrinkage_low,
        "shrinkage_high": drawn.shrinkage_high,
    }


def _stream(grouped: GroupedPair, settings: Audit, what: str) -> np.random.Generator:
    names = (grouped.grouping, grouped.structure, grouped.metric.name)
    return named_stream(settings.seed, what, *names)


def order_groups(grouped: GroupedPair) -> Row:
    """Name best and worst group by median on both sides, write the medians, and tell a reversal.

    Tied groups share a place; it is a reversal only where no group holds it on both sides.
    """
    row: Row = {}
    places = []
    for side, scores in (("base", grouped.base), ("other", grouped.other)):
        medians = np.round(locate_groups(scores, grouped.codes, "median"), DECIMALS)
        oriented = medians if grouped.metric.higher_is_better else -medians
        best = [grouped.names[g] for g in np.flatnonzero(oriented == oriented.max())]
        worst = [grouped.names[g] for g in np.flatnonzero(oriented == oriented.min())]
        places.append((set(best), set(worst)))
        row |= {f"best_{side}": " = ".join(best), f"worst_{side}": " = ".join(worst)}
        row[f"medians_{side}"] = ", ".join(
            f"{name} {median:.4f}" for name, median in zip(grouped.names, medians, strict=True)
        )
    row["reversal"] = any(not (base & other) for base, other in zip(*places, strict=True))
    return row


def say_verdict(row: Row, grouped: GroupedPair, status: str) -> str:
    """Write a verdict with its figures in a few sentences.

    Parameters
    ----------
    row : of the verdict table.
    grouped : the score and grouping it is about.
    status : how close the other ruler is to the model.
    """
    base, other = f"the {row['base_ruler']} ruler", f"the {row['other_ruler']} ruler"
    close = "identical" if status == "identical" else "too close"
    what = {
        Verdict.FALSE_CONFIDENCE: f"{other} makes a difference significant by shrinking the noise, "
        "not by a wider gap",
        Verdict.FALSE_MAGNITUDE: f"{other} makes a difference significant by widening the gap",
        Verdict.MIXED: f"{other} makes a difference significant by less noise and a wider gap; "
        f"the {row['larger_part']} does more",
        Verdict.UNATTRIBUTED: "the rulers fall on different sides of the level without a change of "
        "gap or noise that could be told from chance",
        Verdict.REASSURANCE_BY_MAGNITUDE: f"{other} hides a difference by narrowing the gap",
        Verdict.REASSURANCE_BY_NOISE: f"{other} hides a difference by adding noise",
        Verdict.EXAGGERATED: f"{other} shows the difference larger than {base}",
        Verdict.UNDERSTATED: f"{other} shows the difference smaller than {base}",
        Verdict.NOT_SHOWN: f"the rulers fall on different sides of the level, but that {other} made "
        f"the change is not shown: {row['not_shown_because']}",
        Verdict.STABLE: "both rulers show a difference"
        if row["significant_base"]
        else "neither ruler shows a difference, which is no sign of equality",
        Verdict.TOO_CLOSE: f"{other} is {close} to the model: its agreement confirms nothing",
    }[Verdict(row["verdict"])]
    unit = f" {grouped.metric.unit}" if grouped.metric.unit else ""
    figures = "; ".join(
        [
            f"adjusted p {row['p_verdict_fdr_base']:.3g} under {base}, "
            f"{row['p_verdict_fdr_other']:.3g} under {other}"
            + (", patients kept together" if row["verdict_by"] == "patient" else ""),
            f"spread {row['base_ruler']} / {row['other_ruler']} {row['vcr_mad']:.2g} "
            f"[{row['vcr_mad_low']:.2g}, {row['vcr_mad_high']:.2g}]",
            f"gap {row['gap_base']:.4f} to {row['gap_other']:.4f}{unit}",
            f"exchanging the rulers p {row['swap_p']:.2g}, adjusted {row['swap_p_fdr']:.2g}",
        ]
    )
    patients = say_of_patients(row, unit)
    what = f"{patients} Of the ruler: {what}" if patients else what
    said = [f"{grouped.grouping}, {grouped.structure} {grouped.metric.title}: {what} ({figures})."]
    if row["reversal"]:
        said.append(
            f"Best and worst group: {row['best_base']} and {row['worst_base']} under {base}, "
            f"{row['best_other']} and {row['worst_other']} under {other}."
        )
    if status == "too_close" and row["verdict"] != Verdict.TOO_CLOSE:
        said.append(
            f"{other[0].upper()}{other[1:]} is too close to the model: base no verdict on "
            "fairness on it."
        )
    said.append(
        f"Provenance: {row['base_ruler']} is {row['base_provenance']}, "
        f"{row['other_ruler']} is {row['other_provenance']}."
    )
    return " ".join(said if patients else [*said, CONCERN])


def say_of_patients(row: Row, unit: str) -> str:
    """Say which difference between patients the best labels there are show; nothing where none do.

    Parameters
    ----------
    row : of the verdict table.
    unit : of the score, with a blank before it; empty where it has none.
    """
    for provenance, whose in OF_PATIENTS.items():
        for side in ("base", "other"):
            if row[f"{side}_provenance"] == provenance and row[f"significant_{side}"]:
                return (
                    f"{whose.format(row[f'{side}_ruler'])} a difference between the patients: "
                    f"best {row[f'best_{side}']}, worst {row[f'worst_{side}']}, medians "
                    f"{row[f'gap_{side}']:.4f}{unit} apart, adjusted p "
                    f"{row[f'p_verdict_fdr_{side}']:.2g}."
                )
    return ""


def say_not_shown(row: Row) -> str:
    """Say why a changed conclusion is not the ruler's doing, as far as was shown; else nothing."""
    reasons = []
    if row["made_by_correction"]:
        reasons.append(
            "made by the correction: with the test's own p alone exchanged, its adjusted p is "
            f"{row['p_fdr_own_exchanged']:.2g}"
        )
    if row["within_chance"] and np.isnan(row["swap_p"]):
        reasons.append("the change of the test was not tested (audit.permutations is 0)")
    elif row["within_chance"]:
        reasons.append(
            f"the change of the test is within chance, swap p {row['swap_p']:.2g}, adjusted "
            f"{row['swap_p_fdr']:.2g}"
        )
    if row["verdict"] == Verdict.NOT_SHOWN and not reasons:
        reasons.append(
            f"the labels of {row['other_ruler']} are declared to be experts' or the truth, which may "
            "be sharper, and nothing false is shown"
        )
    return "; ".join(reasons)
