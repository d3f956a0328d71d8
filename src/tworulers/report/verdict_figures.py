"""What every test and every success rate of an audit says, at one glance and ruler by ruler."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from tworulers.report.rate_intervals import name_recommended, recommend_interval
from tworulers.report.rows import iterate_rows
from tworulers.report.style import (
    GROUP_COLOURS,
    GROUP_MARKERS,
    ruler_colour,
    score_label,
    start_figure,
    wrap,
)
from tworulers.schema import MACRO, Metric
from tworulers.tables import unpack_names

STRONGEST = 0.5
"""Effect size from which a cell of the grid is darkest: large by the usual conventions."""

COLOUR_MAP = "Blues"


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
    columns = min(2, len(rulers))
    rows = -(-len(rulers) // columns)
    alike = len({tuple(labels.items()) for labels in groupings.values()}) == 1
    beside = 2.6 if alike else 2.6 * columns
    width = beside + columns * (0.55 * len(scores) + 0.2)
    figure = start_figure(max(width, 6.5), rows * (0.62 * len(names) + 1.35) + 0.9)
    axes = figure.subplots(rows, columns, sharey=alike, squeeze=False).ravel()
    for ax, (ruler, described) in zip(axes, rulers.items(), strict=False):
        draw_grid(ax, tests[tests["ruler"] == ruler], scores, names, alpha=alpha)
        heads = [head_score(structure, metrics[metric]) for structure, metric in scores]
        ax.set_xticks(range(len(scores)), heads, fontsize=8)
        labels = [wrap(groupings[ruler].get(name, name), 36) for name in names]
        ax.set_yticks(range(len(names)), labels)
        ax.tick_params(axis="y", labelsize=8.5)
        title = wrap(f"Judged by {described}", 6 + 5 * len(scores))
        ax.set_title(title, color=ruler_colour(ruler), weight="bold")
    for ax in axes[len(rulers) :]:
        ax.set_visible(False)
    shades = mpl.cm.ScalarMappable(Normalize(0, STRONGEST), COLOUR_MAP)
    bar = figure.colorbar(shades, ax=list(axes), extend="max", fraction=0.025, pad=0.01)
    bar.set_label("effect size: |rank-biserial r| (two groups)\nor √ε² (more groups)", fontsize=8.5)
    marks = [
        Line2D([], [], marker="o", color="black", linestyle="", label=f"adjusted p < {alpha:g}"),
        Line2D(
            [],
            [],
            marker="o",
            markerfacecolor="white",
            color="black",
            linestyle="",
            label=f"p < {alpha:g} before adjustment only",
        ),
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
            ax.text(x, y + 0.36, f"{strength:.2f}", ha="center", va="center", fontsize=7, color=ink)
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


def draw_dir_forest(
    disparities: pd.DataFrame,
    rulers: Mapping[str, str],
    *,
    metric: Metric,
    structure: str,
    groupings: Mapping[str, str],
    four_fifths: float = 0.8,
    resampling_unit: str = "exam",
) -> Figure:
    """Draw the lowest over the highest success rate of each grouping, with two intervals.

    Parameters
    ----------
    disparities : disparities of one or more rulers at their primary threshold.
    rulers : name and description, with provenance, of the rulers to show, in order.
    metric, structure : the score.
    groupings : name and title of the groupings to show, in order.
    four_fifths : the line below which the four-fifths rule speaks of adverse impact.
    resampling_unit : as the audits drew, which decides the recommended interval.
    """
    mine = disparities[disparities["primary"].astype(bool)]
    mine = mine[(mine["metric"] == metric.name) & (mine["structure"] == structure)]
    cells = {(row.grouping, row.ruler): row for row in iterate_rows(mine)}
    lines = [(grouping, ruler) for grouping in groupings for ruler in rulers]
    figure = start_figure(10.2, 0.34 * len(lines) + 0.2 * len(groupings) + 1.9)
    ax = figure.subplots()
    places, labels, lowest, y = [], [], four_fifths - 0.05, 0.0
    for grouping in groupings:
        places.append(y + (len(rulers) - 1) / 2)
        part = mine.loc[mine["grouping"] == grouping, "groups"]
        order = f"\n{' · '.join(unpack_names(part.iloc[0]))}" if len(part) else ""
        labels.append(wrap(groupings[grouping] + order, 32))
        for ruler in rulers:
            if (grouping, ruler) in cells:
                cell = cells[grouping, ruler]
                lowest = min(lowest, _draw_ratio(ax, cell, y, ruler, resampling_unit))
            y += 1
        y += 0.6
    floor = max(-0.03, lowest - 0.04)
    ax.axvline(four_fifths, color="#B0413E", linestyle="--", linewidth=1.2, zorder=1)
    ax.axvline(1.0, color="black", linewidth=0.8, zorder=1)
    ax.set(xlim=(floor, 1.02), ylim=(y - 0.3, -0.8))
    ax.set_yticks(places, labels, fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    threshold = mine["threshold"].iloc[0] if len(mine) else float("nan")
    ax.set_xlabel(
        f"disparate impact ratio: lowest over highest success rate (1 = equal)\n"
        f"success: {score_label(metric, structure)} {metric.write_success(threshold)}; dashed red: "
        f"{four_fifths:g}, the four-fifths line"
    )
    ax.set_title(
        "Ratio of success rates; beside it successes / n of each group, in the order named"
    )
    handles = [
        Line2D([], [], color=ruler_colour(ruler), marker="o", linewidth=5, alpha=0.6, label=title)
        for ruler, title in rulers.items()
    ]
    handles += [
        Line2D([], [], color="#555555", linewidth=5, alpha=0.5, label="published BCa interval"),
        Line2D(
            [],
            [],
            color="#555555",
            linewidth=1.3,
            marker="|",
            label=name_recommended(resampling_unit),
        ),
        Line2D(
            [],
            [],
            color="#555555",
            marker="D",
            markerfacecolor="white",
            linestyle="",
            label="degenerate: every draw gives the same ratio",
        ),
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=8.5)
    return figure


def _draw_ratio(ax: Axes, row: Any, y: float, ruler: str, resampling_unit: str) -> float:
    """Draw one ratio with its intervals and counts; return the lowest value drawn."""
    colour = ruler_colour(ruler)
    place = ax.get_yaxis_transform()
    ax.text(1.01, y, " · ".join(unpack_names(row.counts)), transform=place, va="center",
            fontsize=8.5, color=colour)  # fmt: skip
    if np.isnan(row.dir):
        reason = row.undefined_because if isinstance(row.undefined_because, str) else ""
        ax.text(0.99, y, f"undefined: {reason}", transform=place, va="center", ha="right",
                fontsize=8.5, color=colour)  # fmt: skip
        return float("inf")
    lowest = [row.dir]
    if bool(row.degenerate):
        ax.plot(row.dir, y, "D", color=colour, markerfacecolor="white", markersize=6, zorder=4)
        bound = row.lowest_exact_bound
        note = f"no interval: all draws equal; a rate may be as low as {bound:.2f}"
        ax.annotate(note, (row.dir, y), xytext=(-9, 0), textcoords="offset points", ha="right",
                    va="center", fontsize=8, color="#555555",
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
        return float(row.dir)
    if not np.isnan(row.dir_low):
        bca = row.dir_method == "bca"
        if bca:
            ax.plot([row.dir_low, row.dir_high], [y, y], color=colour, linewidth=5,
                    alpha=0.5, solid_capstyle="butt", zorder=2)  # fmt: skip
            lowest.append(row.dir_low)
    bounds = recommend_interval(row, resampling_unit)
    if not np.isnan(bounds.low):
        ax.plot([bounds.low, bounds.high], [y, y], color=colour, linewidth=1.3, marker="|",
                markersize=8, zorder=3)  # fmt: skip
        lowest.append(bounds.low)
    ax.plot(row.dir, y, "o", color=colour, markersize=6, zorder=4)
    return float(min(lowest))


def draw_threshold_sweep(
    rates: Mapping[str, pd.DataFrame],
    rulers: Mapping[str, str],
    *,
    grouping: str,
    grouping_title: str,
    metric: Metric,
    structure: str,
) -> Figure:
    """Draw how the success rate of each group depends on the threshold, ruler by ruler.

    Parameters
    ----------
    rates : rates of each ruler (`tables.Rates`).
    rulers : name and description, with provenance, of the rulers to show, in order.
    grouping, grouping_title, metric, structure : what is shown.
    """
    figure = start_figure(4.7 * len(rulers) + 0.3, 4.5)
    axes = figure.subplots(1, len(rulers), sharey=True, squeeze=False)[0]
    sign = ">" if metric.higher_is_better else "<"
    for ax, (ruler, title) in zip(axes, rulers.items(), strict=True):
        table = rates[ruler]
        mine = table[
            (table["grouping"] == grouping)
            & (table["metric"] == metric.name)
            & (table["structure"] == structure)
        ]
        groups = list(dict.fromkeys(mine["group"]))
        steps = sorted(mine["threshold"].unique())
        shift = 0.06 * float(min(np.diff(steps), default=0.1))
        for place, group in enumerate(groups):
            line = mine[mine["group"] == group].sort_values("threshold")
            x = line["threshold"] + (place - (len(groups) - 1) / 2) * shift
            error = np.abs(
                np.vstack([line["rate"] - line["wilson_low"], line["wilson_high"] - line["rate"]])
            )
            ax.errorbar(
                x,
                line["rate"],
                yerr=error,
                color=GROUP_COLOURS[place % len(GROUP_COLOURS)],
                marker=GROUP_MARKERS[place % len(GROUP_MARKERS)],
                linewidth=1.6,
                elinewidth=0.9,
                markersize=5.5,
                label=f"{group}, n = {line['n'].max() if len(line) else 0}",
            )
        for threshold in mine.loc[mine["primary"].astype(bool), "threshold"].unique():
            ax.axvline(threshold, color="#555555", linestyle=":", linewidth=1.2, zorder=1)
        ax.set_xticks(steps, [f"{step:g}" for step in steps])
        ax.set_xlabel(f"threshold of {score_label(metric, structure)}")
        ax.set_title(wrap(f"Judged by {title}", 48), color=ruler_colour(ruler), weight="bold")
        ax.set_ylim(-0.03, 1.04)
        ax.legend(title=grouping_title, loc="best", fontsize=9)
    axes[0].set_ylabel(f"share of exams with score {sign} threshold\n(Wilson's interval)")
    return figure


def order_scores(tests: pd.DataFrame) -> list[tuple[str, str]]:
    """List (structure, metric) as the tests do, the macro score last within its metric."""
    found = list(dict.fromkeys(zip(tests["structure"], tests["metric"], strict=True)))
    metrics = list(dict.fromkeys(metric for _, metric in found))
    return sorted(found, key=lambda score: (metrics.index(score[1]), score[0] == MACRO))


def head_score(structure: str, metric: Metric) -> str:
    """Write a score as a short heading of two lines."""
    return f"{metric.title}\n{structure}"
