"""Scores of a segmentation model: whether groups differ by one ruler, by two, and between two models."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from operator import attrgetter
from typing import Any, Unpack

import pandas as pd

from tworulers.api import tables
from tworulers.api.assemble import Asked, make_study
from tworulers.api.results import Result, warn
from tworulers.battery.audit import AuditResult
from tworulers.report.words.answers import tell_answers
from tworulers.report.words.groupings import verdict_sentences
from tworulers.report.words.model_card import CardFacts
from tworulers.report.words.models import say_models
from tworulers.report.words.read_facts import tell_best, tell_change
from tworulers.report.words.rulers import put_into_words
from tworulers.schema.settings import MACRO
from tworulers.sides import Shared
from tworulers.study import Study

MODEL, RULER = "model", "ruler"
"""What a single model, and a single ruler, is called."""


BESIDE = ("equivalence", "adjusted", "trends", "shifts")
"""Tables of an audit that stand beside its tests."""


@dataclass(frozen=True, eq=False, repr=False)
class ResultOfScores(Result):
    """An answer from scores of exams.

    Attributes
    ----------
    equivalence : one row a pair of groups and score, held to the margins that were given.
    adjusted : every test within strata of what is given, one row a test and column.
    trends : one row a test of an ordered grouping.
    shifts : one row a pair of groups and score, with intervals that hold together.
    """

    equivalence: pd.DataFrame
    adjusted: pd.DataFrame
    trends: pd.DataFrame
    shifts: pd.DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class AuditOfScores(ResultOfScores):
    """An audit of scores by one ruler. `study` is what it was asked of."""

    study: Study


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(ResultOfScores):
    """A comparison of two rulers over one model, or of two models under one ruler.

    Attributes
    ----------
    verdicts : one row a grouping and score: what changed, and why, as far as that is shown.
    details : every further table of the comparison, by name.
    study : what it was asked of.
    """

    verdicts: pd.DataFrame
    details: dict[str, pd.DataFrame]
    study: Study


def audit(
    scores: Any,
    sensitive_features: Any,
    *,
    provenance: str,
    reference: Mapping[str, str] | None = None,
    **asked: Unpack[Asked],
) -> AuditOfScores:
    """Audit scores by one ruler: do patient groups differ, by how much, and what would have been found?

    Parameters
    ----------
    scores : one row an exam, in units of the metric, NaN where undefined: a Series, a column of `data`, or a frame,
        wide (columns such as `dice_disc`) or long (`exam_id`, `structure`, `metric`, `value`). The index, or a column
        `exam_id`, names the exams.
    sensitive_features : one row an exam: a Series, a frame, a mapping, an array, or names of columns of `data`.
    provenance : who drew the labels that the scores were made with: "gold" (experts), "silver" (a machine), "truth".
    reference : by feature, the group that the others are contrasted with in `difference()` and `ratio()`.
    asked : any of the following.
    data : one row an exam, that names are looked up in; by default `scores`, where that is a frame.
    metric : what the scores are, where their columns do not say so: a name ("dice"), or a `Metric` of your own.
    bins : how numbers are grouped, by feature: edges, a number of parts of equal size, "median" or "levels".
    intersectional : True crosses every pair of features; or a list of the names to cross.
    success : the value beyond which an exam succeeds, in units of the metric; by metric where there are several.
    margin : up to which difference groups count as alike: by metric in points (of scores from 0 to 1) or its unit, and
        of "failures" in per cent, as {"dice": 2, "failures": 5}; without both, and `success`, equality is not asked.
    given : columns within whose strata every test is asked again (table `adjusted`), one row an exam, as of
        `sensitive_features`; by default `age` and `manufacturer`, where they are among the features.
    subject_id : one row an exam: its patient, whose exams are kept together; by default each exam is its own.
    relation : by ruler, for `compare`: what a machine's labels have to do with the model.
    corrected_from : by ruler, for `compare`: the labels that experts corrected to make it.
    alpha : from 0 to 1, the level of tests and intervals.
    seed : of every draw; the same seed gives the same result.

    Raises
    ------
    ValueError : naming the parameter and exam, what was expected, found, and how to mend it.

    Examples
    --------
    >>> import numpy as np, tworulers as tr
    >>> sex = np.tile(["F", "M"], 30)
    >>> dice = np.random.default_rng(1).normal(0.85, 0.03, 60) - 0.05 * (sex == "M")
    >>> r = tr.audit(dice, {"sex": sex}, provenance="gold", metric="dice", success=0.8)
    >>> r.summary["verdict"].tolist(), r.difference()["group"].tolist()
    (['difference'], ['F'])
    """
    sides, drawn_by = {(MODEL, RULER): scores}, {RULER: provenance}
    study = make_study(sides, sensitive_features, drawn_by, asked)
    found = study.audit()
    return _tell_audit(found, study, {"reference": dict(reference or {}), "notes": [*study.notes]})


def _tell_audit(found: AuditResult, study: Study, notes: dict[str, Any]) -> AuditOfScores:
    said = verdict_sentences(found, "these labels", found.provenance)
    exams = f"{found.n_exams} exams of {found.n_patients} patients"
    title = f"Audit of {exams} by {found.provenance} labels"
    return AuditOfScores(
        title=title,
        summary=tables.tabulate_summary(found, said),
        by_group=tables.tabulate_groups(found),
        overall=found.overall,
        tests=found.tests,
        intervals=tables.tabulate_intervals(found),
        power=found.power,
        sentences=[tell_best([found]), tell_answers(found), *said["sentence"]] if len(said) else [],
        warnings=warn(tables.tell_limits(found)),
        metadata=tables.describe_audit(found) | notes,
        figure=partial(draw_tests, {RULER: found}, {RULER: f"{found.provenance} labels"}),
        figures=list_figures({f"by {found.provenance} labels": found}, study),
        card=partial(make_card, study, title),
        study=study,
        **{name: getattr(found, name) for name in BESIDE},
    )


def compare(
    scores: Mapping[str, Any],
    sensitive_features: Any,
    *,
    provenance: Mapping[str, str],
    reference: Mapping[str, str] | None = None,
    **asked: Unpack[Asked],
) -> Comparison:
    """Compare two rulers over one model: what changes with the labels that judge it, and did the ruler make it up?

    Parameters
    ----------
    scores : two entries, by the name of the ruler: scores of the same exams as of `audit`. The first is of the best
        labels there are, which the second is compared with.
    provenance : by ruler, who drew its labels: "gold", "silver", "truth", "biased".
    sensitive_features, reference : as of `audit`.
    asked : `data`, `metric`, `bins`, `intersectional`, `success`, `margin`, `given`, `subject_id`, `alpha`, `seed`,
        as of `audit`; and `relation`, by ruler: "shares_training" or "independent", where it is known what a machine's
        labels have to do with the model; `corrected_from`, by ruler, the one whose labels experts corrected to make
        it, as {"expert": "machine"}.

    Raises
    ------
    ValueError : as of `audit`; not two rulers; fewer than two exams or no score in common.

    Examples
    --------
    >>> import numpy as np, tworulers as tr
    >>> rng = np.random.default_rng(1)
    >>> sex = np.tile(["F", "M"], 30)
    >>> expert = rng.normal(0.8, 0.05, 60)
    >>> rulers = {"expert": expert, "machine": 0.95 - (1 - expert) / 10 - 0.01 * (sex == "M")}
    >>> drawn_by = {"expert": "gold", "machine": "silver"}
    >>> r = tr.compare(rulers, {"sex": sex}, provenance=drawn_by, metric="dice")
    >>> r.verdicts[["grouping", "significant_base", "significant_other"]].to_dict("records")
    [{'grouping': 'sex', 'significant_base': False, 'significant_other': True}]
    """
    first, second = _name_two(scores, "rulers")
    if set(provenance) != set(scores):
        raise ValueError(
            f"provenance: expected one for each of {list(scores)}, found {dict(provenance)}"
        )
    sides = {(MODEL, name): given for name, given in scores.items()}
    drawn_by = {name: provenance[name] for name in scores}
    study = make_study(sides, sensitive_features, drawn_by, asked)
    shared = study.share((MODEL, first), (MODEL, second))
    audits = _audit(shared, (first, second))
    found = put_into_words(study.compare(first, second))
    # What commands say knows what figures are of, and those take half a second to import.
    from tworulers.report.briefs import brief_rulers

    said = [text for text in brief_rulers(found) if isinstance(text, str)]
    said += [text for one in study.references.values() for text in one.origin]
    title = f"Rulers {first} and {second}"
    notes = {"reference": dict(reference or {}), "notes": [*study.notes, *shared.notes]}
    return _tell(title, "ruler", audits, study, found, notes, said)


def compare_models(
    scores: Mapping[str, Any],
    sensitive_features: Any,
    *,
    provenance: str,
    reference: Mapping[str, str] | None = None,
    **asked: Unpack[Asked],
) -> Comparison:
    """Compare two models under one ruler: who is better, overall and in each group, and whose gaps are wider?

    Parameters
    ----------
    scores : two entries, by the name of the model: scores of the same exams as of `audit`. Differences are the second
        minus the first.
    provenance : who drew the labels that both were scored with, as of `audit`.
    sensitive_features, reference : as of `audit`.
    asked : `data`, `metric`, `bins`, `intersectional`, `success`, `margin`, `given`, `subject_id`, `alpha` and `seed`,
        as of `audit`.

    Raises
    ------
    ValueError : as of `audit`; not two models; fewer than two exams or no score in common.

    Examples
    --------
    >>> import numpy as np, tworulers as tr
    >>> rng = np.random.default_rng(1)
    >>> sex = np.tile(["F", "M"], 30)
    >>> v1 = rng.normal(0.85, 0.03, 60)
    >>> models = {"v1": v1, "v2": v1 + 0.02 + rng.normal(0, 0.005, 60)}
    >>> r = tr.compare_models(models, {"sex": sex}, provenance="gold", metric="dice")
    >>> bool(r.details["differences"]["mean_low"].iloc[0] > 0)
    True
    """
    first, second = _name_two(scores, "models")
    sides = {(name, RULER): given for name, given in scores.items()}
    study = make_study(sides, sensitive_features, {RULER: provenance}, asked)
    shared = study.share((first, RULER), (second, RULER))
    audits = _audit(shared, (first, second))
    found = study.compare_models(first, second)
    said = say_models(found, study.metrics)
    title = f"Models {first} and {second}"
    notes = {"reference": dict(reference or {}), "notes": [*study.notes, *shared.notes]}
    return _tell(title, "model", audits, study, found, notes, said)


def _audit(shared: Shared, names: tuple[str, str]) -> dict[str, AuditResult]:
    """Audit both sides over what they have in common; where neither had more the study knows its audits, too."""
    audits = dict(zip(names, shared.audits(), strict=True))
    if not shared.changed:
        sides = (shared.base, shared.other)
        shared.whole.known.audits.update(zip(sides, audits.values(), strict=True))
    return audits


def _name_two(scores: Mapping[str, Any], what: str) -> tuple[str, str]:
    if not isinstance(scores, Mapping) or len(scores) != 2:
        found = list(scores) if isinstance(scores, Mapping) else type(scores).__name__
        raise ValueError(
            f"scores: expected two {what} by name, as {{name: scores, ...}}, found {found}"
        )
    first, second = map(str, scores)
    return first, second


def _tell(
    title: str,
    side: str,
    audits: Mapping[str, AuditResult],
    study: Study,
    found: Any,
    notes: dict[str, Any],
    said: list[str],
) -> Comparison:
    """Tell a comparison: the tables of both sides one under the other, and what changed between them."""
    titles = {name: f"{name} ({one.provenance})" for name, one in audits.items()}
    own = []
    for name, one in audits.items():
        about = f"the {name} labels" if side == "ruler" else f"these labels, {name}"
        own.append(list(verdict_sentences(one, about, one.provenance).get("sentence", ())))
    # The patients first: what the best labels show of them, before anything is said of a ruler.
    told = [*own[0], *said, *own[1]] if side == "ruler" else [*said, *own[0], *own[1]]
    best = [tell_best(list(audits.values())), tell_change(found.summary)] if side == "ruler" else []
    told = [*filter(None, best), *map(tell_answers, audits.values()), *told]
    details = {
        one.name: getattr(found, one.name)
        for one in fields(found)
        if isinstance(getattr(found, one.name), pd.DataFrame)
    }
    verdicts = details["verdicts" if side == "ruler" else "gaps"]
    stack = partial(_stack, side, audits)
    sides = [(one.regime, one.ruler) for one in audits.values()]
    limits = [f"{name}: {text}" for name, one in audits.items() for text in tables.tell_limits(one)]
    exams = next(iter(audits.values())).n_exams
    return Comparison(
        title=f"{title}, {exams} exams",
        summary=details["inflation" if side == "ruler" else "differences"],
        by_group=stack(tables.tabulate_groups),
        overall=stack(lambda one: one.overall),
        tests=stack(lambda one: one.tests),
        intervals=stack(tables.tabulate_intervals),
        power=stack(lambda one: one.power),
        sentences=told,
        warnings=warn([*notes["notes"][len(study.notes) :], *limits]),
        metadata={name: tables.describe_audit(one) for name, one in audits.items()} | notes,
        figure=partial(draw_tests, audits, titles),
        card=partial(make_card, study, f"{title}, {exams} exams"),
        figures=list_figures(
            {titles[name]: one for name, one in audits.items()}, study.share(*sides).study
        ),
        verdicts=verdicts,
        details=details,
        study=study,
        **{name: stack(attrgetter(name)) for name in BESIDE},
    )


def make_card(study: Study, title: str) -> CardFacts:
    """Gather what a card says of all sides of a study."""
    from tworulers.report.card import card_study

    for model, name in study.sides:
        study.audit(name, model)
    for model, base, other in study.known.rulers:
        study.audit_common(base, other, model)
    return card_study(study, title)


def _stack(
    side: str, audits: Mapping[str, AuditResult], take: Callable[[AuditResult], pd.DataFrame]
) -> pd.DataFrame:
    """Put one table of both sides one under the other, the side in the first column."""
    parts = []
    for name, one in audits.items():
        part = take(one).drop(columns=side, errors="ignore")
        part.insert(0, side, name)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def list_figures(audits: Mapping[str, AuditResult], study: Study) -> dict[str, Callable[[], Any]]:
    """List what draws the scores of every group: `structure/metric` each, and `scores` the first, macro where it is."""
    overall = next(iter(audits.values())).overall
    scores = list(zip(overall["structure"], overall["metric"], strict=True))
    first = next((one for one in scores if one[0] == MACRO), *scores[:1])
    draw = partial(draw_scores, audits, study)
    figures = {f"{structure}/{name}": partial(draw, structure, name) for structure, name in scores}
    return {"scores": partial(draw, *first), **figures}


def draw_scores(
    audits: Mapping[str, AuditResult], study: Study, structure: str, metric: str
) -> Any:
    """Draw one score of every group, a row of panels a side."""
    from tworulers.report.group_figures import draw_scores_by_group
    from tworulers.report.score import Score

    score = Score(study.metrics[metric], structure)
    values = {}
    for title, one in audits.items():
        rows = score.of(study.scores_of((one.regime, one.ruler)))
        values[title] = rows.set_index("exam_id")["value"].astype(float)
    first = next(iter(audits.values()))
    groups = study.group((first.regime, first.ruler))[0]
    titles = dict(zip(first.groupings["grouping"], first.groupings["title"], strict=True))
    return draw_scores_by_group(values, groups, score, titles)


def draw_tests(audits: Mapping[str, AuditResult], titles: Mapping[str, str]) -> Any:
    """Draw every test of one or two sides: colour is the effect, a disc a significant difference."""
    from tworulers.report.verdict_figures import draw_verdict_grid, write_labels

    tests = pd.concat([one.tests.assign(ruler=name) for name, one in audits.items()])
    first = next(iter(audits.values()))
    return draw_verdict_grid(
        tests,
        dict(titles),
        metrics=first.metrics,
        groupings={name: write_labels(one) for name, one in audits.items()},
        alpha=first.settings.alpha,
    )
