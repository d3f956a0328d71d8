"""Medians and spreads of many redrawn exams, from how often each was drawn: nothing that was drawn is sorted."""

from dataclasses import dataclass

import numpy as np

from tworulers.stats.draw import count_draws, split_draws
from tworulers.stats.groups import GroupedSample
from tworulers.stats.types import BoolArray, FloatArray, IntArray

MANY = 4_000
"""Exams above which counts are quicker than scores."""

COUNTED = 700_000
"""Counts held at a time: fewer are sorted too often, more leave the processor's cache."""

SLACK = 50
"""Exams looked at beyond where a median should be."""

ROUNDING = 1e-13
"""Part of a sum of squares that is rounding alone."""


@dataclass(frozen=True)
class Recount:
    """The exams of one group, (n,), and how often each draw holds them, (draws, n), as whole numbers."""

    rows: IntArray
    often: FloatArray


def recount_groups(sample: GroupedSample, *, draws: int, rng: np.random.Generator) -> list[Recount]:
    """Draw units within each group as `draw.draw_within_groups` does, from the same numbers of the stream."""
    found = []
    for g in range(len(sample.names)):
        rows = np.flatnonzero(sample.codes == g)
        unit = np.unique(sample.units[rows], return_inverse=True)[1]
        count = int(unit.max()) + 1
        often = count_draws(np.arange(count), count, draws, rng).astype(np.float64)
        found.append(Recount(rows, often if count == len(rows) else often[:, unit]))
    return found


def split_counted(draws: int, exams: int) -> list[int]:
    """Split draws of many exams into blocks: the draws of each."""
    return split_draws(draws, exams, COUNTED)


def find_medians(scores: FloatArray, often: FloatArray) -> FloatArray:
    """Find the median of each draw, (draws,), of scores (n,) drawn so `often`, (draws, n).

    Only exams near the middle are counted one by one; of the others it is enough how many were drawn.
    """
    order = np.argsort(scores, kind="stable")
    ordered, n = scores[order], len(scores)
    first, second = _middle_places(often.sum(axis=1))
    middle = n // 2
    early = np.zeros(n)
    early[order[:middle]] = 1.0
    before = often @ early
    width = _find_width(first, before)
    low, high = max(middle - width, 0), min(middle + width, n)
    running = np.cumsum(often[:, order[low:high]], axis=1)
    if middle > low:
        running += (before - running[:, middle - low - 1])[:, None]
    below = running[:, 0] - often[:, order[low]]
    if (below > first).any() or (running[:, -1] <= second).any():
        low, running = 0, np.cumsum(often[:, order], axis=1)
    places = [low + np.argmax(running > at[:, None], axis=1) for at in (first, second)]
    return np.asarray(0.5 * (ordered[places[0]] + ordered[places[1]]))


def sum_squares(scores: FloatArray, often: FloatArray) -> FloatArray:
    """Sum the squared distances of each draw's scores from their mean, (draws,)."""
    centred = scores - scores.mean()
    total, squared = (often @ np.column_stack([centred, centred**2])).T
    found = squared - total**2 / often.sum(axis=1)
    return np.where(found > ROUNDING * squared, found, 0.0)


def find_deviations(scores: FloatArray, groups: list[Recount], centres: FloatArray) -> FloatArray:
    """Find the median absolute deviation of each draw over all groups, (draws,).

    An exam's deviation moves with its group's median from draw to draw, by no more than the medians do, so that only
    exams near the middle deviation are looked at. Where that is not enough for a draw, all of it is.

    Parameters
    ----------
    scores : of all exams, (n,).
    groups : how often each was drawn, K of them.
    centres : median of each group in each draw, (draws, K).
    """
    home = np.array([np.median(scores[one.rows]) for one in groups])
    far = [np.abs(scores[one.rows] - at) for one, at in zip(groups, home, strict=True)]
    drawn = sum(one.often.sum(axis=1) for one in groups)
    first, second = _middle_places(np.asarray(drawn))
    moved = np.abs(centres - home).max(axis=1)
    ordered = np.sort(np.concatenate(far))
    middle = len(ordered) // 2
    width = _find_width(first, _count_below(groups, far, float(ordered[middle])))
    reach = 2 * float(moved.max())
    low = float(ordered[max(middle - width, 0)]) - reach
    high = float(ordered[min(middle + width, len(ordered) - 1)]) + reach
    near = [(one >= low) & (one <= high) for one in far]
    values, often = _gather(scores, groups, centres, near)
    before = _count_below(groups, far, low)
    found = np.full(len(centres), np.nan)
    for b in range(len(centres)):
        found[b] = _median_of_repeated(
            values[b], often[b], first[b] - before[b], second[b] - before[b]
        )
    unsure = ~((found >= low + moved) & (found <= high - moved))
    for b in np.flatnonzero(unsure).tolist():
        everything = [np.ones(len(one), dtype=np.bool_) for one in far]
        part = [Recount(one.rows, one.often[b : b + 1]) for one in groups]
        values, often = _gather(scores, part, centres[b : b + 1], everything)
        found[b] = _median_of_repeated(values[0], often[0], first[b], second[b])
    return found


def _middle_places(total: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Places of the two middle ones of so many, counted from 0."""
    return (total - 1) // 2, total // 2


def _find_width(place: FloatArray, before: FloatArray) -> int:
    """Exams on either side of the middle that hold every draw's median, of which `before` were drawn before it."""
    return 2 * int(np.abs(place - before).max()) + SLACK


def _count_below(groups: list[Recount], far: list[FloatArray], value: float) -> FloatArray:
    below = (one.often @ (by < value) for one, by in zip(groups, far, strict=True))
    return np.asarray(sum(below))


def _gather(
    scores: FloatArray, groups: list[Recount], centres: FloatArray, which: list[BoolArray]
) -> tuple[FloatArray, IntArray]:
    """Give the deviations of the exams in question in each draw, and how often they are drawn, both (draws, m)."""
    parts = [
        (np.abs(scores[one.rows[mine]] - centres[:, g, None]), one.often[:, mine])
        for g, (one, mine) in enumerate(zip(groups, which, strict=True))
    ]
    values, often = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    return values, often.astype(np.int64)


def _median_of_repeated(values: FloatArray, often: IntArray, low: float, high: float) -> float:
    """Mean of the values at two places, each value repeated so often; NaN where a place is not among them."""
    repeated = np.repeat(values, often)
    if low < 0 or high >= len(repeated):
        return float("nan")
    places = int(low), int(high)
    repeated.partition(places)
    return float(0.5 * (repeated[places[0]] + repeated[places[1]]))
