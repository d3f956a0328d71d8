"""What a calibration measures: shares of simulated studies, each with its error and the bound that has to hold."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

WIDENING = 2.0
"""Standard errors by which every bound is widened."""


@dataclass(frozen=True)
class Row:
    """One cell: how often something happened in simulated studies, or another figure with its own error.

    Attributes
    ----------
    scenario : what was simulated, in words that stand alone.
    what : what was counted, such as `rank test rejects` or `interval holds the truth`.
    value : the share of studies (0 to 1), or another figure where `error` is given.
    studies : simulated.
    at_least, at_most : what must hold, to two standard errors; NaN where nothing is asked.
    error : standard error of a figure that is no share; NaN for shares.
    """

    scenario: str
    what: str
    value: float
    studies: int
    at_least: float = float("nan")
    at_most: float = float("nan")
    error: float = float("nan")

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "Row":
        """Read a row back; what a record leaves out is NaN."""
        return cls(**{"value": float("nan"), **record})

    @property
    def standard_error(self) -> float:
        """Return the standard error, of a share by the binomial."""
        return self.error if np.isfinite(self.error) else _error_of(self.value, self.studies)

    @property
    def holds(self) -> bool:
        """Tell whether the value lies within its bounds, each widened by two standard errors at the bound."""
        low, high = (
            bound
            + side
            * WIDENING
            * (self.error if np.isfinite(self.error) else _error_of(bound, self.studies))
            for side, bound in ((-1, self.at_least), (1, self.at_most))
        )
        return not (self.value < low or self.value > high or np.isnan(self.value))


@dataclass(frozen=True)
class Topic:
    """A section of the calibration page.

    Attributes
    ----------
    title : of the section.
    introduction : what was simulated, and how to read the rows; Markdown.
    measure : makes the rows from the number of studies a cell and a source of chance.
    studies : a cell, in the full run.
    measured : dotted names of the modules whose code is measured; their digest stands on the page.
    """

    title: str
    introduction: str
    measure: Callable[[int, np.random.Generator], list[Row]]
    studies: int
    measured: tuple[str, ...]


def _error_of(share: float, studies: int) -> float:
    return float(np.sqrt(max(share * (1 - share), 0.0) / studies)) if studies else float("nan")
