"""Why a verdict came out as it did: gap or noise, and what these group sizes could have found."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tworulers.report.rows import iterate_rows
from tworulers.report.style import (
    GAP_COLOUR,
    NOISE_COLOUR,
    ruler_colour,
    score_label,
    start_figure,
    wrap,
)
from tworulers.schema import Metric


def draw_parts(
    verdicts: pd.DataFrame,
    *,
    metrics: Mapping[str, Metric],
    groupings: Mapping[str, str],
    base: str,
    other: str,
) -> Figure:
    """Draw how much of each change of H is the doing of the gap and how much of the noise.

    Parameters
    ----------
    verdicts : verdicts of the tests to show, with `gap_part` and `noise_part`.
    metrics : declarations of their metrics, by name.
    groupings : title of each grouping.
    base, other : description, with provenance, of the ruler compared with and of the other.
    """
    figure = start_figure(8.6, 0.42 * max(len(verdicts), 1) + 1.9)
    ax = figure.subplots()
    labels = [
        f"{groupings.get(row.grouping, row.grouping)}: "
        f"{score_label(metrics[row.metric], row.structure)}"
        for row in iterate_rows(verdicts)
    ]
    for y, row in enumerate(iterate_rows(verdicts)):
        if np.isnan(row.gap_part) or np.isnan(row.noise_part):
            ax.text(0, y, "undefined", va="center", fontsize=8.5)
            continue
        ax.barh(y - 0.17, row.gap_part, 0.32, color=GAP_COLOUR)
        ax.barh(y + 0.17, row.noise_part, 0.32, color=NOISE_COLOUR, hatch="//", edgecolor="white")
        change = row.gap_part + row.noise_part
        ax.plot(change, y, "D", color="black", markersize=5, zorder=4)
    ax.axvline(0, color="black", linewidth=0.9)
    ax.set_yticks(range(len(labels)), [wrap(label, 46) for label in labels], fontsize=9)
    ax.set_ylim(len(verdicts) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(
        "part of the change of the Kruskal-Wallis statistic H, from\n"
        f"{wrap(base, 80)} to\n{wrap(other, 80)}"
    )
    ax.set_title("What the other ruler changed")
    handles = [
        Line2D([], [], color=GAP_COLOUR, linewidth=7, label="gap part: groups further apart"),
        Line2D([], [], color=NOISE_COLOUR, linewidth=7, label="noise part: less spread within"),
        Line2D([], [], color="black", marker="D", linestyle="", label="whole change of H"),
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=3, fontsize=8.5)
    return figure


def draw_power(
    power: Mapping[str, pd.DataFrame],
    rulers: Mapping[str, str],
    *,
    metric: Metric,
    structure: str,
    groupings: Mapping[str, str],
) -> Figure:
    """Draw for each test that found nothing the gap seen and the smallest gap it could have found.

    Parameters
    ----------
    power : the power table of each ruler's audit.
    rulers : name and description, with provenance, of the rulers to show, in order.
    metric, structure : the score.
    groupings : name and label, with group sizes, of the groupings to show, in order.
    """
    figure = start_figure(4.4 * len(rulers) + 2.0, 0.5 * len(groupings) + 2.2)
    axes = figure.subplots(1, len(rulers), sharey=True, squeeze=False)[0]
    names = list(groupings)
    for ax, (ruler, title) in zip(axes, rulers.items(), strict=True):
        table = power[ruler]
        mine = table[(table["metric"] == metric.name) & (table["structure"] == structure)]
        colour = ruler_colour(ruler)
        for y, grouping in enumerate(names):
            rows = mine[mine["grouping"] == grouping].set_index("correction")
            if rows.empty:
                ax.text(0, y, " significant, or not tested", va="center", fontsize=8.5,
                        color="#555555")  # fmt: skip
                continue
            seen = rows["observed_gap"].iloc[0]
            found = [float(rows["detectable_gap"].get(name, np.nan)) for name in ("none", "family")]
            ends = [x for x in (seen, *found) if np.isfinite(x)]
            ax.plot([min(ends), max(ends)], [y, y], color="#BBBBBB", linewidth=1.4, zorder=1)
            ax.plot(seen, y, "o", color=colour, markersize=6)
            ax.plot(found[0], y, "|", color="black", markersize=15, markeredgewidth=1.8)
            ax.plot(found[1], y, "x", color="black", markersize=7, markeredgewidth=1.6)
            if not np.isfinite(found).all():
                ax.text(max(ends), y - 0.28, " no gap found with 80 % power", fontsize=7.5)
        ax.set_xlim(left=0)
        ax.set_title(wrap(f"Judged by {title}", 46), color=colour, weight="bold")
        ax.set_xlabel(f"gap between group medians: {score_label(metric, structure)}")
        ax.grid(visible=False, axis="y")
    axes[0].set_yticks(range(len(names)), [wrap(groupings[name], 38) for name in names], fontsize=9)
    axes[0].set_ylim(len(names) - 0.5, -0.6)
    handles = [
        Line2D([], [], color="#555555", marker="o", linestyle="", label="gap seen"),
        Line2D([], [], color="black", marker="|", markersize=12, markeredgewidth=1.8,
               linestyle="", label="found with 80 % power by this test alone"),
        Line2D([], [], color="black", marker="x", linestyle="", markeredgewidth=1.6,
               label="the same at the level divided by the size of the family"),
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower left", ncols=3, fontsize=8.5)
    return figure


def draw_verdict_chance(
    traces: Mapping[str, pd.DataFrame],
    rulers: Mapping[str, str],
    *,
    n: int,
    grouping_title: str,
    score: str,
) -> Figure:
    """Draw how often each ruler would call a difference significant, as the number of exams grows.

    Parameters
    ----------
    traces : of each ruler: `n`, `probability` (raw) and `probability_fdr` (adjusted) of one test.
    rulers : name and description, with provenance, of the rulers to show, in order.
    n : audited exams.
    grouping_title, score : what is tested.
    """
    figure = start_figure(6.6, 4.6)
    ax = figure.subplots()
    for (ruler, title), marker in zip(rulers.items(), "osD^v", strict=False):
        trace = traces[ruler].sort_values("n")
        colour = ruler_colour(ruler)
        ax.plot(trace["n"], trace["probability_fdr"], color=colour, marker=marker, label=title)
        ax.plot(trace["n"], trace["probability"], color=colour, linestyle=":", linewidth=1.4)
    ax.axvline(n, color="#555555", linewidth=1)
    ax.text(n, 0.0, f" audited: {n}", fontsize=8.5, va="bottom")
    ax.set(ylim=(-0.02, 1.02), xlabel="exams drawn again from the audited ones")
    ax.set_ylabel("share of such studies that find a difference")
    ax.set_title(f"{grouping_title}: {score}\nsolid: adjusted over the family; dotted: raw")
    figure.legend(loc="outside lower left", fontsize=8.5)
    return figure
