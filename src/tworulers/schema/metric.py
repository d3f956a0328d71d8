"""One metric: which way is better, where its values lie, how they are written, and how they are computed."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

DECIMALS = 9
"""Scores are compared, ranked and written by so many decimals: beyond them they are not known."""

COUNTS, ELEMENTS, BORDER, EXAMS = "counts", "elements", "border", "set"
"""What a metric is computed from: voxel counts of one structure of one exam, distances between its surface elements or
its border voxels, or the counts of all exams.
"""


@dataclass(frozen=True)
class Metric:
    """One segmentation score: everything that is told of it, and how it is computed.

    All but `compute` is its declaration, which travels with a result. A metric that is read from a table, and not
    computed here, needs no more than a name, a title and a direction.

    Attributes
    ----------
    name, title : in tables and settings; in headings and sentences.
    higher_is_better : its direction.
    unit : of its values and differences; empty where it has none.
    low, high : the least and the largest value there can be; None where there is no bound. One that can be negative
        has no `low`.
    perfect : the value of a faultless prediction; None where there is none.
    both_empty : the value where neither mask holds the structure; None where it is then undefined.
    one_empty : the value where one mask holds it and the other does not; None where `compute` gives it.
    needs : what `compute` is given: `counts` (`metrics.overlap.Counts`), `elements` or `border`
        (`metrics.surface.SurfaceDistances`), or `set` (see `metrics.sets`).
    compute : from that and the audit's settings (`schema.settings.Audit`) to the value; None where it is only read.

    Examples
    --------
    >>> import tworulers as tr
    >>> error = tr.Metric("volume_error", "Volume error", higher_is_better=False, unit="mm3", low=0)
    >>> error.write_value(12.5), error.write_success(100)
    ('12.500 mm3', '< 100 mm3')
    """

    name: str
    title: str
    higher_is_better: bool
    unit: str = ""
    low: float | None = None
    high: float | None = None
    perfect: float | None = None
    both_empty: float | None = None
    one_empty: float | None = None
    needs: str = COUNTS
    compute: Callable[[Any, Any], Any] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse a metric that could not be computed of some exam."""
        if self.needs not in (COUNTS, ELEMENTS, BORDER, EXAMS):
            raise ValueError(
                f"metric {self.name} needs {self.needs!r}; expected one of {COUNTS}, {ELEMENTS}, {BORDER}, {EXAMS}"
            )
        if self.compute and self.needs in (ELEMENTS, BORDER) and self.one_empty is None:
            raise ValueError(
                f"metric {self.name} is of surfaces: give one_empty, its value where one mask has none"
            )

    @property
    def in_points(self) -> bool:
        """Tell whether differences are written in points, hundredths of a score from 0 to 1."""
        return not self.unit and (self.low, self.high) == (0, 1)

    @property
    def sign(self) -> float:
        """Return what turns values so that higher is better: 1 or -1."""
        return 1.0 if self.higher_is_better else -1.0

    def declare(self) -> dict[str, Any]:
        """Return all but how it is computed, for strict JSON: an infinite value by its word."""
        told = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "compute"}
        return {name: str(x) if x in (math.inf, -math.inf) else x for name, x in told.items()}

    @classmethod
    def of(cls, declared: dict[str, Any]) -> "Metric":
        """Take a metric from what `declare` returned."""
        infinite = {"inf": math.inf, "-inf": -math.inf}
        numbers = ("low", "high", "perfect", "both_empty", "one_empty")
        return cls(
            **declared
            | {x: infinite.get(declared[x], declared[x]) for x in numbers if x in declared}
        )

    def succeeds(
        self, values: Sequence[float] | NDArray[np.float64], threshold: float
    ) -> NDArray[np.bool_]:
        """Tell which scores, shape (n,), are strictly better than the threshold; undefined ones never are."""
        scores = np.asarray(values, dtype=np.float64)
        return scores > threshold if self.higher_is_better else scores < threshold

    def label(self, structure: str) -> str:
        """Write a score with its unit, for a heading or an axis: `HD95, macro (mm)`."""
        return (
            f"{self.title}, {structure} ({self.unit})"
            if self.unit
            else f"{self.title}, {structure}"
        )

    def name_of(self, structure: str) -> str:
        """Name a score within a sentence, without its unit: `macro Dice`."""
        return f"{structure} {self.title}"

    def write_bare(self, value: float) -> str:
        """Write a value without its unit: one from 0 to 1 with four decimals, others with three."""
        if not math.isfinite(value):
            return _write_endless(value)
        return f"{round(value, 4) + 0.0:.4f}" if self.in_points else _keep_digits(value, 3)

    def write_value(self, value: float) -> str:
        """Write a value with its unit, as in a sentence: `0.8962`, `3.412 mm`."""
        return _with_unit(self.write_bare(value), value, self.unit)

    def write_difference(self, value: float) -> str:
        """Write a difference of two values in the unit, or in points (hundredths) of a score from 0 to 1."""
        if self.in_points:
            return _with_unit(f"{round(100 * value, 2) + 0.0:.2f}", value, "points")
        return _with_unit(_keep_digits(value, 2), value, self.unit)

    def write_success(self, threshold: float) -> str:
        """Write what counts as success: `> 0.8`, `< 5 mm`."""
        return f"{'>' if self.higher_is_better else '<'} {threshold:g} {self.unit}".strip()


def _with_unit(number: str, value: float, unit: str) -> str:
    if math.isnan(value):
        return "undefined"
    return f"{number if math.isfinite(value) else _write_endless(value)} {unit}".strip()


def _write_endless(value: float) -> str:
    return "undefined" if math.isnan(value) else "∞" if value > 0 else "−∞"


def _keep_digits(value: float, decimals: int) -> str:
    """Write a number with so many decimals, a small one with three digits."""
    # A rounded -0.0 reads as a direction that is not there.
    value = round(value, DECIMALS) + 0.0
    small = 0 < abs(value) < 10.0 ** (1 - decimals)
    return f"{value:.3g}" if small else f"{value:.{decimals}f}"
