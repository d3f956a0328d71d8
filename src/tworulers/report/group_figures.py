"""The scores of every group, by one or several sides: a panel a grouping and side."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from tworulers.report.ruler_figures import draw_groups
from tworulers.report.score import Score
from tworulers.report.style import start_figure, wrap


def draw_scores_by_group(
    values: Mapping[str, pd.Series],
    groups: pd.DataFrame,
    score: Score,
    titles: Mapping[str, str],
) -> Figure:
    """Draw one score of every exam by group, a row of panels a side and a column a grouping, on one scale.

    Parameters
    ----------
    values : by what a side is called: the score by exam_id, NaN where undefined.
    groups : index `exam_id`, one ordered categorical column a grouping.
    score : what is drawn.
    titles : what groupings are called.
    """
    width = [max(2, len(groups[name].cat.categories)) for name in groups]
    figure = start_figure(1.2 + 1.1 * sum(width), 0.6 + 3.6 * len(values))
    axes = figure.subplots(len(values), len(width), sharey=True, squeeze=False, width_ratios=width)
    for row, (side, scores) in zip(axes, values.items(), strict=True):
        for ax, name, panel in zip(row, groups, width, strict=True):
            placed = pd.DataFrame({"group": groups[name].reindex(scores.index), "value": scores})
            draw_groups(ax, placed.dropna())
            ax.set_title(wrap(titles.get(str(name), str(name)), 14 * panel))
        row[0].set_ylabel(f"{score.label}\n{wrap(side, 40)}")
    return figure
