"""What the risk figures write on themselves: numbers, n, reasons, and one panel a group."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_curve

from tworulers.auc.calibration import tabulate_calibration
from tworulers.auc.covariance import compute_covariance
from tworulers.auc.fairness import tabulate_cells
from tworulers.auc.matrix import compute_matrix, stratify_scores
from tworulers.report.risk_figures import (
    draw_calibration,
    draw_distributions,
    draw_matrix,
    draw_roc_across,
    draw_roc_within,
    find_extremes,
    make_figure,
)

SCORES = pd.DataFrame(
    {
        "group": ["a"] * 12 + ["b"] * 4 + [None],
        "outcome": [1, 0, 1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 1],
        "score": np.linspace(0.05, 0.9, 17)[::-1].round(2),
    }
)


def words_on(draw) -> tuple[object, str]:
    axes = make_figure([draw]).axes[0]
    legend = axes.get_legend()
    texts = [t.get_text() for t in axes.texts]
    texts += [t.get_text() for t in legend.get_texts()] if legend else []
    texts += [t.get_text() for t in axes.get_yticklabels()]
    return axes, "\n".join([*texts, axes.get_title(), axes.get_xlabel(), axes.get_ylabel()])


def test_matrix_cells_show_value_interval_and_counts_or_the_reason():
    sample = stratify_scores(SCORES.score, SCORES.outcome, SCORES.group)
    cells = tabulate_cells(compute_covariance(sample), level=0.95)
    _, words = words_on(lambda axes: draw_matrix(cells, axes))
    first = cells.iloc[0]
    assert f"{first.auc:.3f}*\n[{first.low:.3f}, {first.high:.3f}]\n6 × 6" in words
    assert words.count("undefined\nno events") == 2


def test_distributions_name_n_of_every_side_even_where_it_is_0():
    _, words = words_on(lambda axes: draw_distributions(SCORES, axes, score_name="risk"))
    assert "a\nevents, n = 6" in words
    assert "b\nevents, n = 0" in words


def test_roc_curve_within_a_group_equals_scikit_learn():
    axes, words = words_on(lambda axes: draw_roc_within(SCORES, axes))
    own = SCORES[SCORES.group == "a"]
    line = next(line for line in axes.lines if str(line.get_label()).startswith("a "))
    false, true, _ = roc_curve(own.outcome, own.score, drop_intermediate=False)
    np.testing.assert_allclose(line.get_xdata(), false)
    np.testing.assert_allclose(line.get_ydata(), true)
    assert "b (0 × 4): undefined" in words
    assert "overall (7 × 10)" in words


def test_curves_across_groups_start_from_one_groups_events():
    _, words = words_on(lambda axes: draw_roc_across(SCORES, axes, events_of="a"))
    assert "a (6 × 6)" in words
    assert "b (6 × 4)" in words


def test_ordered_groups_keep_their_order():
    order = pd.CategoricalDtype(["b", "a"], ordered=True)
    ordered = SCORES.assign(group=SCORES.group.astype(order))
    axes, _ = words_on(lambda axes: draw_distributions(ordered, axes, score_name="risk"))
    assert axes.get_yticklabels()[0].get_text().startswith("b\n")


def test_calibration_leaves_bins_of_few_rows_out_and_says_so():
    known = SCORES.dropna()
    table = tabulate_calibration(
        stratify_scores(known.score, known.outcome, known.group), edges=[0, 0.5, 1], level=0.95
    )
    _, words = words_on(lambda axes: draw_calibration(table, axes))
    assert "bins of 5 rows or more" in words
    assert "a (n = 12, 6 events)" in words
    assert "b (n = 4" not in words


@pytest.mark.parametrize(("panels", "shape"), [(1, (1, 1)), (3, (2, 2)), (6, (3, 2))])
def test_panels_wrap_and_empty_ones_stay_blank(panels, shape):
    figure = make_figure([lambda axes: axes.set_title("x")] * panels)
    assert len(figure.axes) == shape[0] * shape[1]
    assert sum(axes.axison for axes in figure.axes) == panels


def test_of_many_groups_the_extremes_have_curves_and_the_matrix_is_one_picture():
    rng = np.random.default_rng(0)
    group = np.repeat([f"g{k:02d}" for k in range(14)], 8)
    outcome = np.tile([0, 0, 0, 0, 1, 1, 1, 1], 14)
    outcome[:8] = 1  # the first group has no non-events, and so no AUC
    sample = stratify_scores(rng.normal(size=112), outcome, group)
    matrix = compute_matrix(sample)
    shown = find_extremes(matrix)
    assert len(shown) == 12
    assert shown == sorted(shown)
    left = [name for name in matrix.groups if name not in shown]
    assert left[0] == "g00"
    values = dict(zip(matrix.groups, matrix.within, strict=True))
    below = sum(values[name] <= values[left[1]] for name in shown)
    assert (below, 12 - below) == (6, 6)
    cells = tabulate_cells(compute_covariance(sample), level=0.95)
    axes, _ = words_on(lambda axes: draw_matrix(cells, axes))
    assert (len(axes.images), len(axes.patches), len(axes.texts)) == (1, 0, 0)
    np.testing.assert_array_equal(
        np.isnan(axes.images[0].get_array().filled(np.nan)), np.isnan(matrix.cells)
    )
    assert find_extremes(compute_matrix(stratify_scores([1, 2], [0, 1], ["a", "b"]))) == ["a", "b"]
