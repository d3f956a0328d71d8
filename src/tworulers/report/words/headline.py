"""The answer of the report in a few sentences, each only as strong as what was found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from tworulers.battery.clearest import shown_p
from tworulers.battery.overview import keep_stated
from tworulers.battery.questions import EXTRA, PRIMARY, RANDOM
from tworulers.report.findings import (
    OWN_PREDICTIONS,
    RegimeChange,
    ShownAudit,
    Unjudged,
    name_ruler,
)
from tworulers.report.rows import find_row
from tworulers.report.tables import MOST_NAMED, list_sizes, write_count
from tworulers.report.view import View
from tworulers.report.words.answers import tell_answers
from tworulers.report.words.models import describe_gap, say_gaps
from tworulers.report.words.patients import tell_patients
from tworulers.report.words.primary import remark_on_gain, remark_on_lock
from tworulers.report.words.read_facts import tell_best, tell_change
from tworulers.report.words.verdicts import (
    FLIPS,
    MEANINGS,
    TITLES,
    Glance,
    pick_flip,
    tell_at_a_glance,
    write_sentence,
)
from tworulers.schema.tables import list_rows

UNNAMED = "model"
"""What a model is called that nobody named."""

CHANGED_RULER = "What changing the ruler did"
CHANGED_MODEL = "What became of the gap"

NO_GROUPINGS = (
    "Nothing is said of patient groups, since no groupings were asked (attributes, --by)."
)
OF_RULERS = (
    "What changing the ruler did is about the rulers; what is known of the patients is what the best labels there are "
    "show. "
)
NO_EQUALITY = (
    "No figure of this page says that groups are equal: it says which differences were found, by whose labels, and "
    "which could have been."
)


@dataclass(frozen=True)
class Headline:
    """The verdict at one glance.

    Attributes
    ----------
    question : what is asked.
    patients : what the best labels there are say of the patients.
    ruler : what the ruler did; empty where there is one.
    remarks : what has to be known beside it.
    base, other : the two rulers, with provenance; `other` is empty where there is one ruler.
    rows : one a grouping.
    about : whose exams, and how many.
    changed : what the last column of the table says.
    """

    question: str
    patients: str
    ruler: str = ""
    remarks: tuple[str, ...] = ()
    base: str = ""
    other: str = ""
    rows: tuple[Glance, ...] = ()
    about: str = ""
    changed: str = ""

    @property
    def sentence(self) -> str:
        """Return the answer: of the patients, then of the ruler."""
        return join_sentences(self.patients, self.ruler)


def write_headline(view: View) -> Headline:
    """Write the question, the answer in two sentences, and the remarks beside it."""
    first = view.first
    exams = write_count(first.result.n_exams, "exam")
    if not view.grouping:
        return _write_ungrouped(view, exams)
    asked = f"Does the {first.result.regime} model serve patient groups equally"
    if view.models is not None:
        question = (
            f"Do the models {view.models.base} and {view.models.other} serve patient groups equally, and did the gaps "
            f"between groups change? {exams}, judged by {name_side(first)}."
        )
        remarks = [*_remark_on_chance(view.judged), *remark_on_size(view)]
    elif view.change is None:
        question = f"{asked}? {exams}, judged by {first.name}."
        remarks = [*_remark_on_one(view), *_remark_on_chance(view.judged), *remark_on_size(view)]
    else:
        patients = write_count(first.result.n_patients, "patient")
        question = (
            f"{asked}, and would the answer be the same if someone else had drawn the labels? "
            f"{exams} of {patients}, judged by {' and by '.join(one.name for one in view.judged)}."
        )
        remarks = _remark_on_change(view)
    found = "; judged by ".join(f"{one.key}, {_count_found(one)}" for one in view.judged)
    said = [
        join_sentences(*(_answer(one) for one in view.judged), f"Judged by {found}."),
        join_sentences(tell_patients(view.judged, view.others), tell_mechanism(view)),
    ]
    return Headline(
        question=question,
        patients=say_of_patients(view),
        ruler=say_of_ruler(view),
        remarks=(
            *remark_on_lock(first.result.settings.locked),
            *view.findings.origins,
            *remark_on_gain(first.result),
            *filter(None, said),
            *remarks,
        ),
        base=first.name,
        other=view.second.name if len(view.judged) > 1 else "",
        changed=CHANGED_MODEL if view.models else CHANGED_RULER,
        rows=tuple(_glance(view)),
        about=f"{_name_models(view)}, {exams} of {write_count(first.result.n_patients, 'patient')}",
    )


def _write_ungrouped(view: View, exams: str) -> Headline:
    """Say that nothing was grouped, and what the scores are all the same."""
    by = " and by ".join(dict.fromkeys(name_side(one) for one in view.judged))
    change = None if view.change is None else view.change.comparison
    return Headline(
        question=f"{_name_models(view)}: scores over {exams}, judged by {by}.",
        patients=NO_GROUPINGS,
        ruler=say_of_scores(view),
        remarks=(text,) if change and (text := tell_exams(change.summary)) else (),
        base=view.first.name,
        other=view.second.name if len(view.judged) > 1 else "",
        about=f"{_name_models(view)}, {exams} of {write_count(view.first.result.n_patients, 'patient')}",
    )


def say_of_scores(view: View) -> str:
    """Say what the second ruler or model did to the mean score, where nothing was grouped."""
    if view.models is not None:
        return say_of_ruler(view)
    return join_sentences(tell_inflation(view), tell_unjudged(view))


def _answer(one: ShownAudit) -> str:
    return (
        f"Model {one.model}: {tell_answers(one.result)}" if one.model else tell_answers(one.result)
    )


def say_of_patients(view: View) -> str:
    """Say what the best labels among all audits of the model, or of each of two models, say of the patients."""
    if view.models is not None:
        return " ".join(f"Model {one.model}: {tell_best([one.result])}" for one in view.judged)
    return tell_best([one.result for one in (*view.judged, *view.others)])


def say_of_ruler(view: View) -> str:
    """Say what the second ruler or model did, or that a reference is the predictions themselves; else nothing."""
    if view.models is not None:
        found = view.models.comparison
        return say_gaps(found, view.first.result.metrics, view.score.key)
    summary = None if view.change is None else view.change.comparison.summary
    return join_sentences(tell_change(summary), tell_unjudged(view))


def _name_models(view: View) -> str:
    if view.models is None:
        regime = view.first.result.regime
        return "The model" if regime == UNNAMED else f"The {regime} model"
    return f"The models {view.models.base} and {view.models.other}"


def _glance(view: View) -> list[Glance]:
    """Say of every grouping what each ruler found, and what the change did."""
    verdicts = view.first.result.tests.assign(verdict="undefined").head(0)
    if view.change is not None:
        verdicts = view.change.comparison.verdicts
        verdicts = verdicts[verdicts["family"] != EXTRA]
    rows = tell_at_a_glance(view.judged, verdicts)
    return rows if view.models is None else [_tell_gap(row, view, view.models) for row in rows]


def _tell_gap(row: Glance, view: View, models: RegimeChange) -> Glance:
    """Say of a grouping what became of its gap in the score that stands for all."""
    gaps = list_rows(view.score.of(models.comparison.gaps))
    gap = next((one for one in gaps if one["grouping"] == row.grouping), None)
    told = describe_gap(gap, view.score.metric, models.base, models.other)
    return replace(row, **dict(zip(("verdict", "why", "tone"), told, strict=True)))


def name_side(one: ShownAudit) -> str:
    """Name the ruler of an audit, whatever model it judges."""
    return name_ruler(one.result.ruler, one.title, one.provenance)


def _list_itself(view: View) -> list[Unjudged]:
    """List the references that are the predictions themselves."""
    regime, unjudged = view.first.result.regime, view.findings.unjudged
    return [one for one in unjudged if one.regime == regime and one.reason == OWN_PREDICTIONS]


def tell_unjudged(view: View) -> str:
    """Name the references that are the predictions themselves."""
    names = [name_ruler(one.ruler, one.title, one.provenance) for one in _list_itself(view)]
    return " ".join(f"The reference {name} is {OWN_PREDICTIONS}." for name in names)


def join_sentences(*sentences: str) -> str:
    """Join what there is to say."""
    return " ".join(filter(None, sentences))


def tell_exams(summary: Mapping[str, Any]) -> str:
    """Say over how many exams two rulers were compared, where one of them judged more."""
    sides = ("base", "other")
    left_out = [(summary.get(f"left_out_{side}", 0), summary[f"{side}_ruler"]) for side in sides]
    beyond = " and ".join(f"{n} more of {ruler}" for n, ruler in left_out if n)
    if not beyond:
        return ""
    return f"Compared over the {summary['n_exams']} exams that both judged; {beyond} left out."


def tell_mechanism(view: View) -> str:
    """Say how many conclusions changed with the ruler, and what made them change; nothing of one ruler."""
    if view.change is None:
        return ""
    verdicts = keep_stated(view.change.comparison.verdicts)
    flips = verdicts[verdicts["flip"].isin(FLIPS)]
    if flips.empty:
        return "No conclusion changed with the ruler."
    named = "; ".join(
        f"{TITLES[str(name)].lower()} in {n} ({MEANINGS[str(name)]})".replace(
            "this ruler", f"the {view.second.ruler} ruler"
        )
        for name, n in flips["verdict"].value_counts().items()
    )
    changed = write_count(len(flips), "conclusion")
    return f"{changed} changed with the ruler and nothing else: {named}."


def tell_inflation(view: View) -> str:
    """Say how much better the model looks under the second ruler, and how much tighter; nothing of one ruler."""
    if view.change is None:
        return ""
    metric, structure = view.score.key
    row = find_row(view.change.comparison.inflation, metric=metric, structure=structure)
    known, label = view.score.metric, view.score.name
    if row is None:
        return f"{label} was not compared."
    first, second = (one.ruler for one in view.judged)
    text = (
        f"Mean {label} is {known.write_value(row.mean_base)} by {first} and {known.write_value(row.mean_other)} "
        f"by {second}, {known.write_difference(abs(row.mean))} {'higher' if row.mean > 0 else 'lower'}"
    )
    if not known.higher_is_better and row.mean:
        text += f" ({'worse' if row.mean > 0 else 'better'})"
    if row.forgiven_share > 0:
        text += (
            f": the {second} ruler forgives {100 * row.forgiven_share:.0f} % of what the {first} ruler holds against "
            "the model"
        )
    return text + "."


def _remark_on_flips(verdicts: pd.DataFrame, alpha: float) -> list[str]:
    """Say how much of the changed conclusions the correction, or chance, could have made."""
    flips = verdicts[verdicts["flip"].isin(FLIPS)]
    if flips.empty:
        return []
    own = int(flips["made_by_correction"].eq(True).sum())
    beyond = int((flips["swap_p_fdr"] < alpha).sum())
    return [
        f"Of {write_count(len(flips), 'changed conclusion')}, the correction over the family made "
        f"{own or 'none'} (where the test's own p alone, the rest of the family kept, does not cross "
        "the level). "
        f"The change of the statistic itself is beyond chance in {beyond or 'none'}, by exchanging "
        "the rulers exam by exam (patient by patient where one has several), adjusted over the "
        "family."
    ]


def _remark_on_change(view: View) -> list[str]:
    """Say what has to be known beside the answer: clearest flip, inflation, closeness, power."""
    assert view.change is not None
    comparison = view.change.comparison
    remarks = [text] if (text := tell_exams(comparison.summary)) else []
    mine = comparison.verdicts[comparison.verdicts["grouping"] == view.grouping]
    flip = pick_flip(mine, view.score.key)
    if flip is not None and flip["sentence"]:
        remarks.append(write_sentence(str(flip["sentence"]), view.first.titles))
    alpha = view.first.result.settings.alpha
    remarks += _remark_on_flips(keep_stated(comparison.verdicts), alpha)
    remarks.append(tell_inflation(view))
    status = str(comparison.summary.get("status", "unknown"))
    if status in ("too_close", "identical"):
        remarks.append(
            f"The ruler {view.second.name} is {status.replace('_', ' ')} to the model it judges: "
            "where it finds nothing, it confirms nothing, and no verdict on fairness may rest "
            "on it."
        )
    return [*remarks, *_remark_on_chance(view.judged), *remark_on_size(view)]


def _remark_on_one(view: View) -> list[str]:
    """Say that there is nothing to compare a ruler with, but for the predictions themselves."""
    there = "no other ruler to compare with" if _list_itself(view) else "one ruler only"
    return [f"There is {there}, so nothing can be said about what the ruler itself did."]


def _remark_on_chance(judged: Sequence[ShownAudit]) -> list[str]:
    """Say what was found in random groups, which is what chance alone finds."""
    found = []
    for one in judged:
        tests = one.result.tests[one.result.tests["family"] == RANDOM]
        if len(tests):
            raw = int((shown_p(tests) < one.result.settings.alpha).sum())
            found.append(
                f"{one.key} finds a difference in {int(tests['significant'].sum())} of {len(tests)} "
                f"tests ({raw} before adjustment)"
            )
    return [f"In random groups, which mean nothing, {'; '.join(found)}."] if found else []


def remark_on_size(view: View, most: int | None = None) -> list[str]:
    """Say how large a gap could have been missed, and which groups are too small to judge, of at most so many."""
    judged, remarks = view.first, []
    power = view.score.of(judged.result.power)
    if len(power):
        gaps = power.loc[power["correction"] == "family", "detectable_gap"].dropna()
        if len(gaps):
            known = view.score.metric
            low, high = (known.write_difference(float(gap)) for gap in (gaps.min(), gaps.max()))
            size = low if low == high else f"{low} to {high}, depending on the grouping,"
            remarks.append(
                f"Where {judged.ruler} finds no difference, gaps of {view.score.name} below {size} would probably "
                "have been missed: no difference found is not equality."
            )
    small = [
        f"{row['title']}: {list_sizes(text, MOST_NAMED)}"
        for row in judged.result.groupings.drop_duplicates("grouping").to_dict("records")
        for text in (row["small_groups"], row["not_assessed"])
        if text
    ]
    if small:
        more = [f"and {len(small[most:])} more"] if most is not None and small[most:] else []
        remarks.append(f"Too small for a verdict: {'; '.join([*small[:most], *more])}.")
    return remarks


def _count_found(judged: ShownAudit) -> str:
    """Count what the primary questions found, and what the other tests did."""
    tests, families = keep_stated(judged.result.tests), keep_stated(judged.result.families)
    asked = [("primary question", PRIMARY)] if (families["family"] == PRIMARY).any() else []
    parts = []
    for what, family in [*asked, ("other test" if asked else "test", "")]:
        found, size = (
            table[(table["family"] == PRIMARY) == (family == PRIMARY)]
            for table in (tests, families)
        )
        parts.append(_count_part(int(found["significant"].sum()), int(size["size"].sum()), what))
    return ", ".join(filter(None, parts)) or "no test could be computed"


def _count_part(found: int, size: int, what: str) -> str:
    """Say how many of the tests that were computed found a difference; nothing where none was computed."""
    if size == 0:
        return ""
    verb = "find" if found > 1 else "finds"
    return f"{found if found else 'none'} of {write_count(size, what)} {verb} a difference"
