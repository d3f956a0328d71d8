"""The worst exam of each group by each ruler: the slice in which prediction and reference differ most."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tworulers.report.findings import ShownAudit, WorstExam
from tworulers.report.score import Score
from tworulers.report.style import GROUP_COLOURS, mark_legend, start_figure, wrap
from tworulers.report.view import View, list_exams

MARGIN = 12
"""Pixels that are shown around both masks."""

PREDICTED, DRAWN = GROUP_COLOURS[5], GROUP_COLOURS[4]
MOST = 5
"""Groups of which the worst exam is shown: the ones with the lowest worst score."""


@dataclass(frozen=True)
class Worst:
    """Which exam is the worst of a group by one ruler."""

    audit: ShownAudit
    group: str
    exam_id: str
    value: float


def find_worst(view: View) -> list[Worst]:
    """Find the worst exam of each group of the grouping that comes first, by each ruler; none without scores."""
    if not view.scored or view.grouping not in view.findings.groups:
        return []
    groups, found = view.findings.groups[view.grouping], []
    sign = view.score.metric.sign
    for one in view.judged:
        values = list_exams(one, view.score)
        values = values[np.isfinite(values)]
        table = pd.DataFrame({"value": values, "group": groups.reindex(values.index)}).dropna()
        for group in view.shown_groups:
            mine = table.loc[table["group"].astype(str) == group, "value"]
            if len(mine):
                exam = str((sign * mine).idxmin())
                found.append(Worst(one, group, exam, float(mine[exam])))
    shown = pd.DataFrame({"group": [x.group for x in found], "v": [sign * x.value for x in found]})
    kept = set(shown.groupby("group")["v"].min().nsmallest(MOST).index) if found else set()
    return [one for one in found if one.group in kept]


def cut_slice(
    image: np.ndarray | None,
    prediction: np.ndarray,
    reference: np.ndarray,
    spacing: Sequence[float],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Cut the slice across the coarsest axis in which both masks differ most, and crop it to them.

    Parameters
    ----------
    image, prediction, reference : of one grid, shape (i, j, k); labels are 0 outside. Without an image, the
        voxels of one label in both stand for it.
    spacing : mm along each axis.

    Returns
    -------
    The three slices, and the height of a pixel over its width.
    """
    if image is None:
        image = ((prediction == reference) & (reference > 0)).astype(np.uint8)
    axis = int(np.argmax(spacing))
    others = [x for x in range(3) if x != axis]
    differ = (prediction != reference).sum(axis=tuple(others))
    both = ((prediction > 0) | (reference > 0)).sum(axis=tuple(others))
    place = int(differ.argmax() if differ.any() else both.argmax())
    parts = [np.take(part, place, axis=axis) for part in (image, prediction, reference)]
    held = (parts[1] > 0) | (parts[2] > 0)
    window = tuple(_bound(held.any(axis=1 - x), held.shape[x]) for x in (0, 1))
    turned = [np.rot90(part[window]) for part in parts]
    return turned[0], turned[1], turned[2], float(spacing[others[1]] / spacing[others[0]])


def _bound(held: np.ndarray, size: int) -> slice:
    """Return the span of what is held, with a margin; all where nothing is."""
    there = np.flatnonzero(held)
    if not there.size:
        return slice(0, size)
    return slice(max(0, int(there[0]) - MARGIN), min(size, int(there[-1]) + MARGIN + 1))


def draw_worst(exams: Sequence[WorstExam], score: Score) -> Figure:
    """Draw a row of slices a ruler and a column a group, with the outlines of prediction and reference."""
    sides = list(dict.fromkeys(one.key for one in exams))
    groups = list(dict.fromkeys(one.group for one in exams))
    width = max(2.5 * len(groups), 6.0)
    heights = [
        0.75 + width / len(groups) * max(_measure_height(one) for one in exams if one.key == side)
        for side in sides
    ]
    figure = start_figure(width, sum(heights) + 0.5)
    axes = figure.subplots(len(sides), len(groups), squeeze=False, height_ratios=heights)
    for ax in axes.ravel():
        ax.set_axis_off()
        ax.set_anchor("NW")
    for one in exams:
        _draw_slice(axes[sides.index(one.key), groups.index(one.group)], one, score)
    handles = [
        mark_legend("prediction", color=PREDICTED, linewidth=2),
        mark_legend("reference", color=DRAWN, linewidth=2, linestyle="--"),
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=9)
    return figure


def _measure_height(one: WorstExam) -> float:
    """Return the height of a slice over its width."""
    rows, columns = one.image.shape[:2]
    return float(one.aspect * rows / columns)


def _draw_slice(ax: Axes, one: WorstExam, score: Score) -> None:
    low, high = (0, 2) if one.of_labels else np.percentile(one.image, [1, 99])
    ax.imshow(one.image, cmap="gray", vmin=low, vmax=max(high, low + 1e-6), aspect=one.aspect)
    for part, colour, line in ((one.prediction, PREDICTED, "-"), (one.reference, DRAWN, "--")):
        for label in np.unique(part[part > 0]):
            ax.contour(part == label, [0.5], colors=[colour], linewidths=1.4, linestyles=line)
    value = f"{score.name} {score.metric.write_value(one.value)}"
    told = f"{wrap(f'{one.group}, by {one.key}', 34)}\n{wrap(one.exam_id, 34)}\n{value}"
    ax.set_title(told, fontsize=8.5)
