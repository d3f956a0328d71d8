"""Why do two rulers disagree about one grouping and score: did the gap change, the noise, both, or
neither, and is that shown?
"""

from dataclasses import asdict, dataclass
from enum import StrEnum

import numpy as np

from tworulers.stats.types import Row

HELD = 1.10
"""The gap counts as held where the other ruler sees at most this many times the base ruler's gap.
"""

DOMINATES = 2.0
"""The noise part explains a flip whose gap did not hold only where it is more than this many times
the gap part.
"""


class Part(StrEnum):
    """What moved between two rulers."""

    NOISE = "noise"
    GAP = "gap"
    BOTH = "both"
    NEITHER = "neither"


class Mechanism(StrEnum):
    """What made a conclusion change, as far as that is shown; `NONE` where none changed."""

    NOISE_SHOWN = "noise_part_shown"
    GAP_SHOWN = "gap_part_shown"
    BOTH_SHOWN = "both_parts_shown"
    BY_CORRECTION = "made_by_correction"
    LIKE_NOISE = "consistent_with_noise_part"
    LIKE_GAP = "consistent_with_gap_part"
    LIKE_BOTH = "consistent_with_both_parts"
    UNATTRIBUTED = "unattributed"
    NONE = "none"


SHOWN = (Mechanism.NOISE_SHOWN, Mechanism.GAP_SHOWN, Mechanism.BOTH_SHOWN)
"""The mechanisms that are shown."""

BY_PART = {
    Part.NOISE: (Mechanism.NOISE_SHOWN, Mechanism.LIKE_NOISE),
    Part.GAP: (Mechanism.GAP_SHOWN, Mechanism.LIKE_GAP),
    Part.BOTH: (Mechanism.BOTH_SHOWN, Mechanism.LIKE_BOTH),
    Part.NEITHER: (Mechanism.UNATTRIBUTED, Mechanism.UNATTRIBUTED),
}
"""What a change whose own p crosses is called where it is beyond chance, and where it is not."""


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on, for one grouping and score.

    Significance is that of the adjusted p; `own_p_crosses` tells whether the test falls on the other
    side of the level when its own p alone is exchanged and its family stays, `swap_p_fdr` whether
    the change of its statistic is beyond chance (rulers exchanged exam by exam, adjusted over the
    family). Bounds are those of percentile intervals (exams drawn within groups, pairs kept):
    `vcr_mad` is MAD base / MAD other, `gap_ratio` the ratio of gaps other / base, `gap_change` their
    difference, `growth_low` and `shrinkage_low` lower bounds of the paired change of the gap.
    `gap_over_noise` is how many times the base ruler's gap over its MAD the other ruler's is.
    `spread_p` and `spread_slope` test equal spread, positive where base is wider. The parts are those of
    H(other) - H(base).
    """

    significant_base: bool
    significant_other: bool
    vcr_mad_low: float
    vcr_mad_high: float
    spread_slope: float
    spread_p: float
    gap_ratio: float
    gap_change_low: float
    gap_change_high: float
    growth_low: float
    shrinkage_low: float
    gap_over_noise: float
    gap_part: float
    noise_part: float
    own_p_crosses: bool
    swap_p_fdr: float


@dataclass(frozen=True)
class Signs:
    """What the figures say of spread and gap, each at the level of the test of equal spread."""

    collapsed: bool
    widened: bool
    grew: bool
    held: bool
    shrank: bool
    gap_over_noise_rose: bool


@dataclass(frozen=True)
class Judgement:
    """A mechanism, and the facts and signs that it was made from.

    `part_moved` is what the figures of a changed conclusion point to, shown or not, and
    `larger_part` the larger one where both moved. `change_shown` is of every test: whether its
    statistic changed with the ruler beyond chance.
    """

    mechanism: Mechanism
    part_moved: Part
    larger_part: str | None
    own_p_crosses: bool
    change_shown: bool
    made_by_correction: bool
    within_chance: bool
    signs: Signs

    def tabulate(self) -> Row:
        """Write it as one row."""
        row: Row = asdict(self)
        signs: Row = row.pop("signs")
        texts = {name: str(row[name]) for name in ("mechanism", "part_moved")}
        return row | texts | signs


def judge(evidence: Evidence, *, alpha: float) -> Judgement:
    """Name what made the other ruler's conclusion another one, as far as that is shown.

    Parameters
    ----------
    evidence : of one grouping and score.
    alpha : level of the test of equal spread and of the exchange of rulers.

    Notes
    -----
    A mechanism is *shown* by three facts together: the test's own p crosses the level while its
    family stays (else the correction over the family made the change), the change of its statistic
    is beyond chance (a difference between significant and not significant need not be significant,
    Gelman and Stern 2006), and a part moved: gap or noise, with gap over noise on the side that the
    conclusion went to. A ruler that rescales all scores changes no rank, and flips by chance alone.
    """
    signs = read_signs(evidence, alpha)
    before, after = evidence.significant_base, evidence.significant_other
    beyond_chance = bool(evidence.swap_p_fdr < alpha)
    crosses = before != after and evidence.own_p_crosses
    part = Part.NEITHER
    if before != after:
        part = _explain_gained(evidence, signs, alpha) if after else _explain_lost(evidence, signs)
    if before == after:
        mechanism = Mechanism.NONE
    elif not crosses:
        mechanism = Mechanism.BY_CORRECTION
    else:
        mechanism = BY_PART[part][0 if beyond_chance else 1]
    larger = "gap" if abs(evidence.gap_part) > abs(evidence.noise_part) else "noise"
    return Judgement(
        mechanism=mechanism,
        part_moved=part,
        larger_part=larger if part is Part.BOTH else None,
        own_p_crosses=crosses,
        change_shown=beyond_chance,
        made_by_correction=before != after and not crosses,
        within_chance=before != after and not beyond_chance,
        signs=signs,
    )


def read_signs(evidence: Evidence, alpha: float) -> Signs:
    """Read from the paired intervals what became of spread and gap.

    Notes
    -----
    *Grew* asks two things, as a comparison of models does: the gap itself is larger beyond its
    interval, and so is the paired change along the other ruler's best and worst group. The pair
    alone takes the noise of a maximum for growth: of 627 chance flips between rulers of one gap and
    one noise it named a shown gap in 6.2 %, both together in .6 %, at the price of half of the gaps
    that grew by .8 spreads. *Shrank* mirrors it along the base ruler's best and worst group. Without
    a gap under the base ruler there is no ratio: it held if it did not grow, and gap over noise
    went the way of H.
    """
    differs = evidence.spread_p < alpha
    grew = evidence.growth_low > 0 and evidence.gap_change_low > 0
    ratio = evidence.gap_over_noise
    rose = ratio > 1 if np.isfinite(ratio) else evidence.gap_part + evidence.noise_part > 0
    return Signs(
        collapsed=bool(evidence.vcr_mad_low > 1 and differs),
        widened=bool(evidence.vcr_mad_high < 1 and differs),
        grew=bool(grew),
        held=bool(evidence.gap_ratio <= HELD if np.isfinite(evidence.gap_ratio) else not grew),
        shrank=bool(evidence.shrinkage_low > 0 and evidence.gap_change_high < 0),
        gap_over_noise_rose=bool(rose),
    )


def _explain_gained(evidence: Evidence, signs: Signs, alpha: float) -> Part:
    """Tell which part explains a flip to significance.

    It is the *noise* where the spread collapsed and the gap did not grow, the *gap* where it grew
    and nothing says that the spread collapsed, *both* where both happened; read from the paired
    intervals and the counterfactual parts, never from a ratio of standard deviations. Two choices
    follow the confusion matrix over simulated rulers (`docs/calibration.md`): a gap that sampling
    noise put above 1.10 times does not hide a collapse whose noise part is more than twice the gap
    part (demanding 1.10 alone leaves half of all collapses without a name); and *gap* needs a gap
    part larger than the noise part and no sign of collapse at all, neither by the interval nor by
    the test, or half-detected collapses with a grown gap would get the wrong name.
    """
    noise, gap = evidence.noise_part, evidence.gap_part
    tested = evidence.spread_p < alpha and evidence.spread_slope > 0
    if not signs.gap_over_noise_rose:
        return Part.NEITHER
    if signs.collapsed and signs.grew:
        return Part.BOTH
    if signs.collapsed and noise > 0 and (signs.held or noise > DOMINATES * gap):
        return Part.NOISE
    if signs.grew and not (evidence.vcr_mad_low > 1 or tested) and gap > max(noise, 0):
        return Part.GAP
    return Part.NEITHER


def _explain_lost(evidence: Evidence, signs: Signs) -> Part:
    """Tell which part explains a flip away from significance."""
    widened = signs.widened and evidence.noise_part < 0
    shrank = signs.shrank and evidence.gap_part < 0
    if signs.gap_over_noise_rose or not (widened or shrank):
        return Part.NEITHER
    if widened and shrank:
        return Part.BOTH
    return Part.NOISE if widened else Part.GAP
