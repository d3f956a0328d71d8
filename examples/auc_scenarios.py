"""Three simulated populations: a group can improve while the overall AUC falls.

    python examples/auc_scenarios.py [--patients 20000] [--figure paradox.svg]

Reproduces Tables 2 and 3 of the AUC parity paper by quadrature, without simulating anybody, sets the printed values
beside the exact ones, and says where a simulation of so many patients would put each cell.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from rich.console import Console
from scipy import stats

from tworulers.auc.matrix import (
    AucMatrix,
    FloatArray,
    assemble_matrix,
    compute_matrix,
    stratify_scores,
)
from tworulers.report.style import GROUP_COLOURS, start_figure
from tworulers.report.tables import Table, make_table

GROUPS = ("m", "f")
NODES, WEIGHTS = np.polynomial.legendre.leggauss(400)


PREVALENCE = np.array([0.02, 0.03])
EVENTS = np.array([0.8, 0.2]) * PREVALENCE
NON_EVENTS = np.array([0.8, 0.2]) * (1 - PREVALENCE)
"""Population shares of the events and of the non-events of each group, men first, in every scenario."""

SD = 0.01
"""Standard deviation of every risk before it is cut to [0, 1]."""

COLUMNS = [
    "auc",
    "auc_m",
    "auc_f",
    "xauc_mf",
    "xauc_fm",
    "xauc1_m",
    "xauc1_f",
    "d_auc",
    "d_xauc",
    "d_xauc1",
]
"""The columns of Table 3; xauc_mf sets events of men against non-events of women."""


@dataclass(frozen=True)
class Scenario:
    """A population of two groups, men first, whose risks follow normal distributions cut to [0, 1].

    Attributes
    ----------
    event_means, non_event_means : mean risk of each group before cutting.
    printed : the columns of Table 3, to two decimals: one finite simulation.
    """

    name: str
    event_means: tuple[float, float]
    non_event_means: tuple[float, float]
    printed: tuple[float, ...]

    def printed_cells(self) -> list[list[float]]:
        """The AUC matrix as printed."""
        _, male, female, cross, crossed, *_ = self.printed
        return [[male, cross], [crossed, female]]


FIRST = (0.85, 0.88, 0.73, 0.67, 0.92, 0.84, 0.88, 0.15, 0.25, 0.04)
SECOND = (0.84, 0.88, 0.80, 0.44, 0.99, 0.79, 0.95, 0.08, 0.55, 0.16)
THIRD = (0.84, 0.86, 0.86, 0.53, 0.98, 0.80, 0.96, 0.00, 0.45, 0.16)
SCENARIOS = (
    Scenario("i", (0.031, 0.034), (0.015, 0.025), FIRST),
    Scenario("ii", (0.031, 0.045), (0.015, 0.033), SECOND),
    Scenario("iii", (0.031, 0.045), (0.016, 0.030), THIRD),
)
"""The three populations of Table 2, with their rows of Table 3."""


@dataclass(frozen=True)
class Cell:
    """A cell of a population's AUC matrix.

    Attributes
    ----------
    events_of, non_events_of : its groups, 0 men and 1 women.
    auc : exact; `printed` is that of Table 3.
    event_variance, non_event_variance : of its placements, over events and over non-events.
    """

    events_of: int
    non_events_of: int
    auc: float
    event_variance: float
    non_event_variance: float
    printed: float

    def error(self, patients: int) -> float:
        """Standard error of a simulation: the exact variance of the Mann-Whitney share (Bamber 1975)."""
        n1, n0 = patients * EVENTS[self.events_of], patients * NON_EVENTS[self.non_events_of]
        rows = (n0 - 1) * self.event_variance + (n1 - 1) * self.non_event_variance
        return float(np.sqrt((self.auc * (1 - self.auc) + rows) / (n1 * n0)))

    def find_implausible_size(self, *, rounding: float, level: float) -> float:
        """Find the number of patients from which the printed value lies outside the interval of a simulation."""
        distance = abs(self.printed - self.auc) - rounding
        if distance <= 0:
            return float("inf")
        # z^2 variance(n) = distance^2 is quadratic in the number of patients n.
        a, b = EVENTS[self.events_of], NON_EVENTS[self.non_events_of]
        linear = b * self.event_variance + a * self.non_event_variance
        constant = self.auc * (1 - self.auc) - self.event_variance - self.non_event_variance
        square = (distance / stats.norm.isf((1 - level) / 2)) ** 2 * a * b
        size = (linear + np.sqrt(linear**2 + 4 * square * constant)) / (2 * square)
        return float(np.ceil(size))


def integrate_cells(scenario: Scenario) -> list[Cell]:
    """Compute how often an event of g outscores a non-event of h, by quadrature, row by row."""
    cells = []
    for g, h in np.ndindex(2, 2):
        means = np.array([scenario.event_means[g], scenario.non_event_means[h]])
        low, high = max(0.0, means.min() - 12 * SD), min(1.0, means.max() + 12 * SD)
        x, step = low + (high - low) * (NODES + 1) / 2, WEIGHTS * (high - low) / 2
        events, non_events = (_truncate(mean) for mean in means)
        beaten, beating = non_events.cdf(x), events.sf(x)
        auc = float((events.pdf(x) * step) @ beaten)
        over_events = float((events.pdf(x) * step) @ beaten**2) - auc**2
        over_others = float((non_events.pdf(x) * step) @ beating**2) - auc**2
        printed = scenario.printed_cells()[g][h]
        cells.append(Cell(g, h, auc, over_events, over_others, printed))
    return cells


def integrate_matrix(scenario: Scenario) -> AucMatrix:
    """Compute a population's exact AUC matrix."""
    return _assemble(np.reshape([cell.auc for cell in integrate_cells(scenario)], (2, 2)))


def sample_patients(scenario: Scenario, *, patients: int, seed: int) -> pd.DataFrame:
    """Draw patients: columns group, outcome (1 event), score."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    group = (rng.random(patients) >= 0.8).astype(np.int64)
    outcome = (rng.random(patients) < PREVALENCE[group]).astype(np.int64)
    means = np.array([scenario.non_event_means, scenario.event_means])[outcome, group]
    score = _truncate(means).ppf(rng.random(patients))
    return pd.DataFrame({"group": np.array(GROUPS)[group], "outcome": outcome, "score": score})


def predict_sampling(scenario: Scenario, *, patients: int, level: float = 0.95) -> pd.DataFrame:
    """Say where a simulation of so many patients puts each cell: its sampling interval.

    Returns
    -------
    One row a cell: scenario, events_of, non_events_of, exact, se, low, high, printed, covered.
    """
    half = float(stats.norm.isf((1 - level) / 2))
    rows = []
    for cell in integrate_cells(scenario):
        reach = half * cell.error(patients)
        rows.append(
            {
                "scenario": scenario.name,
                "events_of": GROUPS[cell.events_of],
                "non_events_of": GROUPS[cell.non_events_of],
                "exact": cell.auc,
                "se": cell.error(patients),
                "low": cell.auc - reach,
                "high": cell.auc + reach,
                "printed": cell.printed,
                "covered": abs(cell.printed - cell.auc) <= reach,
            }
        )
    return pd.DataFrame(rows)


def find_implausible_size(scenario: Scenario, *, rounding: float, level: float = 0.95) -> float:
    """Find the number of simulated patients from which a printed cell lies outside its interval.

    Parameters
    ----------
    rounding : how far a printed value may be from what was simulated: 0.005 allows for two decimals.
    level : of the sampling interval.

    Returns
    -------
    The smallest such number over the four cells; infinity where none is ever outside.
    """
    cells = integrate_cells(scenario)
    return min(cell.find_implausible_size(rounding=rounding, level=level) for cell in cells)


def tabulate_scenarios(scenarios: Sequence[Scenario] = SCENARIOS) -> pd.DataFrame:
    """Set exact values beside the printed ones, and beside what the printed cells imply.

    Returns
    -------
    One row a scenario and column of Table 3: scenario, column, exact, printed, from_printed_cells.
    """
    parts = [
        pd.DataFrame(
            {
                "scenario": scenario.name,
                "column": COLUMNS,
                "exact": _table_columns(integrate_matrix(scenario)),
                "printed": scenario.printed,
                "from_printed_cells": _table_columns(_assemble(scenario.printed_cells())),
            }
        )
        for scenario in scenarios
    ]
    return pd.concat(parts, ignore_index=True)


def describe_change(before: AucMatrix, after: AucMatrix) -> str:
    """Say in words what a change does to each group, to the overall AUC, and why they may disagree.

    A group can improve while the overall value falls: the overall value also counts pairs of different groups, and
    those can lose more than the group gains.
    """
    gains = after.within - before.within
    parts = [
        f"{_verb(gain)} in {name} ({first:.3f} to {first + gain:.3f})"
        for name, first, gain in zip(before.groups, before.within, gains, strict=True)
    ]
    change = after.overall - before.overall
    text = (
        f"Within groups the AUC {', '.join(parts)}, and the overall AUC {_verb(change)} "
        f"({before.overall:.3f} to {after.overall:.3f})."
    )
    sign = -np.sign(change) if abs(change) > 1e-9 else 0.0
    if (sign * gains >= -1e-9).all() and (sign * gains > 1e-9).any():
        weighted = after.pair_weights * after.cells - before.pair_weights * before.cells
        within = float(np.trace(weighted))
        text += (
            f" That is no contradiction: pairs within groups add {within:+.3f} to the overall value and pairs of "
            f"different groups {float(weighted.sum()) - within:+.3f}."
        )
    return text


def draw_paradox(table: pd.DataFrame, path: Path) -> None:
    """Draw the AUC values from scenario to scenario: lines are exact, crosses the printed simulation."""
    figure = start_figure(6, 4.6)
    axes = figure.subplots()
    for colour, column in zip(GROUP_COLOURS, COLUMNS[:5], strict=False):
        part = table[table["column"] == column]
        axes.plot(part["scenario"], part["exact"], color=colour, marker="o", label=column)
        axes.plot(part["scenario"], part["printed"], "x", color=colour)
        for x, value in enumerate(part["exact"]):
            axes.annotate(
                f"{value:.3f}", (x, value), textcoords="offset points", xytext=(6, -10), fontsize=7
            )
    axes.set(xlabel="scenario", ylabel="AUC", title="A group improves, the overall value falls")
    axes.legend(fontsize=7)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def tabulate_cells(patients: int, seed: int) -> Table:
    """Set every cell's exact value, the interval of a simulation, one simulation and the printed value in a table."""
    rows = []
    for scenario in SCENARIOS:
        drawn = sample_patients(scenario, patients=patients, seed=seed)
        sample = stratify_scores(
            drawn["score"], drawn["outcome"], drawn["group"], group_order=GROUPS
        )
        sampling = predict_sampling(scenario, patients=patients)
        rows += [
            (r.scenario, f"{r.events_of} | {r.non_events_of}", f"{r.exact:.4f}", f"{r.low:.3f} to {r.high:.3f}",
             f"{simulated:.3f}", f"{r.printed:.2f}")
            for r, simulated in zip(sampling.itertuples(), compute_matrix(sample).cells.ravel(), strict=True)
        ]  # fmt: skip
    caption = f"AUC of three populations, simulated with {patients:,} patients each"
    columns = (
        "scenario",
        "events | non-events",
        "exact",
        "interval of a simulation",
        "simulated",
        "printed",
    )
    return make_table(caption, columns, rows)


def describe_scenarios(exact: pd.DataFrame) -> Iterator[str]:
    """Say what the printed values are, and what each step between populations does."""
    away = (exact["exact"] - exact["printed"]).abs()
    yield (
        "The printed table holds the values of one finite simulation, not the exact values of the populations: "
        f"{int((away <= 0.005 + 1e-12).sum())} of {len(exact)} entries agree to rounding, the largest difference is "
        f"{away.max():.3f}."
    )
    for scenario in SCENARIOS:
        strict, rounded = (find_implausible_size(scenario, rounding=r) for r in (0.0, 0.005))
        yield (
            f"Scenario {scenario.name}: the printed cells would be implausible (outside the 95% sampling interval) "
            f"from {strict:,.0f} patients on, or from {rounded:,.0f} if each may be off by its rounding."
        )
    for before, after in pairwise(SCENARIOS):
        words = describe_change(integrate_matrix(before), integrate_matrix(after))
        yield f"From {before.name} to {after.name}: {words}"


def main() -> None:
    """Print the table of cells and what follows from it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--patients", type=int, default=10_000, help="of each population")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figure", type=Path, help="where to draw the values by scenario")
    options = parser.parse_args()
    Console(width=120).print(tabulate_cells(options.patients, options.seed).to_console())
    exact = tabulate_scenarios()
    print("\n".join(describe_scenarios(exact)))
    if options.figure:
        draw_paradox(exact, options.figure)


def _truncate(mean: float | FloatArray) -> stats.distributions.rv_frozen:
    return stats.truncnorm((0 - mean) / SD, (1 - mean) / SD, loc=mean, scale=SD)


def _assemble(cells: ArrayLike) -> AucMatrix:
    return assemble_matrix(GROUPS, cells, mass_events=EVENTS, mass_non_events=NON_EVENTS)


def _table_columns(matrix: AucMatrix) -> tuple[float, ...]:
    (male, cross), (crossed, female) = matrix.cells
    first, second = matrix.xauc1
    gaps = (abs(male - female), abs(cross - crossed), abs(first - second))
    return matrix.overall, male, female, cross, crossed, first, second, *gaps


def _verb(change: float) -> str:
    return "stays" if abs(change) < 5e-4 else "rises" if change > 0 else "falls"


if __name__ == "__main__":
    main()
