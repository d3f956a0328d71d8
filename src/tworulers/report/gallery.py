"""Which figures an audit, a comparison and the report show, each with the sentence under it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from tworulers.audit import AuditResult
from tworulers.report.audit_tables import name_titles, write_labels
from tworulers.report.cohort_figures import draw_volumes
from tworulers.report.mechanism_figures import draw_parts, draw_power, draw_verdict_chance
from tworulers.report.render import Picture, name_picture, take_picture
from tworulers.report.rows import find_row
from tworulers.report.ruler_figures import RulerPanel, draw_inflation, draw_two_rulers
from tworulers.report.style import name_ruler, name_score
from tworulers.report.verdict_figures import (
    draw_dir_forest,
    draw_threshold_sweep,
    draw_verdict_grid,
)
from tworulers.report.verdict_words import pick_flip
from tworulers.schema import MACRO, Metric
from tworulers.stats.battery import EXTRA, RANDOM


@dataclass(frozen=True)
class ShownAudit:
    """One audit with what a figure needs beside its tables.

    Attributes
    ----------
    result : the audit.
    title : what its ruler is, in words.
    scores : the long scores it judged, or None where only the tables are at hand.
    """

    result: AuditResult
    title: str
    scores: pd.DataFrame | None = None

    @property
    def ruler(self) -> str:
        """Return the name of the ruler."""
        return self.result.ruler

    @property
    def name(self) -> str:
        """Return the ruler with its title and provenance."""
        return name_ruler(self.result.ruler, self.title, self.result.provenance)

    def metric(self, name: str) -> Metric:
        """Return what the audit knows of a metric."""
        return self.result.metrics[name]


def pick_score(audit: AuditResult) -> tuple[str, str]:
    """Pick the metric and structure that stand for all: the first metric, macro if there is one."""
    tests = audit.tests
    metric = next((m for m in audit.settings.metrics if (tests["metric"] == m).any()), None)
    metric = metric or str(tests["metric"].iloc[0])
    structures = list(dict.fromkeys(tests.loc[tests["metric"] == metric, "structure"]))
    return metric, MACRO if MACRO in structures else str(structures[0])


def pick_grouping(audit: AuditResult, verdicts: pd.DataFrame | None = None) -> str:
    """Pick the grouping that the page is about.

    It is the first one where a conclusion changes with the ruler, else the first one by age, else
    the first. Random groups mean nothing and are picked only where there are no others.
    """
    meant = audit.groupings[audit.groupings["family"] != RANDOM]
    shown = meant if len(meant) else audit.groupings
    names = [str(name) for name in shown["grouping"]]
    if verdicts is not None and len(verdicts):
        for name in names:
            if pick_flip(verdicts[verdicts["grouping"] == name]) is not None:
                return name
    return next((name for name in names if name.split("_")[0] == "age"), names[0])


def picture_two_rulers(
    judged: Sequence[ShownAudit],
    groups: pd.Series,
    *,
    metric: str,
    structure: str,
    single_exams: bool = True,
) -> Picture:
    """Show a score by group under each ruler; `groups` is named after its grouping.

    Without `single_exams` no mark stands for one exam.
    """
    grouping = str(groups.name)
    title = name_titles(judged[0].result).get(grouping, grouping)
    known = judged[0].metric(metric)
    panels, parts = [], []
    for one in judged:
        key = {"grouping": grouping, "metric": metric, "structure": structure}
        test = find_row(one.result.tests, **key)
        reason = test.verdict_undefined_because
        reason = reason if isinstance(reason, str) else ""
        panels.append(
            RulerPanel(
                one.ruler,
                one.title,
                one.result.provenance,
                test.p_verdict,
                test.p_verdict_fdr,
                one.result.settings.alpha,
                reason,
                test.verdict_by,
            )
        )
        value = _score_of(one, metric, structure)
        part = pd.DataFrame({"group": groups.reindex(value.index), "value": value})
        parts.append(part[part["group"].notna()].assign(ruler=one.ruler))
    figure = draw_two_rulers(
        pd.concat(parts),
        panels,
        metric=known,
        structure=structure,
        grouping_title=title,
        single_exams=single_exams,
    )
    names = " and ".join(one.name for one in judged)
    begin = "One point an exam; the" if single_exams else "The"
    caption = (
        f"{name_score(known, structure)} of the {judged[0].result.regime} model's predictions by "
        f"{title.lower()}, judged by {names}. {begin} box holds the middle half of "
        "a group, the thick line its median; the band spans the group medians, so its height is "
        "the gap."
    )
    return take_picture(figure, name_picture("two_rulers", grouping, metric, structure), caption)


def picture_inflation(
    first: ShownAudit, second: ShownAudit, *, metric: str, structure: str
) -> Picture:
    """Show each exam's score under two rulers."""
    paired = pd.DataFrame(
        {one.ruler: _score_of(one, metric, structure) for one in (first, second)}
    ).dropna(how="all")
    titles = {one.ruler: one.name for one in (first, second)}
    known = first.metric(metric)
    figure = draw_inflation(paired, metric=known, structure=structure, titles=titles)
    better = "" if known.higher_is_better else ", which is worse,"
    caption = (
        f"{name_score(known, structure)} of each exam by {second.name} against the same by "
        f"{first.name}. Points above the line score higher{better} under {second.ruler}."
    )
    return take_picture(figure, name_picture("inflation", metric, structure), caption)


def picture_grid(judged: Sequence[ShownAudit]) -> Picture:
    """Show every test of every ruler."""
    tests = pd.concat([one.result.tests for one in judged], ignore_index=True)
    tests = tests[tests["family"] != EXTRA] if (tests["family"] != EXTRA).any() else tests
    figure = draw_verdict_grid(
        tests,
        {one.ruler: one.name for one in judged},
        metrics={name: m for one in judged for name, m in one.result.metrics.items()},
        groupings={one.ruler: write_labels(one.result) for one in judged},
        alpha=judged[0].result.settings.alpha,
    )
    families = "; ".join(
        f"{one.ruler}: {int(row['significant'])} of {int(row['size'])} significant"
        for one in judged
        for row in one.result.families.to_dict("records")
        if row["family"] != EXTRA
    )
    caption = (
        f"Every test of the {judged[0].result.regime} model, one row a grouping, one column a "
        f"score. Judged by {', '.join(one.name for one in judged)}. The number is the effect; an "
        f"empty cell is a difference not found, which is not the same as equal. {families}."
    )
    return take_picture(figure, "verdict_grid", caption)


def picture_forest(judged: Sequence[ShownAudit], *, metric: str, structure: str) -> Picture:
    """Show the ratio of success rates of every grouping with its intervals."""
    known = judged[0].metric(metric)
    figure = draw_dir_forest(
        pd.concat([one.result.disparities for one in judged], ignore_index=True),
        {one.ruler: one.name for one in judged},
        metric=known,
        structure=structure,
        groupings=name_titles(judged[0].result),
        four_fifths=judged[0].result.settings.four_fifths,
        resampling_unit=judged[0].result.resampling_unit,
    )
    caption = (
        f"Disparate impact ratio of {name_score(known, structure)}, by "
        f"{', '.join(one.name for one in judged)}. Where every exam succeeds no draw differs: "
        "there is no interval, and the lower bound of a single rate says how little that proves."
    )
    return take_picture(figure, name_picture("dir_forest", metric, structure), caption)


def picture_sweep(
    judged: Sequence[ShownAudit], *, grouping: str, metric: str, structure: str
) -> Picture:
    """Show the success rate of each group over thresholds."""
    title = name_titles(judged[0].result).get(grouping, grouping)
    known = judged[0].metric(metric)
    figure = draw_threshold_sweep(
        {one.ruler: one.result.rates for one in judged},
        {one.ruler: one.name for one in judged},
        grouping=grouping,
        grouping_title=title,
        metric=known,
        structure=structure,
    )
    caption = (
        f"Success rate by {title.lower()} for every threshold of {name_score(known, structure)}, "
        f"by {', '.join(one.name for one in judged)}. The dotted line is the threshold that "
        "defines success."
    )
    return take_picture(figure, name_picture("sweep", grouping, metric, structure), caption)


def picture_parts(first: ShownAudit, second: ShownAudit, verdicts: pd.DataFrame) -> Picture:
    """Show how much of the change of each test was the gap's doing and how much the noise's."""
    titles = name_titles(first.result)
    order = {name: place for place, name in enumerate(titles)}
    shown = verdicts.sort_values(
        ["grouping", "metric", "structure"],
        key=lambda column: column.map(order) if column.name == "grouping" else column,
        kind="stable",
    )
    metrics = first.result.metrics
    figure = draw_parts(
        shown, metrics=metrics, groupings=titles, base=first.name, other=second.name
    )
    caption = (
        f"How the test statistic changed from {first.name} to {second.name}, in two parts: groups "
        "further apart (positive) or closer (negative), and less spread within groups (positive) "
        "or more (negative)."
    )
    return take_picture(figure, "gap_and_noise", caption)


def picture_power(judged: Sequence[ShownAudit], *, metric: str, structure: str) -> Picture:
    """Show the gaps seen and the gaps that could have been found."""
    known = judged[0].metric(metric)
    figure = draw_power(
        {one.ruler: one.result.power for one in judged},
        {one.ruler: one.name for one in judged},
        metric=known,
        structure=structure,
        groupings=write_labels(judged[0].result),
    )
    caption = (
        f"Tests of {name_score(known, structure)} that found nothing, by "
        f"{', '.join(one.name for one in judged)}: a true gap left of a mark would probably have "
        "been missed."
    )
    return take_picture(figure, name_picture("power", metric, structure), caption)


def picture_chance(
    first: ShownAudit,
    second: ShownAudit,
    probability: pd.DataFrame,
    *,
    grouping: str,
    metric: str,
    structure: str,
) -> Picture:
    """Show how often each ruler would find the difference with fewer and with more exams."""
    keys = probability[["grouping", "metric", "structure"]]
    mine = probability[(keys == [grouping, metric, structure]).all(axis=1)]
    columns = ("probability", "probability_fdr")
    traces = {
        one.ruler: mine[["n", *(f"{name}_{side}" for name in columns)]].set_axis(
            ["n", *columns], axis=1
        )
        for one, side in ((first, "base"), (second, "other"))
    }
    title = name_titles(first.result).get(grouping, grouping)
    known = first.metric(metric)
    figure = draw_verdict_chance(
        traces,
        {one.ruler: one.name for one in (first, second)},
        n=first.result.n_patients,
        grouping_title=title,
        score=name_score(known, structure),
    )
    caption = (
        f"How often a study of that many exams like these would find the difference in "
        f"{name_score(known, structure)} by {title.lower()}, judged by {first.name} and by "
        f"{second.name}. A changed conclusion is a window: with enough exams both rulers "
        "would find the gap they see here."
        + " Of patients with several exams one is drawn."
        * first.result.by_patient
    )
    return take_picture(figure, name_picture("chance", grouping, metric, structure), caption)


def picture_volumes(
    volumes: pd.DataFrame,
    groups: Mapping[str, pd.Series],
    titles: Mapping[str, str],
    ruler: str,
    more: int = 0,
) -> Picture:
    """Show the size of the structures by group; `more` groupings are not drawn."""
    figure = draw_volumes(volumes, groups, titles=titles, ruler=ruler)
    caption = (
        f"Volume of each structure by group, measured in {ruler}. A group of smaller structures "
        "scores lower on overlap for the same error at the surface."
    )
    if more:
        caption += f" {more} more groupings are not drawn; their tests are in the tables below."
    return take_picture(figure, "volumes", caption)


def audit_figures(judged: ShownAudit) -> list[Picture]:
    """Take the figures of one audit: grid, ratios of success rates, threshold sweep."""
    metric, structure = pick_score(judged.result)
    pictures = [picture_grid([judged])]
    if metric in judged.result.settings.thresholds:
        grouping = pick_grouping(judged.result)
        pictures.append(picture_forest([judged], metric=metric, structure=structure))
        pictures.append(
            picture_sweep([judged], grouping=grouping, metric=metric, structure=structure)
        )
    return pictures


def comparison_figures(
    first: ShownAudit, second: ShownAudit, groups: pd.DataFrame, verdicts: pd.DataFrame
) -> list[Picture]:
    """Take the figures of a comparison of two rulers.

    Parameters
    ----------
    first, second : the audits, with their scores.
    groups : indexed by exam_id, one ordered categorical column a grouping.
    verdicts : of the comparison.
    """
    metric, structure = pick_score(first.result)
    grouping = groups[pick_grouping(first.result, verdicts)]
    pictures = [
        picture_two_rulers([first, second], grouping, metric=metric, structure=structure),
        picture_inflation(first, second, metric=metric, structure=structure),
        picture_grid([first, second]),
    ]
    shown = pick_explained(verdicts, metric, structure)
    if len(shown):
        pictures.append(picture_parts(first, second, shown))
    return pictures


def pick_explained(verdicts: pd.DataFrame, metric: str, structure: str) -> pd.DataFrame:
    """Pick the tests to show in parts: changed conclusions, else those of one score."""
    if verdicts.empty:
        return verdicts
    stated = verdicts["family"] != EXTRA
    defined = verdicts[stated & (verdicts["verdict"] != "undefined")]
    flips = defined[defined["flip"].isin(["other_only", "base_only"])]
    if len(flips):
        return flips
    return defined[(defined["metric"] == metric) & (defined["structure"] == structure)]


def _score_of(judged: ShownAudit, metric: str, structure: str) -> pd.Series:
    """Return one score of every exam, indexed by exam_id."""
    if judged.scores is None:
        raise ValueError(f"the scores by {judged.name} are not at hand")
    scores = judged.scores
    mine = scores[(scores["metric"] == metric) & (scores["structure"] == structure)]
    return mine.set_index("exam_id")["value"].astype(float)
