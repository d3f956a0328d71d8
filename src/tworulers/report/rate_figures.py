"""Success rates: the ratio of each grouping with its intervals, and how each rate hangs on the threshold."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tworulers.battery.audit import AuditResult
from tworulers.report.rate_intervals import name_published, name_recommended
from tworulers.report.rows import iterate_rows
from tworulers.report.score import Score
from tworulers.report.style import (
    GROUP_COLOURS,
    GROUP_MARKERS,
    MOST_LISTED,
    colour_rulers,
    mark_legend,
    start_figure,
    wrap,
)
from tworulers.report.view import View
from tworulers.schema.tables import unpack_names


def draw_dir_forest(view: View, score: Score) -> Figure:
    """Draw the lowest over the highest success rate of each grouping by each ruler, with two intervals."""
    result, rulers, groupings = view.first.result, view.names, view.first.titles
    four_fifths, colours = result.settings.four_fifths, colour_rulers(view.provenances)
    tables = [one.result.disparities.assign(ruler=one.key) for one in view.judged]
    mine = score.of(pd.concat(tables, ignore_index=True))
    mine = mine[mine["primary"].astype(bool)]
    cells = {(row.grouping, row.ruler): row for row in iterate_rows(mine)}
    lines = len(groupings) * len(rulers)
    figure = start_figure(10.2, 0.34 * lines + 0.2 * len(groupings) + 1.9)
    ax = figure.subplots()
    places, labels, lowest, y = [], [], four_fifths - 0.05, 0.0
    for grouping, title in groupings.items():
        places.append(y + (len(rulers) - 1) / 2)
        part = mine.loc[mine["grouping"] == grouping, "groups"]
        named = unpack_names(part.iloc[0]) if len(part) else []
        listed = " · ".join(named) if len(named) <= MOST_LISTED else f"{len(named)} groups"
        labels.append(wrap(f"{title}\n{listed}" if named else title, 32))
        for ruler in rulers:
            if (grouping, ruler) in cells:
                lowest = min(lowest, _draw_ratio(ax, cells[grouping, ruler], y, colours[ruler]))
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
        f"success: {score.label} {score.metric.write_success(threshold)}; dashed red: "
        f"{four_fifths:g}, the four-fifths line"
    )
    ax.set_title(
        "Ratio of success rates; beside it successes / n of each group, in the order named"
    )
    _explain_ratios(figure, {title: colours[ruler] for ruler, title in rulers.items()}, result)
    return figure


def _explain_ratios(figure: Figure, colours: Mapping[str, str], result: AuditResult) -> None:
    """Draw the legend: a line a ruler, both intervals, and the mark of a degenerate ratio."""
    grey, degenerate = "#555555", "degenerate: every draw gives the same ratio"
    handles = [
        mark_legend(title, color=colour, marker="o", linewidth=5, alpha=0.6)
        for title, colour in colours.items()
    ]
    handles += [
        mark_legend(name_published(result), color=grey, linewidth=5, alpha=0.5),
        mark_legend(name_recommended(result.by_patient), color=grey, linewidth=1.3, marker="|"),
        mark_legend(degenerate, color=grey, marker="D", markerfacecolor="white", linestyle=""),
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=8.5)


def _draw_ratio(ax: Axes, row: Any, y: float, colour: str) -> float:
    """Draw one ratio with its intervals and counts; return the lowest value drawn."""
    place = ax.get_yaxis_transform()
    counts = unpack_names(row.counts)
    ax.text(1.01, y, " · ".join(counts) if len(counts) <= MOST_LISTED else "", transform=place, va="center",
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
                    va="center", fontsize=8.5, color="#555555",
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
        return float(row.dir)
    if row.dir_bca_method == "bca":
        ax.plot([row.dir_bca_low, row.dir_bca_high], [y, y], color=colour, linewidth=5,
                alpha=0.5, solid_capstyle="butt", zorder=2)  # fmt: skip
        lowest.append(row.dir_bca_low)
    if not np.isnan(row.dir_low):
        ax.plot([row.dir_low, row.dir_high], [y, y], color=colour, linewidth=1.3, marker="|",
                markersize=8, zorder=3)  # fmt: skip
        lowest.append(row.dir_low)
    ax.plot(row.dir, y, "o", color=colour, markersize=6, zorder=4)
    return float(min(lowest))


def draw_threshold_sweep(view: View, score: Score) -> Figure:
    """Draw how the success rate of each group depends on the threshold, ruler by ruler."""
    figure = start_figure(4.7 * len(view.judged) + 0.3, 4.5)
    axes = figure.subplots(1, len(view.judged), sharey=True, squeeze=False)[0]
    sign = ">" if score.metric.higher_is_better else "<"
    for ax, one in zip(axes, view.judged, strict=True):
        mine = score.of(one.result.rates)
        mine = mine[mine["grouping"] == view.grouping]
        groups = [group for group in dict.fromkeys(mine["group"]) if group in view.shown_groups]
        steps = sorted(mine["threshold"].unique())
        shift = 0.06 * float(min(np.diff(steps), default=0.1))
        for place, group in enumerate(groups):
            line = mine[mine["group"] == group].sort_values("threshold")
            x = line["threshold"] + (place - (len(groups) - 1) / 2) * shift
            error = np.abs(
                np.vstack([line["rate"] - line["rate_low"], line["rate_high"] - line["rate"]])
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
                label=f"{wrap(str(group), 48)}, n = {line['n'].max() if len(line) else 0}",
            )
        for threshold in mine.loc[mine["primary"].astype(bool), "threshold"].unique():
            ax.axvline(threshold, color="#555555", linestyle=":", linewidth=1.2, zorder=1)
        ax.set_xticks(steps, [f"{step:g}" for step in steps])
        ax.set_xlabel(f"threshold of {score.label}")
        ax.set_title(
            wrap(f"Judged by {one.name}", 48),
            color=colour_rulers(view.provenances)[one.key],
            weight="bold",
        )
        ax.set_ylim(-0.03, 1.04)
        ax.legend(title=view.title, loc="best", fontsize=9)
    axes[0].set_ylabel(f"share of exams with score {sign} threshold\n(Wilson's interval)")
    return figure
