"""How often exams of a group fail by the experts' labels, learnt from few of those and many machine labels.

The machine's label puts every exam into one of two classes, failed or not by its own score. The gold rate is the share
of the first class times the gold rate in it, and the same of the second; the shares are known from all exams, the
rates within from those with a gold label, and nothing is known of a class that has none. The bounds of the three are
joined as Zou and Donner (2008) do: distances add as squares. They are exact ones, since Wilson's pass over rates near
zero; differences of two groups are made of Wilson's, as Newcombe's (1998) are.
"""

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from tworulers.diagnosis.few_labels import FewLabels
from tworulers.stats.clustered_rates import design_effect, difference_interval
from tworulers.stats.dispersion import name_undefined
from tworulers.stats.rates import bound_rate
from tworulers.stats.types import Row

NAN = float("nan")

Method = Literal["wilson", "beta"]


@dataclass(frozen=True)
class FailureRate:
    """Share of exams that fail by the expert's label: of gold labels alone, and anchored.

    `failed` of the `n_gold` exams with a gold label failed by it and `silver_failed` of the `n_silver` without one by
    the silver label. `undefined_because` says why there is no anchored rate.
    """

    n_gold: int
    n_silver: int
    failed: int
    silver_failed: int
    gold_rate: float
    gold_low: float
    gold_high: float
    rate: float
    low: float
    high: float
    undefined_because: str | None


def rate_failures(
    scores: FewLabels, *, level: float = 0.95, method: Method = "beta"
) -> FailureRate:
    """Estimate how often exams of a population fail by the expert's label from few gold and many silver labels.

    Parameters
    ----------
    scores : of a sample of the population, with a threshold.
    level : coverage of the intervals. Exams of one patient count as fewer, by the design effect.
    method : of the interval of each rate, as of `rate_interval`.
    """
    drawn, failed, by_silver = scores.labelled, scores.failed, scores.silver_failed
    n, more = int(drawn.sum()), int((~drawn).sum())
    counts: Row = {
        "n_gold": n,
        "n_silver": more,
        "failed": int(failed.sum()),
        "silver_failed": int((by_silver & ~drawn).sum()),
    }
    if n == 0:
        nothing: Row = name_undefined(FailureRate)
        return FailureRate(**counts, **nothing, undefined_because="no gold exam")
    counted = n / design_effect(failed[drawn], scores.patients[drawn])
    gold_rate = counts["failed"] / n
    gold = (gold_rate, *bound_rate(gold_rate, counted, level, method))
    because = _why_not_anchored(scores, more)
    anchored = (NAN, NAN, NAN) if because else _join_classes(scores, counted / n, level, method)
    bounds: Row = dict(zip(("gold_rate", "gold_low", "gold_high"), gold, strict=True))
    bounds |= dict(zip(("rate", "low", "high"), anchored, strict=True))
    return FailureRate(**counts, **bounds, undefined_because=because)


def _why_not_anchored(scores: FewLabels, more: int) -> str | None:
    drawn, by_silver = scores.labelled, scores.silver_failed
    if more < 2:
        return "fewer than two exams with a silver score alone"
    for inside, name in ((by_silver, "failed"), (~by_silver, "not failed")):
        if inside.any() and not (inside & drawn).any():
            return f"no gold exam among those {name} by silver"
    return None


def _join_classes(
    scores: FewLabels, counted: float, level: float, method: Method
) -> tuple[float, float, float]:
    """Join rates within the exams that silver calls failed or not; an exam with a gold label counts as `counted`."""
    drawn, failed, by_silver = scores.labelled, scores.failed, scores.silver_failed
    share = float(by_silver.mean())
    effect = design_effect(by_silver, scores.patients)
    share_low, share_high = bound_rate(share, len(by_silver) / effect, level, method)
    within = []
    for inside in (by_silver & drawn, ~by_silver & drawn):
        n = int(inside.sum())
        rate = float(failed[inside].mean()) if n else 0.0
        # A class that no exam is in weighs nothing, whatever its rate.
        bounds = bound_rate(rate, n * counted, level, method) if n else (rate, rate)
        within.append((rate, *bounds))
    (one, one_low, one_high), (other, other_low, other_high) = within
    if not (by_silver & drawn).any():
        one = one_low = one_high = other
    if not (~by_silver & drawn).any():
        other = other_low = other_high = one
    rate, slope = share * one + (1 - share) * other, one - other
    shifts = sorted((slope * (share_low - share), slope * (share_high - share)))
    below = np.array([share * (one - one_low), (1 - share) * (other - other_low), shifts[0]])
    above = np.array([share * (one_high - one), (1 - share) * (other_high - other), shifts[1]])
    low, high = rate - np.linalg.norm(below), rate + np.linalg.norm(above)
    return rate, max(0.0, float(low)), min(1.0, float(high))


def rate_groups(
    scores: FewLabels, groups: pd.Series, *, level: float = 0.95
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Estimate every group's failure rate, and the difference of every pair of groups.

    Parameters
    ----------
    scores : of n exams, with a threshold.
    groups : (n,) ordered categorical of the same exams; missing is in no group.
    level : coverage.

    Returns
    -------
    `group` and the fields of `FailureRate`; and `group_a`, `group_b`, the difference second minus first with its
    interval, and that from gold labels alone.
    """
    names = [str(name) for name in groups.cat.categories]
    parts = [scores.part((groups == name).to_numpy()) for name in groups.cat.categories]
    found = [rate_failures(part, level=level) for part in parts]
    rates = pd.DataFrame({"group": x, **asdict(one)} for x, one in zip(names, found, strict=True))
    hybrid = [rate_failures(part, level=level, method="wilson") for part in parts]
    gaps = [
        {"group_a": names[a], "group_b": names[b], **_compare(hybrid[a], hybrid[b])}
        for a, b in combinations(range(len(names)), 2)
    ]
    return rates, pd.DataFrame(gaps)


def _compare(a: FailureRate, b: FailureRate) -> dict[str, float]:
    row: dict[str, float] = {}
    for name, first, second in (
        ("difference", (a.rate, a.low, a.high), (b.rate, b.low, b.high)),
        (
            "gold_difference",
            (a.gold_rate, a.gold_low, a.gold_high),
            (b.gold_rate, b.gold_low, b.gold_high),
        ),
    ):
        low, high = difference_interval(first, second)
        row |= {name: second[0] - first[0], f"{name}_low": low, f"{name}_high": high}
    return row
