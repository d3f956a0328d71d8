"""Why a verdict came out as it did: gap or noise, and what these group sizes could have found."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tworulers.report.rows import iterate_rows
from tworulers.report.style import (
    GAP_COLOUR,
    NOISE_COLOUR,
    colour_rulers,
    mark_legend,
    start_figure,
    wrap,
)
from tworulers.report.verdict_figures import write_labels
from tworulers.report.view import View


def draw_parts(view: View) -> Figure:
    """Draw how much of each change of H is the doing of the gap and how much of the noise, in the groupings' order."""
    order = {name: place for place, name in enumerate(view.first.titles)}
    verdicts = view.explained.sort_values(
        ["grouping", "metric", "structure"],
        key=lambda column: column.map(order) if column.name == "grouping" else column,
        kind="stable",
    )
    base, other = view.names.values()
    figure = start_figure(8.6, 0.42 * max(len(verdicts), 1) + 1.9)
    ax = figure.subplots()
    labels = [
        f"{view.first.title_of(row.grouping)}: {view.first.metric(row.metric).label(row.structure)}"
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
        mark_legend("gap part: groups further apart", color=GAP_COLOUR, linewidth=7),
        mark_legend("noise part: less spread within", color=NOISE_COLOUR, linewidth=7),
        mark_legend("whole change of H", color="black", marker="D", linestyle=""),
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=3, fontsize=8.5)
    return figure


def draw_power(view: View) -> Figure:
    """Draw for each test that found nothing the gap seen and the smallest gap it could have found."""
    judged, score, groupings = view.judged, view.score, write_labels(view.first.result)
    figure = start_figure(4.4 * len(judged) + 2.0, 0.5 * len(groupings) + 2.2)
    axes = figure.subplots(1, len(judged), sharey=True, squeeze=False)[0]
    names, colours = list(groupings), colour_rulers(view.provenances)
    for ax, one in zip(axes, judged, strict=True):
        mine, colour = score.of(one.result.power), colours[one.key]
        for y, grouping in enumerate(names):
            rows = mine[mine["grouping"] == grouping].set_index("correction")
            if rows["observed_gap"].notna().sum() == 0:
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
                ax.text(max(ends), y - 0.28, " no gap found with 80 % power", fontsize=8.5)
        ax.set_xlim(left=0)
        ax.set_title(wrap(f"Judged by {one.name}", 46), color=colour, weight="bold")
        ax.set_xlabel(f"gap between group medians: {score.label}")
        ax.grid(visible=False, axis="y")
    axes[0].set_yticks(range(len(names)), [wrap(groupings[name], 38) for name in names], fontsize=9)
    axes[0].set_ylim(len(names) - 0.5, -0.6)
    alone = "found with 80 % power by this test alone"
    family = "the same at the level divided by the size of the family"
    black = {"color": "black", "linestyle": ""}
    handles = [
        mark_legend("gap seen", color="#555555", marker="o", linestyle=""),
        mark_legend(alone, marker="|", markersize=12, markeredgewidth=1.8, **black),
        mark_legend(family, marker="x", markeredgewidth=1.6, **black),
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=3, fontsize=8.5)
    return figure


def draw_verdict_chance(
    traces: Mapping[str, pd.DataFrame],
    rulers: Mapping[str, str],
    *,
    provenances: Mapping[str, str],
    n: int,
    grouping_title: str,
    score: str,
) -> Figure:
    """Draw how often each ruler would call a difference significant, as the number of exams grows.

    Parameters
    ----------
    traces : of each ruler: `n`, `probability` (raw) and `probability_fdr` (adjusted) of one test.
    rulers : name and description, with provenance, of the rulers to show, in order.
    provenances : of the rulers' labels, by ruler.
    n : audited exams.
    grouping_title, score : what is tested.
    """
    figure = start_figure(6.6, 4.6)
    ax = figure.subplots()
    colours = colour_rulers(provenances)
    for (ruler, title), marker in zip(rulers.items(), "osD^v", strict=False):
        trace = traces[ruler].sort_values("n")
        colour = colours[ruler]
        ax.plot(trace["n"], trace["probability_fdr"], color=colour, marker=marker, label=title)
        ax.plot(trace["n"], trace["probability"], color=colour, linestyle=":", linewidth=1.4)
    ax.axvline(n, color="#555555", linewidth=1)
    ax.text(n, 0.0, f" audited: {n}", fontsize=8.5, va="bottom")
    ax.set(ylim=(-0.02, 1.02), xlabel="exams drawn again from the audited ones")
    ax.set_ylabel("share of such studies that find a difference")
    ax.set_title(f"{grouping_title}: {score}\nsolid: adjusted over the family; dotted: raw")
    figure.legend(loc="outside lower left", fontsize=8.5)
    return figure
