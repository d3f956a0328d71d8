"""Which figures an audit, a comparison and the report show, each with the sentence under it."""

import math
from dataclasses import replace

import pandas as pd

from tworulers.battery.questions import EXTRA
from tworulers.report.choose import choose
from tworulers.report.cohort_figures import draw_volumes
from tworulers.report.mechanism_figures import draw_parts, draw_power, draw_verdict_chance
from tworulers.report.rate_figures import draw_dir_forest, draw_threshold_sweep
from tworulers.report.render import Picture, name_picture, take_picture
from tworulers.report.rows import find_row
from tworulers.report.ruler_figures import RulerPanel, draw_inflation, draw_two_rulers
from tworulers.report.score import Score
from tworulers.report.tables import write_count
from tworulers.report.verdict_figures import draw_verdict_grid, write_labels
from tworulers.report.view import MOST_PARTS, View, list_exams, make_view
from tworulers.report.worst_figure import draw_worst


def audit_figures(view: View) -> list[Picture]:
    """Take the figures of one audit: grid, ratios of success rates, threshold sweep."""
    view = make_view(choose(view.findings)[0])
    pictures = [picture_grid(view)]
    if view.score in view.rated:
        pictures += [picture_forest(view, view.score), picture_sweep(view, view.score)]
    return pictures


def comparison_figures(view: View) -> list[Picture]:
    """Take the figures of a comparison of two rulers, whose scores are at hand."""
    view = make_view(choose(view.findings)[0])
    pictures = [picture_two_rulers(view), picture_inflation(view), picture_grid(view)]
    return [*pictures, picture_parts(view)] if len(view.explained) else pictures


def picture_two_rulers(view: View) -> Picture:
    """Show a score by group under each ruler; no mark stands for one exam where small groups are suppressed."""
    groups, score = view.findings.groups[view.grouping], view.score
    every = len(groups.cat.categories)
    if len(view.shown_groups) < every:
        groups = groups.cat.set_categories(list(view.shown_groups))
    single_exams = not view.findings.suppress_below
    panels, parts = [], []
    for one in view.judged:
        test = find_row(score.of(one.result.tests), grouping=view.grouping)
        reason = test.verdict_undefined_because
        several = score.of(one.result.groups)
        several = several[(several["grouping"] == view.grouping) & (several["n"] > 1)]
        panels.append(
            RulerPanel(
                one.key,
                one.title,
                one.result.provenance,
                test.p_verdict,
                test.p_verdict_fdr,
                one.result.settings.alpha,
                reason if isinstance(reason, str) else "",
                test.verdict_by,
                test.median_gap,
                pool_sd(several),
                tuple(several["median"]),
                f"Model {one.model}, judged by {one.ruler}: {one.title}" if one.model else "",
            )
        )
        value = list_exams(one, score)
        part = pd.DataFrame({"group": groups.reindex(value.index), "value": value})
        parts.append(part[part["group"].notna()].assign(ruler=one.key))
    figure = draw_two_rulers(
        pd.concat(parts), panels, score=score, grouping_title=view.title, single_exams=single_exams
    )
    begin = "One point an exam; the" if single_exams else "The"
    caption = (
        f"{score.name} of the {view.first.result.regime} model's predictions by "
        f"{view.title.lower()}, judged by {' and '.join(view.names.values())}. {begin} box holds the middle half of "
        "a group, the thick line its median; the band spans the group medians, so its height is "
        f"the gap.{_tell_groups(view, every)}"
    )
    return take_picture(figure, name_picture("two_rulers", view.grouping, *score.key), caption)


def _count_groups(view: View) -> int:
    """Count the groups of the grouping that comes first."""
    rows = view.score.of(view.first.result.groups)
    return int(((rows["grouping"] == view.grouping) & (rows["status"] != "left out")).sum())


def _tell_groups(view: View, every: int) -> str:
    """Say how many groups are drawn, where these are not all."""
    n = len(view.shown_groups)
    if n == every:
        return ""
    which = f"those of several exams with the lowest and the highest medians by {view.first.key}"
    return f" Drawn are {n} of {every} groups: {which}."


def pool_sd(groups: pd.DataFrame) -> float:
    """Return the SD within groups from the n and the SD of each, weighted by degrees of freedom."""
    freedom = groups["n"] - 1
    return (
        math.sqrt((freedom * groups["sd"] ** 2).sum() / freedom.sum()) if len(groups) else math.nan
    )


def picture_inflation(view: View) -> Picture:
    """Show each exam's score under two rulers."""
    first, second, score = view.first, view.second, view.score
    assert view.change is not None
    metric, structure = score.key
    row = find_row(view.change.comparison.inflation, metric=metric, structure=structure)
    paired = pd.DataFrame({one.key: list_exams(one, score) for one in view.judged})
    figure = draw_inflation(
        paired.dropna(how="all"), row, score=score, titles=view.names, provenances=view.provenances
    )
    better = "" if score.metric.higher_is_better else ", which is worse,"
    caption = (
        f"{score.name} of each exam by {second.name} against the same by "
        f"{first.name}. Points above the line score higher{better} under {second.ruler}."
    )
    return take_picture(figure, name_picture("inflation", *score.key), caption)


def picture_grid(view: View) -> Picture:
    """Show every test of every ruler, of those that the page is not about as well."""
    shown = [*view.judged, *view.others]
    tests = pd.concat([one.result.tests.assign(ruler=one.key) for one in shown], ignore_index=True)
    tests = tests[tests["family"] != EXTRA] if (tests["family"] != EXTRA).any() else tests
    figure = draw_verdict_grid(
        tests,
        {one.key: one.name for one in shown},
        metrics={name: m for one in shown for name, m in one.result.metrics.items()},
        groupings={one.key: write_labels(one.result) for one in shown},
        alpha=view.first.result.settings.alpha,
    )
    families = "; ".join(
        f"{one.key}: {int(row['significant'])} of {int(row['size'])} significant"
        for one in shown
        for row in one.result.families.to_dict("records")
        if row["family"] != EXTRA
    )
    caption = (
        f"Every test of the {view.first.result.regime} model, one row a grouping, one column a "
        f"score. Judged by {', '.join(one.name for one in shown)}. The number is the effect; an "
        f"empty cell is a difference not found, which is not the same as equal. {families}."
    )
    return take_picture(figure, "verdict_grid", caption)


def picture_forest(view: View, score: Score) -> Picture:
    """Show the ratio of success rates of every grouping with its intervals."""
    figure = draw_dir_forest(view, score)
    caption = (
        f"Disparate impact ratio of {score.name}, by {view.by_whom}. Where every exam succeeds no draw differs: "
        "there is no interval, and the lower bound of a single rate says how little that proves."
    )
    return take_picture(figure, name_picture("dir_forest", *score.key), caption)


def picture_sweep(view: View, score: Score) -> Picture:
    """Show the success rate of each group over thresholds."""
    figure = draw_threshold_sweep(view, score)
    caption = (
        f"Success rate by {view.title.lower()} for every threshold of {score.name}, "
        f"by {view.by_whom}. The dotted line is the threshold that "
        f"defines success.{_tell_groups(view, _count_groups(view))}"
    )
    return take_picture(figure, name_picture("sweep", view.grouping, *score.key), caption)


def picture_parts(view: View) -> Picture:
    """Show how much of the change of each test was the gap's doing and how much the noise's."""
    base, other = view.names.values()
    caption = (
        f"How the test statistic changed from {base} to {other}, in two parts: groups "
        "further apart (positive) or closer (negative), and less spread within groups (positive) "
        "or more (negative)."
    )
    every, p = len(view.explained), ["p_verdict_fdr_base", "p_verdict_fdr_other"]
    if every > MOST_PARTS:
        caption += f" Drawn are {MOST_PARTS} of {every} tests: those with the smallest adjusted p."
        order = view.explained[p].min(axis=1).sort_values(kind="stable").index[:MOST_PARTS]
        view = replace(view, explained=view.explained.loc[order])
    return take_picture(draw_parts(view), "gap_and_noise", caption)


def picture_power(view: View) -> Picture:
    """Show the gaps seen and the gaps that could have been found."""
    score = view.score
    caption = (
        f"Tests of {score.name} that found nothing, by {view.by_whom}: a true gap left of a mark would probably have "
        "been missed."
    )
    return take_picture(draw_power(view), name_picture("power", *score.key), caption)


def picture_chance(view: View) -> Picture | None:
    """Show how often each ruler would find the difference with fewer and with more exams; None where not traced."""
    traced = view.change.probability if view.change is not None else None
    if traced is None:
        return None
    mine = view.score.of(traced)
    mine = mine[mine["grouping"] == view.grouping]
    if mine.empty:
        return None
    columns = ("probability", "probability_fdr")
    traces = {
        one.key: mine[["n", *(f"{name}_{side}" for name in columns)]].set_axis(
            ["n", *columns], axis=1
        )
        for one, side in zip(view.judged, ("base", "other"), strict=True)
    }
    result = view.first.result
    figure = draw_verdict_chance(
        traces,
        view.names,
        provenances=view.provenances,
        n=result.n_patients,
        grouping_title=view.title,
        score=view.score.name,
    )
    caption = (
        f"How often a study of that many exams like these would find the difference in "
        f"{view.score.name} by {view.title.lower()}, judged by {' and by '.join(view.names.values())}. A changed "
        "conclusion is a window: with enough exams both rulers would find the gap they see here."
        + " Of patients with several exams one is drawn."
        * result.by_patient
    )
    name = name_picture("chance", view.grouping, *view.score.key)
    return take_picture(figure, name, caption)


def picture_worst(view: View) -> Picture:
    """Show the worst exam of each group by each ruler."""
    caption = (
        f"The exam of each group of {view.title.lower()} with the worst {view.score.name}, by {view.by_whom}: the "
        "slice in which prediction and reference differ most. One exam says nothing of its group."
    )
    if any(one.of_labels for one in view.findings.worst):
        caption += " Label maps without the image: grey is where both agree."
    figure = draw_worst(view.findings.worst, view.score)
    name = name_picture("worst", view.grouping, *view.score.key)
    return replace(take_picture(figure, name, caption), photo=True)


def picture_volumes(view: View) -> Picture:
    """Show the size of the structures by group."""
    cohort, groups = view.findings.cohort, view.findings.groups
    assert cohort.volumes is not None
    figure = draw_volumes(
        cohort.volumes,
        {name: groups[name] for name in view.drawn},
        titles=view.first.titles,
        ruler=cohort.volumes_ruler,
    )
    caption = (
        f"Volume of each structure by group, measured in {cohort.volumes_ruler}. A group of smaller structures "
        "scores lower on overlap for the same error at the surface."
    )
    if view.not_drawn:
        verb = "is" if view.not_drawn == 1 else "are"
        more = write_count(view.not_drawn, "more grouping")
        caption += f" {more} {verb} not drawn; their tests are in the tables below."
    return take_picture(figure, "volumes", caption)
