"""Why do two rulers disagree about one grouping and score: did the gap change, the noise, both, or
neither?
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

HELD = 1.10
"""The gap counts as held where the other ruler sees at most this many times the base ruler's gap.
"""

DOMINATES = 2.0
"""The noise part explains a flip whose gap did not hold only where it is more than this many times
the gap part.
"""


class Verdict(StrEnum):
    """What a ruler did to one conclusion of the audit."""

    FALSE_CONFIDENCE = "false_confidence"
    FALSE_MAGNITUDE = "false_magnitude"
    MIXED = "mixed"
    UNATTRIBUTED = "unattributed"
    NOT_SHOWN = "not_shown"
    REASSURANCE_BY_MAGNITUDE = "false_reassurance_by_magnitude"
    REASSURANCE_BY_NOISE = "false_reassurance_by_noise"
    EXAGGERATED = "exaggerated"
    UNDERSTATED = "understated"
    STABLE = "stable"
    TOO_CLOSE = "too_close"
    UNDEFINED = "undefined"


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on, for one grouping and score.

    Significance is that of the adjusted p; `own_p_crosses` tells whether the test falls on the other
    side of the level when its own p alone is exchanged and its family stays, `swap_p` whether the
    change of its statistic is beyond chance (rulers exchanged exam by exam, adjusted over the
    family). Bounds are those of percentile intervals (exams drawn
    within groups, pairs kept): `vcr` is MAD base / MAD other, `gap_ratio` the ratio of gaps other /
    base, `growth_low` and `shrinkage_low` lower bounds of the paired change of the gap. `hc3_p` and
    `hc3_slope` test equal spread, positive where base is wider. The parts are those of H(other) -
    H(base).
    """

    significant_base: bool
    significant_other: bool
    vcr_low: float
    vcr_high: float
    hc3_slope: float
    hc3_p: float
    gap_ratio: float
    gap_ratio_low: float
    gap_ratio_high: float
    growth_low: float
    shrinkage_low: float
    gap_part: float
    noise_part: float
    own_p_crosses: bool
    swap_p: float


@dataclass(frozen=True)
class Judgement:
    """A verdict, the larger part where it is mixed, and the findings it was made from.

    `consistent_with` is what the figures of a changed conclusion would be called if it were shown;
    empty where no conclusion changed.
    """

    verdict: Verdict
    consistent_with: str
    larger_part: str | None
    made_by_correction: bool
    within_chance: bool
    collapsed: bool
    widened: bool
    grew: bool
    held: bool
    shrank: bool


def judge(evidence: Evidence, *, alpha: float) -> Judgement:
    """Name what the other ruler did to the base ruler's conclusion.

    Parameters
    ----------
    evidence : of one grouping and score.
    alpha : level of the test of equal spread.

    Notes
    -----
    A flip to significance is *false confidence* where the spread collapsed and the gap did not
    grow, *false magnitude* where the gap grew and nothing says that the spread collapsed, *mixed*
    where both happened. Which of the two did it is read from the paired intervals and from the
    counterfactual parts, never from a ratio of standard deviations. Four choices follow the
    confusion matrix over simulated rulers (`docs/calibration.md`):

    - *grew* is the lower bound of the paired growth along the other ruler's best and worst group,
      or of the ratio of gaps, above its null. The ratio alone misses half of the grown gaps: a base
      gap near zero, which is what makes the base ruler insignificant, stretches its interval to
      both sides.
    - a gap that sampling noise put above 1.10 times does not hide a collapse whose noise part is
      more than twice the gap part; demanding 1.10 alone leaves half of all collapses without a
      name.
    - *false magnitude* needs a gap part larger than the noise part, and no sign of collapse at all:
      neither the interval nor the test. Otherwise half-detected collapses with a grown gap would
      get the wrong name.
    - *shrank* mirrors *grew*: the paired shrinkage along the base ruler's best and worst group.

    A changed conclusion gets none of these names, but *not shown*, where its own p alone does not
    make the change (the correction over the family does), or where the change of the test is within
    chance: a difference between significant and not significant need not be significant (Gelman and
    Stern 2006). A ruler that rescales all scores changes no rank, and flips by chance alone.
    """
    collapsed = evidence.vcr_low > 1 and evidence.hc3_p < alpha
    widened = evidence.vcr_high < 1 and evidence.hc3_p < alpha
    hinted = evidence.vcr_low > 1 or (evidence.hc3_p < alpha and evidence.hc3_slope > 0)
    grew = evidence.growth_low > 0 or evidence.gap_ratio_low > 1
    shrank = evidence.shrinkage_low > 0 or evidence.gap_ratio_high < 1
    # Without a gap under the base ruler there is no ratio: it held if the other ruler sees none
    # either.
    held = evidence.gap_ratio <= HELD if np.isfinite(evidence.gap_ratio) else not grew

    larger_part = None
    match evidence.significant_base, evidence.significant_other:
        case False, True:
            noise, gap = evidence.noise_part, evidence.gap_part
            if collapsed and grew:
                verdict, larger_part = Verdict.MIXED, "gap" if gap > noise else "noise"
            elif collapsed and noise > 0 and (held or noise > DOMINATES * gap):
                verdict = Verdict.FALSE_CONFIDENCE
            elif grew and not hinted and gap > max(noise, 0):
                verdict = Verdict.FALSE_MAGNITUDE
            else:
                verdict = Verdict.UNATTRIBUTED
        case True, False:
            if shrank and not widened:
                verdict = Verdict.REASSURANCE_BY_MAGNITUDE
            elif widened:
                verdict = Verdict.REASSURANCE_BY_NOISE
            else:
                verdict = Verdict.UNATTRIBUTED
        case True, True if evidence.gap_ratio_low > 1:
            verdict = Verdict.EXAGGERATED
        case True, True if evidence.gap_ratio_high < 1:
            verdict = Verdict.UNDERSTATED
        case _:
            verdict = Verdict.STABLE
    flipped = evidence.significant_base != evidence.significant_other
    by_correction = flipped and not evidence.own_p_crosses
    within_chance = flipped and not evidence.swap_p < alpha
    return Judgement(
        verdict=Verdict.NOT_SHOWN if by_correction or within_chance else verdict,
        consistent_with=str(verdict) if flipped else "",
        larger_part=larger_part,
        made_by_correction=by_correction,
        within_chance=within_chance,
        collapsed=bool(collapsed),
        widened=bool(widened),
        grew=bool(grew),
        held=bool(held),
        shrank=bool(shrank),
    )
