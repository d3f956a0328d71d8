"""Figures: n in every label, the ruler's provenance, marks of significance, nothing lost."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from tworulers.diagnosis.comparison import Comparison
from tworulers.metrics.registry import METRICS
from tworulers.report.cohort_figures import draw_volumes
from tworulers.report.findings import CohortTables, ShownAudit
from tworulers.report.gallery import audit_figures, comparison_figures
from tworulers.report.mechanism_figures import draw_parts, draw_power, draw_verdict_chance
from tworulers.report.rate_figures import draw_dir_forest, draw_threshold_sweep
from tworulers.report.render import inline_svg, name_picture, take_picture
from tworulers.report.ruler_figures import RulerPanel, draw_inflation, draw_two_rulers
from tworulers.report.score import Score
from tworulers.report.style import PROVENANCE_COLOURS, colour_rulers, start_figure
from tworulers.report.verdict_figures import draw_verdict_grid, scale_effect, write_labels
from tworulers.report.view import View, view_audit, view_comparison
from tworulers.schema.file_names import find_name_fault

DICE = Score(METRICS["dice"], "macro")


def read(figure: Figure) -> str:
    """All text of a figure."""
    return "\n".join(text.get_text() for text in figure.findobj(Text))


def names(audits: dict[str, ShownAudit]) -> dict[str, str]:
    return {ruler: one.name for ruler, one in audits.items()}


def by_group(audits: dict[str, ShownAudit], groups: pd.Series) -> pd.DataFrame:
    parts = []
    for ruler, one in audits.items():
        rows = one.scores[(one.scores["metric"] == "dice") & (one.scores["structure"] == "macro")]
        value = rows.set_index("exam_id")["value"]
        part = pd.DataFrame({"group": groups.reindex(value.index), "value": value, "ruler": ruler})
        parts.append(part)
    return pd.concat(parts)


def test_two_rulers_writes_gap_and_spread_on_one_scale(
    audits: dict[str, ShownAudit], exam_groups: pd.DataFrame
) -> None:
    panels = [
        RulerPanel("gold", "expert labels", "gold", 0.03, 0.27, gap=0.0231, sd=0.0581),
        RulerPanel("silver", "predictions", "silver", np.nan, np.nan, 0.05, "one group"),
    ]
    figure = draw_two_rulers(
        by_group(audits, exam_groups["age_3bin"]), panels, score=DICE, grouping_title="Age"
    )
    text = read(figure)
    for piece in ("<40\nn = 21", "40-60\nn = 29", "60+\nn = 26", "Dice, macro"):
        assert piece in text
    assert "provenance of labels: gold, 76 exams" in text
    assert "gap of medians 2.31 points · within-group SD 5.81 points" in text
    assert "p = 0.03, adjusted 0.27: not significant" in text
    assert "not tested: one group" in text
    first, second = figure.axes
    assert first.get_ylim() == second.get_ylim()


def test_inflation_names_rulers_and_counts_what_it_leaves_out() -> None:
    paired = pd.DataFrame({"gold": [0.8, 0.9, np.nan], "silver": [0.95, 0.97, 0.9]})
    titles = {"gold": "gold (provenance gold)", "silver": "silver (provenance silver)"}
    drawn_by = {"gold": "gold", "silver": "silver"}
    measured = SimpleNamespace(n=2, mean=0.11, sd_base=0.07, sd_other=0.01)
    text = read(draw_inflation(paired, measured, score=DICE, titles=titles, provenances=drawn_by))
    assert "n = 2 exams, 1 undefined or infinite left out" in text
    assert "mean difference 11.00 points" in text
    assert "SD over exams 7.00 points by gold, 1.00 points by silver" in text
    assert "provenance gold" in text
    assert "provenance silver" in text
    empty = paired.assign(gold=np.inf)
    assert "No exam has a finite score" in read(
        draw_inflation(empty, measured, score=DICE, titles=titles, provenances=drawn_by)
    )


def test_grid_marks_significance_and_hatches_what_is_undefined(
    audits: dict[str, ShownAudit],
) -> None:
    tests = pd.concat([one.result.tests for one in audits.values()], ignore_index=True)
    tests.loc[0, ["p_verdict", "p_verdict_fdr", "effect"]] = np.nan
    labels = {ruler: write_labels(one.result) for ruler, one in audits.items()}
    figure = draw_verdict_grid(tests, names(audits), metrics=METRICS, groupings=labels)
    text = read(figure)
    assert "Female\u00a0(n\u00a038)" in text
    assert "(provenance silver)" in text
    panels = figure.axes[:2]
    hatched = [
        sum(patch.get_hatch() is not None for patch in ax.findobj(Rectangle)) for ax in panels
    ]
    assert hatched == [1, 0]
    for ax, (_, part) in zip(panels, tests.groupby("ruler", sort=False), strict=True):
        discs = [line for line in ax.lines if line.get_markersize() == 6.5]
        filled = sum(line.get_markerfacecolor() == "black" for line in discs)
        assert filled == int((part["p_fdr"] < 0.05).sum())
        assert len(discs) == int((part["p"] < 0.05).sum())


def test_effects_of_two_and_more_groups_share_a_scale() -> None:
    tests = pd.DataFrame(
        {"effect": [-0.3, 0.09, -0.02], "effect_name": ["rank_biserial"] + ["epsilon_squared"] * 2}
    )
    assert scale_effect(tests).tolist() == pytest.approx([0.3, 0.3, 0.0])


@pytest.fixture
def view(audits: dict[str, ShownAudit], comparison: Comparison, exam_groups: pd.DataFrame) -> View:
    return view_comparison(audits["gold"], audits["silver"], comparison, exam_groups)


def test_forest_shows_counts_four_fifths_and_no_pretended_interval(view: View) -> None:
    figure = draw_dir_forest(view, DICE)
    text = read(figure)
    assert "20/21 · 29/29 · 25/26" in text
    assert "<40 · 40-60 · 60+" in text
    assert "no interval: all draws equal; a rate may be as low as 0.84" in text
    assert any(np.all(np.asarray(line.get_xdata()) == 0.8) for line in figure.axes[0].lines)
    gold = view.first
    none = gold.result.disparities.assign(dir=np.nan, undefined_because="nobody succeeds")
    alone = replace(gold, result=replace(gold.result, disparities=none))
    assert "nobody succeeds" in read(draw_dir_forest(view_audit(alone), DICE))


def test_sweep_follows_every_group_over_every_threshold(view: View) -> None:
    figure = draw_threshold_sweep(view, DICE)
    text = read(figure)
    assert "<40, n = 21" in text
    assert "score > threshold" in text
    first = figure.axes[0].get_lines()[0]
    assert len(first.get_xdata()) == 5


def test_mechanism_and_power_name_their_rulers(view: View) -> None:
    assert view.change is not None
    verdicts = view.change.comparison.verdicts.copy()
    verdicts.loc[0, ["gap_part", "noise_part"]] = np.nan
    parts = read(draw_parts(replace(view, explained=verdicts)))
    assert "provenance gold" in parts
    assert "undefined" in parts
    text = read(draw_power(view))
    assert "60+\u00a0(n\u00a026)" in text
    assert "80 % power" in text
    trace = pd.DataFrame({"n": [40, 80], "probability": [0.2, 0.5], "probability_fdr": [0.1, 0.3]})
    chance = draw_verdict_chance(
        dict.fromkeys(view.names, trace),
        view.names,
        provenances=view.provenances,
        n=76,
        grouping_title="Age",
        score="macro Dice",
    )
    assert "audited: 76" in read(chance)


def test_volumes_have_n_units_and_whose_labels_were_measured(
    cohort_tables: CohortTables, exam_groups: pd.DataFrame
) -> None:
    groups = {"sex": exam_groups["sex"]}
    volumes, ruler = cohort_tables.volumes, cohort_tables.volumes_ruler
    text = read(draw_volumes(volumes, groups, titles={"sex": "Sex"}, ruler=ruler))
    assert "Female\nn = 38" in text
    assert "volume of disc (cm³)" in text
    assert "provenance gold" in text


def test_the_same_figure_is_the_same_file_and_fits_into_a_page() -> None:
    def draw() -> Figure:
        figure = start_figure(2, 2)
        figure.subplots().plot([0, 1], [0, 1])
        return figure

    first, second = (take_picture(draw(), "line", "a line") for _ in range(2))
    assert first == second
    assert first.caption == "A line"
    assert first.png.startswith(b"\x89PNG")
    page = inline_svg(first.svg, "fig1")
    assert '<svg role="img"' in page
    assert "<title>A line</title>" in page
    assert "http" not in page
    assert 'id="fig1-' in page
    assert "url(#fig1-" in page


TEXTS = st.text(max_size=6) | st.sampled_from(
    ["a", "b", "a_b", "b_a", "Sex", "a/b", "é", "e\u0301"]
)
TRIPLES = st.tuples(TEXTS, TEXTS, TEXTS)


@given(TRIPLES, TRIPLES)
def test_pictures_of_other_things_have_other_names(
    first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    names = [name_picture("sweep", *texts) for texts in (first, second)]
    assert (names[0].casefold() == names[1].casefold()) is (first == second)
    assert not any(map(find_name_fault, names))


def test_no_name_ends_an_attribute_of_the_page() -> None:
    drawing = '<svg width="72pt" height="72pt"><g id="p1"/><use xlink:href="#p1" clip-path="url(#p1)"/></svg>'
    page = inline_svg(drawing, 's"><img src=x onerror=alert(1)> \\1 \\g<0>')
    assert "<img" not in page
    (own,) = re.findall(r' id="([^"]*)"', page)
    assert f'href="#{own}"' in page
    assert f"url(#{own})" in page


def test_audit_and_comparison_offer_their_figures(
    audits: dict[str, ShownAudit], comparison: Comparison, exam_groups: pd.DataFrame
) -> None:
    assert [p.name for p in audit_figures(view_audit(audits["gold"]))] == [
        "verdict_grid",
        "dir_forest_dice_macro",
        "sweep_sex_dice_macro",
    ]
    view = view_comparison(audits["gold"], audits["silver"], comparison, exam_groups)
    pictures = comparison_figures(view)
    assert [p.name for p in pictures] == [
        "two_rulers_age_3bin_dice_macro",
        "inflation_dice_macro",
        "verdict_grid",
        "gap_and_noise",
    ]
    assert all("provenance" in p.caption for p in pictures)


def test_rulers_have_colours_by_provenance_that_differ() -> None:
    every = [colour for colours in PROVENANCE_COLOURS.values() for colour in colours]
    assert len(set(every)) == len(every)
    named = colour_rulers({"gold": "gold", "silver": "silver"})
    assert list(colour_rulers({"expert": "gold", "machine": "silver"}).values()) == list(
        named.values()
    )
    twice = colour_rulers({"first": "gold", "second": "gold", "machine": "silver", "unknown": ""})
    assert len(set(twice.values())) == 4
    assert twice["first"] == named["gold"]
