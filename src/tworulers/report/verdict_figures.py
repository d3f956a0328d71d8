"""What every test and every success rate of an audit says, at one glance and ruler by ruler."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from tworulers.battery.audit import AuditResult
from tworulers.report.rows import iterate_rows
from tworulers.report.style import (
    WIDEST,
    colour_rulers,
    label_grouping,
    mark_legend,
    start_figure,
    wrap,
)
from tworulers.schema.metric import Metric
from tworulers.schema.settings import MACRO

STRONGEST = 0.5
"""Effect size from which a cell of the grid is darkest: large by the usual conventions."""

COLOUR_MAP = "Blues"

WIDE, NARROW = 0.55, 0.42
"""Inches of a cell of the grid, and of one that can still be read."""


def scale_effect(tests: pd.DataFrame) -> pd.Series:
    """Bring effects of two and of more groups to one scale from 0 to 1.

    Two groups: the size of the rank-biserial correlation. More: the square root of epsilon squared,
    0 where epsilon squared is negative (less than chance gives).
    """
    effect = tests["effect"].astype(float)
    squared = tests["effect_name"].str.contains("epsilon")
    return effect.abs().where(~squared, np.sqrt(effect.clip(lower=0)))


def draw_verdict_grid(
    tests: pd.DataFrame,
    rulers: Mapping[str, str],
    *,
    metrics: Mapping[str, Metric],
    groupings: Mapping[str, Mapping[str, str]],
    alpha: float = 0.05,
) -> Figure:
    """Draw all tests of all rulers: colour is the effect, a disc a significant difference.

    Parameters
    ----------
    tests : the tests of one or more rulers (`tables.Tests`).
    rulers : name and description, with provenance, of the rulers to show, in order.
    metrics : declarations of the metrics, by name.
    groupings : for each ruler, name and label, with group sizes, of the groupings, in order.
    alpha : level.
    """
    scores = order_scores(tests)
    names = list(dict.fromkeys(name for labels in groupings.values() for name in labels))
    alike = len({tuple(labels.items()) for labels in groupings.values()}) == 1
    beside, pair = 2.6 if alike else 5.2, min(2, len(rulers))
    cell = min(WIDE, max(NARROW, ((WIDEST - beside) / 2 - 0.2) / len(scores)))
    panel = cell * len(scores) + 0.2
    columns = pair if beside + pair * panel <= WIDEST + 0.01 else 1
    rows = -(-len(rulers) // columns)
    width = (beside if columns > 1 else 2.6) + columns * panel
    figure = start_figure(max(width, 6.5), rows * (0.62 * len(names) + 1.35) + 0.9)
    axes = figure.subplots(rows, columns, sharey=alike, squeeze=False).ravel()
    drawn_by = tests.drop_duplicates("ruler").set_index("ruler")["provenance"]
    colours = colour_rulers({ruler: str(drawn_by.get(ruler, "")) for ruler in rulers})
    for ax, (ruler, described) in zip(axes, rulers.items(), strict=False):
        draw_grid(ax, tests[tests["ruler"] == ruler], scores, names, alpha=alpha)
        heads = [wrap(head_score(structure, metrics[metric]), 40) for structure, metric in scores]
        ax.set_xticks(range(len(scores)), heads, fontsize=8.5)
        labels = [wrap(groupings[ruler].get(name, name), 36) for name in names]
        ax.set_yticks(range(len(names)), labels)
        ax.tick_params(axis="y", labelsize=8.5)
        title = wrap(f"Judged by {described}", max(21, 6 + 4 * len(scores)))
        ax.set_title(title, color=colours[ruler], weight="bold")
    for ax in axes[len(rulers) :]:
        ax.set_visible(False)
    shades = mpl.cm.ScalarMappable(Normalize(0, STRONGEST), COLOUR_MAP)
    bar = figure.colorbar(shades, ax=list(axes), extend="max", fraction=0.025, pad=0.01)
    bar.set_label("effect size: |rank-biserial r| (two groups)\nor √ε² (more groups)", fontsize=8.5)
    few = f"p < {alpha:g} before adjustment only"
    marks = [
        mark_legend(f"adjusted p < {alpha:g}", color="black", marker="o", linestyle=""),
        mark_legend(few, color="black", marker="o", linestyle="", markerfacecolor="white"),
        Patch(facecolor="white", edgecolor="#888888", hatch="////", label="no test possible"),
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=3, fontsize=9)
    return figure


def draw_grid(
    ax: Axes,
    tests: pd.DataFrame,
    scores: Sequence[tuple[str, str]],
    groupings: Sequence[str],
    *,
    alpha: float,
) -> None:
    """Draw one ruler's tests: a row a grouping, a column a (structure, metric)."""
    shown = tests.assign(strength=scale_effect(tests))
    cells = {(row.grouping, row.structure, row.metric): row for row in iterate_rows(shown)}
    shades, scale = mpl.colormaps[COLOUR_MAP], Normalize(0, STRONGEST)
    for y, grouping in enumerate(groupings):
        for x, (structure, metric) in enumerate(scores):
            cell = cells.get((grouping, structure, metric))
            if cell is None or np.isnan(cell.p_verdict):
                empty = Rectangle((x - 0.5, y - 0.5), 1, 1, linewidth=0.5, hatch="////")
                empty.set(facecolor="white", edgecolor="#888888")
                ax.add_patch(empty)
                continue
            strength = float(cell.strength)
            shade = shades(scale(min(strength, STRONGEST))) if strength == strength else "white"
            ax.add_patch(
                Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=shade, edgecolor="white", linewidth=1)
            )
            ink = "white" if strength > 0.65 * STRONGEST else "black"
            ax.text(
                x, y + 0.36, f"{strength:.2f}", ha="center", va="center", fontsize=8.5, color=ink
            )
            if cell.p_verdict < alpha or cell.p_verdict_fdr < alpha:
                full = bool(cell.p_verdict_fdr < alpha)
                inner = "black" if full else "white"
                ax.plot(x, y - 0.1, "o", markersize=8, markeredgecolor="white", color="white")
                ax.plot(x, y - 0.1, "o", markersize=6.5, markerfacecolor=inner, color="black")
    ax.set(xlim=(-0.5, len(scores) - 0.5), ylim=(len(groupings) - 0.5, -0.5))
    ax.tick_params(length=0)
    ax.grid(visible=False)
    for spine in ax.spines.values():
        spine.set_visible(False)


def order_scores(tests: pd.DataFrame) -> list[tuple[str, str]]:
    """List (structure, metric) as the tests do, the macro score last within its metric."""
    found = list(dict.fromkeys(zip(tests["structure"], tests["metric"], strict=True)))
    metrics = list(dict.fromkeys(metric for _, metric in found))
    return sorted(found, key=lambda score: (metrics.index(score[1]), score[0] == MACRO))


def head_score(structure: str, metric: Metric) -> str:
    """Write a score as a short heading of two lines."""
    return f"{metric.title}\n{structure}"


def write_labels(audit: AuditResult) -> dict[str, str]:
    """Return each grouping's title with its groups and their sizes below it, for axes."""
    rows = iterate_rows(audit.groupings)
    return {row.grouping: label_grouping(row.title, row.groups) for row in rows}
