"""How many exams each group has, where their scores lie, and how widely they spread."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tworulers.schema.metric import DECIMALS
from tworulers.stats.types import FloatArray, IntArray, Row


@dataclass(frozen=True)
class GroupedSample:
    """One score of the exams that are in a group, by one ruler or two, undefined values set apart.

    Attributes
    ----------
    values : scores, shape (n,), or (2, n) of the same exams on two sides; `inf` allowed, NaN not.
    codes : position of each exam's group in `names`, shape (n,), int64.
    names : groups in their order of display, also those without an exam.
    patients : patient of each exam as a number, shape (n,), int64; permutations keep them together.
    units : what resampling draws, as the number of each exam's unit, shape (n,), int64.
    n_undefined : exams of each group whose score is undefined, shape (k,), int64.
    n_left_out : exams that are in no group of this grouping.
    """

    values: FloatArray
    codes: IntArray
    names: tuple[str, ...]
    patients: IntArray
    units: IntArray
    n_undefined: IntArray
    n_left_out: int

    @property
    def sizes(self) -> IntArray:
        """Defined scores of each group, shape (k,)."""
        return np.bincount(self.codes, minlength=len(self.names)).astype(np.int64)

    @property
    def repeats(self) -> bool:
        """Tell whether a patient has several of these exams."""
        return len(np.unique(self.patients)) < len(self.patients)

    @property
    def by_patient(self) -> "GroupedSample":
        """Return the sample with patients as what resampling draws."""
        return replace(self, units=self.patients)

    def of(self, group: int) -> FloatArray:
        """Return the scores of one group, given by its position."""
        return np.asarray(self.values[..., self.codes == group])

    def keep(self, groups: list[int]) -> "GroupedSample":
        """Return the sample with some of its groups only, given by position and renumbered."""
        new = np.full(len(self.names), -1, dtype=np.int64)
        new[groups] = np.arange(len(groups))
        inside = new[self.codes] >= 0
        return GroupedSample(
            values=self.values[..., inside],
            codes=new[self.codes[inside]],
            names=tuple(self.names[g] for g in groups),
            patients=self.patients[inside],
            units=self.units[inside],
            n_undefined=self.n_undefined[groups],
            n_left_out=self.n_left_out + int((~inside).sum()),
        )

    def at_least(self, size: int) -> "GroupedSample":
        """Return the sample with the groups that have so many scores."""
        return self.keep([g for g, n in enumerate(self.sizes) if n >= size])


def group_sample(
    values: FloatArray,
    groups: pd.Series,
    patients: IntArray | None = None,
    units: IntArray | None = None,
) -> GroupedSample:
    """Put scores into groups, counting what is undefined and who is in no group.

    Scores of one side are rounded to `DECIMALS`, for means over structures can differ by the order of their sum alone,
    and then they tie. Those of two sides are left as they are, since ratios of small spreads would show it; whatever
    ranks them rounds first.

    Parameters
    ----------
    values : one score an exam, shape (n,), or one a side and exam, (2, n); NaN is undefined.
    groups : ordered categorical, length n, row by row with `values`; missing is in no group.
    patients : patient of each exam as a number, shape (n,); every exam is its own patient if None.
    units : what resampling draws, shape (n,); patients if None.

    Raises
    ------
    TypeError : where `groups` is not categorical, since its order would be lost.
    """
    if not isinstance(groups.dtype, pd.CategoricalDtype):
        raise TypeError(
            f"grouping {groups.name!r} has type {groups.dtype}, expected ordered categories"
        )
    codes = np.asarray(groups.cat.codes, dtype=np.int64)
    names = tuple(str(name) for name in groups.cat.categories)
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 1:
        values = np.round(values, DECIMALS)
    if patients is None:
        patients = np.arange(len(codes), dtype=np.int64)
    if units is None:
        units = patients
    inside = codes >= 0
    undefined = np.atleast_2d(np.isnan(values)).any(axis=0)
    used = inside & ~undefined
    return GroupedSample(
        values=values[..., used],
        codes=codes[used],
        names=names,
        patients=np.asarray(patients, dtype=np.int64)[used],
        units=np.asarray(units, dtype=np.int64)[used],
        n_undefined=np.bincount(codes[inside & undefined], minlength=len(names)).astype(np.int64),
        n_left_out=int((~inside).sum()),
    )


def pair_sample(
    base: FloatArray,
    other: FloatArray,
    codes: IntArray,
    names: Sequence[str] | None = None,
    units: IntArray | None = None,
) -> GroupedSample:
    """Put the scores of the same exams on two sides into groups that no exam is missing from.

    Parameters
    ----------
    base, other : finite scores, (n,).
    codes : group of each exam, (n,), 0 to K - 1, no group empty.
    names : of the groups, (K,); their numbers if None.
    units : what resampling draws, (n,); exams if None.
    """
    k = int(codes.max()) + 1
    labels = tuple(names or map(str, range(k)))
    units = np.arange(len(codes), dtype=np.int64) if units is None else units
    nothing = np.zeros(k, dtype=np.int64)
    return GroupedSample(np.stack([base, other]), codes, labels, units, units, nothing, 0)


def summarise_groups(sample: GroupedSample) -> list[Row]:
    """Describe the scores of each group: n, mean and SD of finite values, order statistics of all.

    An infinite score counts in the order statistics and is left out of mean and SD; `n_infinite`
    says how many. SD has n - 1 below; one exam has none (NaN).

    Returns
    -------
    One row a group, in order: group, n_undefined, then what `describe` gives.
    """
    return [
        {"group": name, "n_undefined": int(sample.n_undefined[g]), **describe(sample.of(g))}
        for g, name in enumerate(sample.names)
    ]


def describe(values: FloatArray) -> Row:
    """Describe scores without NaN: count, mean and SD of finite ones, order statistics of all."""
    finite = values[np.isfinite(values)]
    row: Row = {"n": len(values), "n_infinite": len(values) - len(finite)}
    row["mean"] = float(finite.mean()) if len(finite) else np.nan
    row["sd"] = float(finite.std(ddof=1)) if len(finite) > 1 else np.nan
    names = ("minimum", "q1", "median", "q3", "maximum")
    marks = order_quantiles(values, np.array([0.0, 0.25, 0.5, 0.75, 1.0]))
    return row | dict(zip(names, map(float, marks), strict=True))


def order_quantiles(values: FloatArray, shares: FloatArray) -> FloatArray:
    """Interpolated quantiles that stay defined beside infinite values; NaN where none is."""
    if not len(values):
        return np.full(len(shares), np.nan)
    position = shares * (len(values) - 1)
    below = np.floor(position).astype(int)
    above = np.ceil(position).astype(int)
    # a few places take a sixth of the time of the whole order
    ordered = np.partition(values, np.append(below, above))
    low, high = ordered[below], ordered[above]
    weight = position - below
    # two infinite neighbours are equal, and inf - inf must not be formed
    rise = np.zeros_like(low)
    np.subtract(high, low, out=rise, where=low != high)
    quantiles: FloatArray = low + weight * rise
    return quantiles


def group_medians(sample: GroupedSample) -> FloatArray:
    """Median of each group, (..., k); NaN without a score, infinite where most are."""
    parts = [sample.of(g) for g in range(len(sample.names))]
    empty = np.full(sample.values.shape[:-1], np.nan)
    medians = [np.median(part, axis=-1) if part.shape[-1] else empty for part in parts]
    return np.stack(medians, axis=-1) if parts else empty[..., None][..., :0]


def group_means(sample: GroupedSample) -> FloatArray:
    """Mean of the finite scores of each group, (..., k); NaN for a group without one."""
    member = (sample.codes[:, None] == np.arange(len(sample.names))).astype(np.float64)
    finite = np.isfinite(sample.values)
    n = finite @ member
    total = np.where(finite, sample.values, 0.0) @ member
    return np.asarray(np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0))


def spread_of(locations: FloatArray) -> float:
    """Largest minus smallest location, (k,); NaN is no group, and beside infinity there is none."""
    known = locations[~np.isnan(locations)]
    if len(known) < 2 or not np.isfinite(known).all():
        return float("nan")
    return float(known.max() - known.min())
