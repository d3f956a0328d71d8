"""Order statistics of all sums or differences of pairs, found without forming the pairs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tworulers.stats.types import FloatArray, IntArray

ENUMERATED = 50_000
"""So many candidate pairs are formed at once; beyond them candidates are first halved by pivots."""


SORTED = 10_000
"""So many differences are formed and sorted at once where several of them are asked for."""


@dataclass(frozen=True)
class _Pairs:
    """Sums of rows and columns, `row[i] + column[j]`, of the columns from `start[i]` on.

    Attributes
    ----------
    row, column : finite values (n,) and (m,); columns ascend, and so do the sums of each row, rounding included.
    start, stop : columns of each row that may hold what is looked for, (n,).
    """

    row: FloatArray
    column: FloatArray
    start: IntArray
    stop: IntArray

    @property
    def count(self) -> int:
        """Count the candidates."""
        return int((self.stop - self.start).sum())

    def place(self, value: float, *, after: bool) -> IntArray:
        """Find the first candidate of each row whose sum is `value` or more, or, `after`, more than it, (n,)."""
        low, high = self.start.copy(), self.stop.copy()
        last = len(self.column) - 1
        for _ in range(int(np.max(high - low, initial=0)).bit_length()):
            middle = (low + high) // 2
            sums = self.row + self.column[np.minimum(middle, last)]
            before = (sums <= value if after else sums < value) & (low < high)
            low = np.where(before, middle + 1, low)
            high = np.where(before, high, middle)
        return low

    def keep(self, start: IntArray, stop: IntArray) -> "_Pairs":
        """Keep part of the candidates, and only the rows that have any."""
        used = stop > start
        return _Pairs(self.row[used], self.column, start[used], stop[used])

    def list_sums(self) -> FloatArray:
        """Form all candidates, (count,)."""
        width = self.stop - self.start
        first = np.repeat(self.start - (np.cumsum(width) - width), width)
        return np.repeat(self.row, width) + self.column[first + np.arange(len(first))]

    def find_pivot(self) -> float:
        """Give the median of the rows' middle sums, rows weighted by their candidates."""
        middle = self.row + self.column[(self.start + self.stop) // 2]
        order = np.argsort(middle)
        weight = np.cumsum((self.stop - self.start)[order])
        return float(middle[order[np.searchsorted(weight, weight[-1] / 2)]])


def median_of_sums(values: FloatArray) -> float:
    """Median of the averages of all pairs of (n,) finite values, each with itself included; NaN of none.

    This is the location that belongs to Wilcoxon's signed-rank test (Hodges and Lehmann 1963, Walsh averages). Time
    grows with n log(n) squared, memory with n.
    """
    if not len(values):
        return float("nan")
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    pairs = _Pairs(ordered, ordered, np.arange(n), np.full(n, n))
    return float(np.mean(0.5 * np.array(_find_middle(pairs))))


def median_of_differences(x: FloatArray, y: FloatArray) -> float:
    """Median of all differences `x[i] - y[j]`: the shift that belongs to the rank-sum test.

    Infinite values as in `quantile_of_differences`; NaN without any pair.
    """
    count = len(x) * len(y)
    return median_of_ordered(order_differences(x, y), count) if count else float("nan")


def median_of_ordered(find: Callable[[int], float], count: int) -> float:
    """Median of `count` ordered values, of which `find` gives the k-th smallest."""
    low, high = find((count - 1) // 2), find(count // 2)
    return low if low == high else (low + high) / 2


def order_differences(x: FloatArray, y: FloatArray) -> Callable[[int], float]:
    """Give what finds the k-th smallest of all differences `x[i] - y[j]`, as `quantile_of_differences` does.

    Few differences are sorted once, however many are asked for.
    """
    if len(x) * len(y) <= SORTED and np.isfinite(x).all() and np.isfinite(y).all():
        ordered = np.sort(np.subtract.outer(x, y), axis=None)
        return lambda k: float(ordered[k])
    return partial(quantile_of_differences, x, y)


def quantile_of_differences(x: FloatArray, y: FloatArray, k: int) -> float:
    """Find the k-th smallest of all differences `x[i] - y[j]`, `k` from 0 to nm - 1.

    Bounds of the shift between two groups are such order statistics (Hodges and Lehmann 1963, Moses 1965).

    Parameters
    ----------
    x, y : values (n,) and (m,) without NaN. An infinite value lies beyond every finite one; two that are equal are in
        the order of neither at any shift, and count half as the smallest and half as the largest differences.
    k : rank of the difference, counted from 0.

    Raises
    ------
    ValueError : where there is no such difference.
    """
    if not 0 <= k < len(x) * len(y):
        raise ValueError(f"expected a rank from 0 to {len(x) * len(y) - 1}, found {k}")
    row, column = (np.sort(np.asarray(side, dtype=np.float64)) for side in (x, -np.asarray(y)))
    ends = [[int((side == end).sum()) for end in (-np.inf, np.inf)] for side in (row, column)]
    (row_low, row_high), (column_low, column_high) = ends
    n, m = len(row) - row_low - row_high, len(column) - column_low - column_high
    level = row_low * column_high + row_high * column_low
    below = row_low * (column_low + m) + n * column_low + level // 2
    if k < below:
        return float("-inf")
    if k - below >= n * m:
        return float("inf")
    row, column = row[row_low : row_low + n], column[column_low : column_low + m]
    if n > m:
        row, column = column, row
    n, m = len(row), len(column)
    return _select(_Pairs(row, column, np.zeros(n, np.int64), np.full(n, m)), k - below)


def _find_middle(pairs: _Pairs) -> tuple[float, float]:
    """Give the two sums in the middle, twice the same of an odd number."""
    count = pairs.count
    low = _select(pairs, (count - 1) // 2)
    if count % 2:
        return low, low
    after = pairs.place(low, after=True)
    if int((after - pairs.start).sum()) > count // 2:
        return low, low
    left = after < pairs.stop
    return low, float((pairs.row[left] + pairs.column[after[left]]).min())


def _select(pairs: _Pairs, k: int) -> float:
    """Find the k-th smallest sum by pivots (Johnson and Mizoguchi 1978)."""
    while pairs.count > ENUMERATED:
        pivot = pairs.find_pivot()
        start, stop = pairs.place(pivot, after=False), pairs.place(pivot, after=True)
        below = int((start - pairs.start).sum())
        level = int((stop - start).sum())
        if k < below:
            pairs = pairs.keep(pairs.start, start)
        elif k < below + level:
            return pivot
        else:
            k -= below + level
            pairs = pairs.keep(stop, pairs.stop)
    sums = pairs.list_sums()
    return float(np.partition(sums, k)[k])
