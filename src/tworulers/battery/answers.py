"""Every question of an audit, and the rows that its tables get from the answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from tworulers.battery.overview import describe_groups, list_scores
from tworulers.battery.questions import (
    EXTRA,
    INTERSECTIONS,
    MAIN,
    PRIMARY,
    RANDOM,
    Question,
    judge_rates,
    locate_groups,
    permute_ranks,
    run_test,
)
from tworulers.schema.metric import Metric
from tworulers.schema.settings import MACRO, Audit
from tworulers.schema.sources import Attributes
from tworulers.stats.groups import group_sample
from tworulers.stats.rates import tabulate_rates
from tworulers.stats.types import IntArray, Row


@dataclass(frozen=True)
class Answers:
    """The questions of an audit and the rows that each table got from them."""

    questions: list[Question] = field(default_factory=list)
    tests: list[Row] = field(default_factory=list)
    disparities: list[Row] = field(default_factory=list)
    groups: list[Row] = field(default_factory=list)
    rates: list[Row] = field(default_factory=list)
    differences: list[Row] = field(default_factory=list)


def answer_all(
    table: pd.DataFrame,
    groups: pd.DataFrame,
    people: tuple[IntArray, IntArray],
    metrics: Mapping[str, Metric],
    settings: Audit,
    attributes: Attributes,
    progress: Callable[[str], None] | None,
) -> Answers:
    """Ask every score in every grouping; `people` are the patient and the unit of each exam."""
    asked = Answers()
    for grouping in map(str, groups):
        if progress is not None:
            progress(grouping)
        left_out = groups[grouping].isna().to_numpy()
        questions = _ask(grouping, table, groups[grouping], people, metrics)
        tests = [run_test(question, settings) for question in questions]
        permuted = permute_ranks(questions, tests, settings)
        for question, test, p in zip(questions, tests, permuted, strict=True):
            family = {"family": _family_of(question, settings, attributes)}
            gaps, pairs = locate_groups(question, settings)
            values = table[question.structure, question.metric.name].to_numpy(dtype=float)
            asked.questions.append(question)
            asked.tests.append(test | {"p_permutation": p} | gaps | family)
            asked.differences.extend(pairs)
            asked.groups.extend(describe_groups(question, values, left_out, settings))
            for threshold, primary in _thresholds(question, table, settings):
                row = judge_rates(question, threshold, settings, primary)
                asked.disparities.append(row | family)
                part = tabulate_rates(
                    question.sample, threshold, question.metric, 1 - settings.alpha
                )
                asked.rates.extend(question.key | {"primary": primary} | row for row in part)
    return asked


def _ask(
    grouping: str,
    table: pd.DataFrame,
    groups: pd.Series,
    people: tuple[IntArray, IntArray],
    metrics: Mapping[str, Metric],
) -> list[Question]:
    """Pose one question a score; `people` are the patient and the resampling unit of each exam."""
    return [
        Question(
            grouping,
            structure,
            metrics[metric],
            group_sample(table[structure, metric].to_numpy(dtype=float), groups, *people),
        )
        for structure, metric in list_scores(table)
    ]


def _family_of(question: Question, settings: Audit, attributes: Attributes) -> str:
    """Name the family a test is corrected in.

    Questions locked beforehand are one family. Of the others, the tests of `settings.metrics` x
    `settings.structures` (all structures where none is named) by
    the plain groupings are one family; intersections, random groupings and further scores are
    families of their own.
    """
    if [question.metric.name, question.structure, question.grouping] in settings.locked.questions:
        return PRIMARY
    inside = question.metric.name in settings.metrics
    if settings.structures:
        inside &= question.structure in settings.structures
    if not inside:
        return EXTRA
    grouping = attributes.groupings.get(question.grouping)
    kind = grouping.kind if grouping is not None else ""
    return {"intersection": INTERSECTIONS, "random": RANDOM}.get(kind, MAIN)


def _thresholds(
    question: Question, table: pd.DataFrame, settings: Audit
) -> list[tuple[float, bool]]:
    """Thresholds of a score, the primary one marked; macro scores, if any, are swept."""
    name = question.metric.name
    if name not in settings.thresholds:
        return []
    primary = settings.thresholds[name]
    swept = question.structure == MACRO or (MACRO, name) not in table
    values = {primary, *(settings.sweep.get(name, []) if swept else [])}
    return [(value, value == primary) for value in sorted(values)]
