"""What a simulated population does to the AUC matrix: exact values, samples, and the paradox."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

from tworulers.stats.auc import AucMatrix, assemble_matrix

FloatArray = NDArray[np.float64]

MALE, FEMALE = "m", "f"
NODES = 400


@dataclass(frozen=True)
class Scenario:
    """A population of two groups whose risks follow normal distributions cut to [0, 1].

    Attributes: the share of men, each group's event rate, the mean (before cutting) of the risk of
    each group and outcome, and the standard deviation they share.
    """

    name: str
    p_male: float
    prevalence_male: float
    prevalence_female: float
    mean_non_event_male: float
    mean_event_male: float
    mean_non_event_female: float
    mean_event_female: float
    sd: float

    def event_means(self) -> tuple[float, float]:
        """Means of events, men first."""
        return self.mean_event_male, self.mean_event_female

    def non_event_means(self) -> tuple[float, float]:
        """Means of non-events, men first."""
        return self.mean_non_event_male, self.mean_non_event_female

    def masses(self) -> tuple[FloatArray, FloatArray]:
        """Population share of events and of non-events by group, men first."""
        shares = np.array([self.p_male, 1 - self.p_male])
        prevalence = np.array([self.prevalence_male, self.prevalence_female])
        return shares * prevalence, shares * (1 - prevalence)


SCENARIOS: tuple[Scenario, ...] = (
    Scenario("i", 0.8, 0.02, 0.03, 0.015, 0.031, 0.025, 0.034, 0.01),
    Scenario("ii", 0.8, 0.02, 0.03, 0.015, 0.031, 0.033, 0.045, 0.01),
    Scenario("iii", 0.8, 0.02, 0.03, 0.016, 0.031, 0.030, 0.045, 0.01),
)
"""The three populations of the AUC parity paper, in its order (its Table 2)."""

COLUMNS: tuple[str, ...] = (
    "auc", "auc_m", "auc_f", "xauc_mf", "xauc_fm", "xauc1_m", "xauc1_f", "d_auc", "d_xauc",
    "d_xauc1",
)  # fmt: skip
"""The columns of its Table 3; xauc_mf sets events of men against non-events of women."""

PRINTED: dict[str, tuple[float, ...]] = {
    "i": (0.85, 0.88, 0.73, 0.67, 0.92, 0.84, 0.88, 0.15, 0.25, 0.04),
    "ii": (0.84, 0.88, 0.80, 0.44, 0.99, 0.79, 0.95, 0.08, 0.55, 0.16),
    "iii": (0.84, 0.86, 0.86, 0.53, 0.98, 0.80, 0.96, 0.00, 0.45, 0.16),
}
"""Table 3 as printed, to two decimals: one finite simulation, not the populations' exact values."""


def integrate_matrix(scenario: Scenario) -> AucMatrix:
    """Compute a population's exact AUC matrix by quadrature, without simulating anybody."""
    cells = [[_integrate_cell(scenario, g, h).auc for h in range(2)] for g in range(2)]
    mass1, mass0 = scenario.masses()
    return assemble_matrix((MALE, FEMALE), cells, mass_events=mass1, mass_non_events=mass0)


def sample_patients(scenario: Scenario, *, patients: int, seed: int) -> pd.DataFrame:
    """Draw patients: columns group, outcome (1 event), score."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    female = (rng.random(patients) >= scenario.p_male).astype(np.int64)
    prevalence = np.array([scenario.prevalence_male, scenario.prevalence_female])[female]
    outcome = (rng.random(patients) < prevalence).astype(np.int64)
    means = np.array([scenario.non_event_means(), scenario.event_means()])[outcome, female]
    low, high = (0 - means) / scenario.sd, (1 - means) / scenario.sd
    score = stats.truncnorm.ppf(rng.random(patients), low, high, loc=means, scale=scenario.sd)
    groups = np.array([MALE, FEMALE], dtype=object)[female]
    return pd.DataFrame({"group": groups, "outcome": outcome, "score": score})


def predict_sampling(scenario: Scenario, *, patients: int, level: float) -> pd.DataFrame:
    """Say where a simulation of so many patients puts each cell: the sampling interval.

    The standard error is the exact variance of the Mann-Whitney share at the expected numbers of
    events and non-events.

    Columns: scenario, patients, events_of, non_events_of, n_events, n_non_events, exact, se, low,
    high, printed, z_printed, covered.

    Source: Bamber 1975, from the moments of the two distributions.
    """
    half = float(stats.norm.isf((1 - level) / 2))
    mass1, mass0 = scenario.masses()
    rows = []
    for g, h in np.ndindex(2, 2):
        cell = _integrate_cell(scenario, g, h)
        n1, n0 = patients * float(mass1[g]), patients * float(mass0[h])
        se = cell.error(n1, n0)
        printed = _printed_cell(scenario, g, h)
        rows.append(
            {
                "scenario": scenario.name,
                "patients": patients,
                "events_of": (MALE, FEMALE)[g],
                "non_events_of": (MALE, FEMALE)[h],
                "n_events": n1,
                "n_non_events": n0,
                "exact": cell.auc,
                "se": se,
                "low": cell.auc - half * se,
                "high": cell.auc + half * se,
                "printed": printed,
                "z_printed": (printed - cell.auc) / se,
                "covered": bool(abs(printed - cell.auc) <= half * se),
            }
        )
    return pd.DataFrame(rows)


def find_implausible_size(scenario: Scenario, *, level: float, rounding: float) -> float:
    """Find the number of simulated patients from which a printed cell lies outside its interval.

    Parameters:
        level: of the sampling interval.
        rounding: how far a printed value may be from what was simulated: 0 takes it at its word,
            0.005 allows for two decimals.

    Returns:
        The smallest such number over the four cells; infinity where none is ever outside.
    """
    half = float(stats.norm.isf((1 - level) / 2))
    mass1, mass0 = scenario.masses()
    sizes = []
    for g, h in np.ndindex(2, 2):
        cell = _integrate_cell(scenario, g, h)
        distance = abs(_printed_cell(scenario, g, h) - cell.auc) - rounding
        if not distance > 0:
            continue
        # half^2 variance(n) = distance^2 is quadratic in the number of patients n.
        a, b = float(mass1[g]), float(mass0[h])
        linear = b * cell.event_variance + a * cell.non_event_variance
        constant = cell.auc * (1 - cell.auc) - cell.event_variance - cell.non_event_variance
        square = (distance / half) ** 2 * a * b
        sizes.append((linear + np.sqrt(linear**2 + 4 * square * constant)) / (2 * square))
    return float(np.ceil(min(sizes))) if sizes else float("inf")


def tabulate_scenarios(scenarios: tuple[Scenario, ...] = SCENARIOS) -> pd.DataFrame:
    """Set exact values beside the printed ones, and beside what the printed cells imply.

    Columns: scenario, column, exact, printed, from_printed_cells, exact_minus_printed,
    printed_agrees (to its two decimals).
    """
    rows = []
    for scenario in scenarios:
        exact = _table_columns(integrate_matrix(scenario))
        printed = dict(zip(COLUMNS, PRINTED[scenario.name], strict=True))
        cells = [[_printed_cell(scenario, g, h) for h in range(2)] for g in range(2)]
        mass1, mass0 = scenario.masses()
        implied = _table_columns(
            assemble_matrix((MALE, FEMALE), cells, mass_events=mass1, mass_non_events=mass0)
        )
        for column in COLUMNS:
            difference = exact[column] - printed[column]
            rows.append(
                {
                    "scenario": scenario.name,
                    "column": column,
                    "exact": exact[column],
                    "printed": printed[column],
                    "from_printed_cells": implied[column],
                    "exact_minus_printed": difference,
                    "printed_agrees": bool(abs(difference) <= 0.005 + 1e-12),
                }
            )
    return pd.DataFrame(rows)


def tabulate_densities(scenario: Scenario, *, points: int = 400) -> pd.DataFrame:
    """Give the density of the risk by group and outcome: columns group, outcome, risk, density."""
    means = [*scenario.event_means(), *scenario.non_event_means()]
    risk = np.linspace(0.0, min(1.0, max(means) + 4 * scenario.sd), points)
    frames = []
    for outcome, both in ((1, scenario.event_means()), (0, scenario.non_event_means())):
        for group, mean in zip((MALE, FEMALE), both, strict=True):
            density = _TruncatedNormal(mean, scenario.sd).density(risk)
            frames.append(
                pd.DataFrame({"group": group, "outcome": outcome, "risk": risk, "density": density})
            )
    return pd.concat(frames, ignore_index=True)


def describe_change(before: AucMatrix, after: AucMatrix) -> str:
    """Say in words what a change does to each group, to the overall AUC, and why they may disagree.

    A group can improve while the overall value falls: the overall value also counts pairs of
    different groups, and those can lose more than the group gains.
    """
    parts = []
    for k, name in enumerate(before.groups):
        first, second = before.within[k], after.within[k]
        parts.append(f"{_verb(second - first)} in {name} ({first:.3f} to {second:.3f})")
    change = after.overall - before.overall
    overall = f"the overall AUC {_verb(change)} ({before.overall:.3f} to {after.overall:.3f})"
    text = f"Within groups the AUC {', '.join(parts)}, and {overall}."
    gains = after.within - before.within
    weighted = after.pair_weights * after.cells - before.pair_weights * before.cells
    between = float(weighted.sum() - np.trace(weighted))
    opposed = (gains >= -1e-9).all() and (gains > 1e-9).any() and change < -1e-9
    opposed |= (gains <= 1e-9).all() and (gains < -1e-9).any() and change > 1e-9
    if opposed:
        text += (
            " That is no contradiction: pairs within groups add "
            f"{float(np.trace(weighted)):+.3f} to the overall value and pairs of different groups "
            f"{between:+.3f}."
        )
    return text


@dataclass(frozen=True)
class _Cell:
    """A cell's exact AUC and the variances of its placements, over events and over non-events."""

    auc: float
    event_variance: float
    non_event_variance: float

    def error(self, n_events: float, n_non_events: float) -> float:
        variance = (
            self.auc * (1 - self.auc)
            + (n_non_events - 1) * self.event_variance
            + (n_events - 1) * self.non_event_variance
        ) / (n_events * n_non_events)
        return float(np.sqrt(variance))


def _integrate_cell(scenario: Scenario, g: int, h: int) -> _Cell:
    events = _TruncatedNormal(scenario.event_means()[g], scenario.sd)
    non_events = _TruncatedNormal(scenario.non_event_means()[h], scenario.sd)
    low = max(0.0, min(events.mean, non_events.mean) - 12 * scenario.sd)
    high = min(1.0, max(events.mean, non_events.mean) + 12 * scenario.sd)
    nodes, weights = _quadrature()
    x = low + (high - low) * (nodes + 1) / 2
    step = weights * (high - low) / 2
    beaten, beating = non_events.below(x), 1 - events.below(x)
    auc = float((events.density(x) * step) @ beaten)
    return _Cell(
        auc,
        float((events.density(x) * step) @ beaten**2) - auc**2,
        float((non_events.density(x) * step) @ beating**2) - auc**2,
    )


@dataclass(frozen=True)
class _TruncatedNormal:
    """A normal distribution cut to [0, 1]; `mean` is that before cutting."""

    mean: float
    sd: float

    def density(self, x: FloatArray) -> FloatArray:
        z = (x - self.mean) / self.sd
        return np.asarray(np.exp(-(z**2) / 2) / (np.sqrt(2 * np.pi) * self.sd * self._kept()))

    def below(self, x: FloatArray) -> FloatArray:
        share = special.ndtr((x - self.mean) / self.sd) - special.ndtr(-self.mean / self.sd)
        return np.asarray(share / self._kept())

    def _kept(self) -> float:
        upper, lower = (1 - self.mean) / self.sd, -self.mean / self.sd
        return float(special.ndtr(upper) - special.ndtr(lower))


@cache
def _quadrature() -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return nodes, weights


def _printed_cell(scenario: Scenario, g: int, h: int) -> float:
    if scenario.name not in PRINTED:
        return float("nan")
    return PRINTED[scenario.name][((1, 3), (4, 2))[g][h]]


def _table_columns(matrix: AucMatrix) -> dict[str, float]:
    (male, cross), (crossed, female) = matrix.cells
    first, second = matrix.xauc1
    values = (
        matrix.overall, male, female, cross, crossed, first, second,
        abs(male - female), abs(cross - crossed), abs(first - second),
    )  # fmt: skip
    return {column: float(value) for column, value in zip(COLUMNS, values, strict=True)}


def _verb(change: float) -> str:
    if abs(change) < 5e-4:
        return "stays"
    return "rises" if change > 0 else "falls"
