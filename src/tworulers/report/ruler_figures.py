"""What two rulers say of the same predictions, side by side: scores by group, and exam by exam."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tworulers.report.score import Score
from tworulers.report.style import (
    CROWDED,
    GROUP_COLOURS,
    GROUP_MARKERS,
    WIDEST,
    colour_rulers,
    start_figure,
    with_counts,
    wrap,
)

GOLDEN_ANGLE = 2.399963


@dataclass(frozen=True)
class RulerPanel:
    """One ruler's side of a figure: its name, who made its labels, and what its test said.

    Attributes
    ----------
    ruler, title, provenance : who judges.
    p, p_fdr : raw and adjusted; NaN where the test is undefined, and `undefined_because` says why.
    alpha : the level that `p_fdr` is held against.
    by : `patient` where p keeps the exams of a patient together, else `exam`.
    gap : between the medians of the best and of the worst group.
    sd : within groups.
    medians : of the groups with several exams; a band spans them.
    called : the heading, where it is not the ruler.
    """

    ruler: str
    title: str
    provenance: str
    p: float
    p_fdr: float
    alpha: float = 0.05
    undefined_because: str = ""
    by: str = "exam"
    gap: float = math.nan
    sd: float = math.nan
    medians: tuple[float, ...] = ()
    called: str = ""

    @property
    def heading(self) -> str:
        """Write who judges; or whom, where the ruler is the same."""
        return self.called or f"Judged by {self.ruler}: {self.title}"

    @property
    def verdict(self) -> str:
        """Write the test's outcome in a line."""
        if np.isnan(self.p):
            return f"not tested: {self.undefined_because or 'undefined'}"
        adjusted = "undefined" if np.isnan(self.p_fdr) else f"{self.p_fdr:.2g}"
        significant = "significant" if self.p_fdr < self.alpha else "not significant"
        kept = " (patients kept together)" if self.by == "patient" else ""
        return f"p = {self.p:.2g}, adjusted {adjusted}{kept}: {significant}"


def draw_two_rulers(
    scores: pd.DataFrame,
    panels: Sequence[RulerPanel],
    *,
    score: Score,
    grouping_title: str,
    single_exams: bool = True,
) -> Figure:
    """Draw the scores of each group under each ruler on one scale, gap and spread written in.

    The band behind the points spans the group medians: its height is the gap.

    Parameters
    ----------
    scores : one row an exam and ruler: `ruler`, `group` (ordered categorical), `value`; exams
        without group left out.
    panels : the rulers from left to right.
    score : what `value` is.
    grouping_title : what the groups are, for the axis.
    single_exams : with a point an exam, and whiskers to the outermost within 1.5 times the box; without, whiskers end
        at the 5th and 95th percentile. A group of one exam is not drawn either way.
    """
    metric = score.metric
    widest = max(3, len(scores["group"].cat.categories))
    width = (1.0 + 1.1 * widest) * len(panels) + 0.5
    figure = start_figure(min(width, WIDEST), 4.9)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    colours = colour_rulers({panel.ruler: panel.provenance for panel in panels})
    for ax, panel in zip(axes, panels, strict=True):
        mine = scores[(scores["ruler"] == panel.ruler) & np.isfinite(scores["value"])]
        colour = colours[panel.ruler]
        if len(panel.medians) > 1:
            ends = (min(panel.medians), max(panel.medians))
            ax.axhspan(*ends, color=colour, alpha=0.22, linewidth=0)
        draw_groups(ax, mine, single_exams=single_exams)
        ax.set_xlabel(grouping_title)
        gap = "—" if math.isnan(panel.gap) else metric.write_difference(panel.gap)
        ax.text(
            0,
            1.015,
            f"provenance of labels: {panel.provenance}, {len(mine)} exams\n"
            f"gap of medians {gap} · within-group SD {metric.write_difference(panel.sd)}\n{panel.verdict}",
            transform=ax.transAxes,
            va="bottom",
            fontsize=9,
            linespacing=1.35,
        )
        title = wrap(panel.heading, min(14 * widest, 120 // len(panels)))
        ax.set_title(title, color=colour, weight="bold", pad=49)
    axes[0].set_ylabel(score.label)
    return figure


def draw_groups(ax: Axes, scores: pd.DataFrame, *, single_exams: bool = True) -> None:
    """Draw the quartiles of each group and, with `single_exams`, every exam as a point; no group of one exam.

    `scores` has `group` (ordered categorical) and finite `value`; points are spread sideways by
    their rank order.
    """
    groups = [str(group) for group in scores["group"].cat.categories]
    by_group = scores["group"].astype(str)
    values = [scores.loc[by_group == group, "value"].to_numpy(float) for group in groups]
    filled = [place for place, group in enumerate(values) if group.size > 1]
    if filled:
        ax.boxplot(
            [values[place] for place in filled],
            positions=filled,
            widths=0.62,
            showfliers=False,
            whis=1.5 if single_exams else (5, 95),
            medianprops={"color": "black", "linewidth": 1.6},
            boxprops={"color": "#888888"},
            whiskerprops={"color": "#888888"},
            capprops={"color": "#888888"},
        )
    for place in filled if single_exams else []:
        exams = values[place]
        ax.scatter(
            place + 0.24 * np.sin(GOLDEN_ANGLE * np.arange(exams.size)),
            np.sort(exams),
            s=15 if exams.size < 150 else 5,
            color=GROUP_COLOURS[place % len(GROUP_COLOURS)],
            marker=GROUP_MARKERS[place % len(GROUP_MARKERS)],
            alpha=0.75,
            linewidths=0,
            zorder=3,
        )
    counts = {group: exams.size for group, exams in zip(groups, values, strict=True)}
    ax.set_xticks(range(len(groups)), with_counts(groups, counts))
    if len(groups) > CROWDED:
        ax.tick_params(axis="x", labelrotation=90)
    ax.set_xlim(-0.6, len(groups) - 0.4)
    ax.grid(visible=False, axis="x")


def draw_inflation(
    paired: pd.DataFrame,
    measured: Any,
    *,
    score: Score,
    titles: Mapping[str, str],
    provenances: Mapping[str, str],
) -> Figure:
    """Draw each exam's score under the second ruler against its score under the first.

    Parameters
    ----------
    paired : one row an exam, its two columns named after the rulers, first ruler first.
    measured : the row of their paired differences: `n`, `mean`, `sd_base`, `sd_other`.
    score : what the scores are.
    titles : what each ruler is, with its provenance.
    provenances : of the rulers' labels, by ruler.
    """
    first, second = paired.columns
    finite = paired[np.isfinite(paired).all(axis=1)]
    left_out = len(paired) - len(finite)
    figure = start_figure(5.6, 5.4)
    ax = figure.subplots()
    label, metric = score.label, score.metric
    ax.set_xlabel(f"{label}\njudged by {wrap(titles[first], 44)}")
    ax.set_ylabel(f"{label}\njudged by {wrap(titles[second], 44)}")
    note = f", {left_out} undefined or infinite left out" if left_out else ""
    if finite.empty:
        ax.set_title(f"No exam has a finite score under both rulers{note}")
        return figure
    colour = colour_rulers(provenances)[str(second)]
    ax.scatter(
        finite[first], finite[second], s=18, color=colour, alpha=0.75, linewidths=0, zorder=3
    )
    low, high = float(finite.min().min()), float(finite.max().max())
    margin = 0.04 * (high - low or 1.0)
    ends = (low - margin, high + margin)
    ax.plot(ends, ends, color="black", linewidth=1, linestyle="--")
    ax.set(xlim=ends, ylim=ends, aspect="equal")
    ax.text(
        low + 0.3 * (high - low),
        low + 0.26 * (high - low),
        "equal under both rulers",
        fontsize=8.5,
        rotation=45,
        rotation_mode="anchor",
        va="top",
    )
    spreads = [metric.write_difference(sd) for sd in (measured.sd_base, measured.sd_other)]
    ax.set_title(
        f"The same predictions under two rulers, n = {measured.n} exams{note}\n"
        f"mean difference {metric.write_difference(measured.mean)}\n"
        f"SD over exams {spreads[0]} by {first}, {spreads[1]} by {second}",
        fontsize=9.5,
    )
    return figure
