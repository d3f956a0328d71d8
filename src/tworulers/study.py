"""The heart: whatever is audited, however it arrived, is one object that answers for itself.

A `Study` holds every score of some exams by one or more references and of one or more models, and who the exams are
of. It is pure: `ingest` and `io` load it, the stages and the Python door ask it.

    study.audit("expert")                    one reference: an `AuditResult`
    study.compare("expert", "machine")       two references over one model: a `Comparison`
    study.compare_models("v1", "v2")         two models under one reference: a `RegimeComparison`
    study.findings()                         all of these that there are
    study.share(one, another)                what two sides have in common, and what was left out of either
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pandas as pd

from tworulers.battery.audit import AuditResult, audit_scores
from tworulers.cohort.numbers import pick_numbers
from tworulers.cohort.ungrouped import form_groups
from tworulers.diagnosis.anchored import Anchored
from tworulers.diagnosis.comparison import Comparison, RegimeComparison
from tworulers.diagnosis.warning import Warned, measure_warning
from tworulers.schema.metric import Metric
from tworulers.schema.origin import tell_origin, tell_predicted
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes, Relation
from tworulers.sides import Shared, Side, list_comparisons, share

Key = tuple[str, str, str]
"""A comparison: the model and two references, or the reference and two models."""

Kept = TypeVar("Kept")
Name = TypeVar("Name")

OWN_PREDICTIONS = "this ruler is the model's own predictions"


@dataclass(frozen=True, eq=False)
class Reference:
    """What judges: labels of one kind, drawn by somebody.

    Attributes
    ----------
    name, title : in tables, and in a sentence.
    provenance : who drew them, a word of `Provenance`.
    model : whose predictions they are; None where nobody's.
    against_base : `exam_id`, `structure`, `value`: Dice of these labels by the base reference; None where unknown.
    no_verdict : by model, a stated reason why no verdict on it may rest on them.
    relation : of a machine's labels to the models that they judge, a word of `Relation`, as somebody declared it.
    shares_training : models that are known to share training data with the one whose predictions they are.
    against : as `against_base`, by other references' names.
    corrected_from : the reference whose labels were corrected to make these; empty where they were drawn anew.
    caveat : what somebody declared that every report has to say of these labels.
    """

    name: str
    title: str = ""
    provenance: str = ""
    model: str | None = None
    against_base: pd.DataFrame | None = None
    no_verdict: Mapping[str, str] = field(default_factory=dict)
    relation: str = Relation.UNKNOWN
    shares_training: frozenset[str] = frozenset()
    against: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    corrected_from: str = ""
    caveat: str = ""

    @property
    def origin(self) -> list[str]:
        """Say what every report has to say of how these labels came about."""
        return tell_origin(self.name, self.corrected_from, self.caveat)

    def relate(self, model: str) -> str:
        """Say what these labels have to do with a model: what is known, else what was declared."""
        return Relation.SHARES_TRAINING if model in self.shares_training else self.relation

    def tell_no_verdict(self, model: str) -> str:
        """Say why no verdict on a model may rest on this reference; empty where one may."""
        return self.no_verdict.get(model) or OWN_PREDICTIONS * (self.model == model)


@dataclass(frozen=True)
class Answers:
    """What a study was asked so far, or was loaded with.

    Attributes
    ----------
    audits, warned : by model and reference; `warned` is None where confidence cannot be asked.
    rulers : comparisons by model, base and other reference.
    common : by the same, both audits over what they have in common, by reference; none where neither had more.
    traced, anchored : by the same, as of `Study.trace` and `Study.anchor`.
    models : comparisons by reference, first and second model.
    notes : comparisons that there are not, each with the reason.
    """

    audits: dict[Side, AuditResult] = field(default_factory=dict)
    warned: dict[Side, Warned | None] = field(default_factory=dict)
    rulers: dict[Key, Comparison] = field(default_factory=dict)
    common: dict[Key, dict[str, AuditResult]] = field(default_factory=dict)
    traced: dict[Key, pd.DataFrame | None] = field(default_factory=dict)
    anchored: dict[Key, Anchored | None] = field(default_factory=dict)
    models: dict[Key, RegimeComparison] = field(default_factory=dict)
    shared: dict[tuple[Side, Side], Shared] = field(default_factory=dict, repr=False)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Study:
    """Exams scored by references and models.

    Attributes
    ----------
    scores : a scores table of all models (`regime`) and references (`ruler`). Rows of metrics that `metrics` does not
        hold (counts, shared errors) stand beside them and are not judged.
    people : one row an exam: `exam_id`, `patient_id`, and the columns that `attributes` groups by; others may be there.
    attributes : how exams are grouped, and the resampling unit. Quantiles are cut over the exams that are judged.
    settings : the battery.
    references : by name, the base first: the one that the others are compared with.
    models : titles by name, in order.
    metrics : what is known of every metric that is judged, by name.
    beyond : a scores table of further exams, which a machine's reference alone could judge; None where there are none.
    confidences : by model, one row an exam: how sure it was of its prediction.
    predicted : by model, how it predicted, where not as its recipe says.
    notes : what loading the study has to say, a sentence each.
    called : what a side is called in messages, where that is not the name of its reference or model.
    known : answers there are; a loader puts in what was answered before. A study made of this one begins anew.

    Raises
    ------
    ValueError : the scores name a model or reference that is not declared.

    Examples
    --------
    >>> import numpy as np, tworulers as tr
    >>> sex, dice = np.tile(["F", "M"], 20), np.linspace(0.7, 0.9, 40)
    >>> study = tr.audit(dice, {"sex": sex}, provenance="gold", metric="dice").study
    >>> study.sides, len(study.people), study.metrics["dice"].title
    ([('model', 'ruler')], 40, 'Dice')
    >>> study.audit().tests["n"].tolist()
    [40]
    """

    scores: pd.DataFrame
    people: pd.DataFrame
    attributes: Attributes
    settings: Audit
    references: Mapping[str, Reference]
    models: Mapping[str, str]
    metrics: Mapping[str, Metric]
    beyond: pd.DataFrame | None = None
    confidences: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    predicted: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    called: Mapping[Side, str] = field(default_factory=dict)
    known: Answers = field(default_factory=Answers, init=False, repr=False)

    def __post_init__(self) -> None:
        """Hold the scores to what is declared."""
        for column, declared in (("regime", self.models), ("ruler", self.references)):
            if unknown := sorted(set(self.scores[column]) - set(declared)):
                raise ValueError(
                    f"scores of {', '.join(map(repr, unknown))} (column {column!r}), which the study does not declare; "
                    f"it declares {', '.join(declared) or 'none'}"
                )

    def keep(self, **changes: Any) -> "Study":
        """Return a study with other settings or references that keeps the answers there are."""
        changed = replace(self, **changes)
        object.__setattr__(changed, "known", self.known)
        return changed

    @property
    def sides(self) -> list[Side]:
        """List the models and references that there are scores of, in the order declared."""
        there = set(zip(self.scores["regime"], self.scores["ruler"], strict=True))
        return [
            (model, name) for model in self.models for name in self.references
            if (model, name) in there
        ]  # fmt: skip

    @property
    def base(self) -> str:
        """Return the name of the reference that others are compared with."""
        return next(iter(self.references))

    @property
    def origins(self) -> list[str]:
        """Say what every report has to say of how labels and predictions came about."""
        told = [text for one in self.references.values() for text in one.origin]
        return told + [tell_predicted(model, how) for model, how in self.predicted.items() if how]

    @property
    def patients(self) -> pd.Series:
        """Say whose each exam is, indexed by exam_id."""
        return self.people.set_index("exam_id")["patient_id"]

    def pick(self, reference: str | None = None, model: str | None = None) -> Side:
        """Name a side; the base reference and the first model where they are not given."""
        return model or next(iter(self.models)), reference or self.base

    def scores_of(self, side: Side, *, judged: bool = True) -> pd.DataFrame:
        """Return the scores of a side: those that are judged, or all rows there are.

        Raises
        ------
        ValueError : there are none.
        """
        model, reference = side
        rows = self.scores[(self.scores["regime"] == model) & (self.scores["ruler"] == reference)]
        if rows.empty:
            listed = "; ".join(f"{model} by {name}" for model, name in self.sides) or "none"
            raise ValueError(f"no scores of {model} by {reference}; there are: {listed}")
        return rows[rows["metric"].isin(list(self.metrics))] if judged else rows

    def exams_of(self, side: Side) -> pd.DataFrame:
        """Return the rows of `people` of the exams that a side scored."""
        return self.people[self.people["exam_id"].isin(self.scores_of(side)["exam_id"])]

    def group(self, side: Side) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Put the exams of a side into groups, and list who is in none, as `form_groups` does."""
        return form_groups(self.exams_of(side), self.attributes)

    def audit(
        self,
        reference: str | None = None,
        model: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> AuditResult:
        """Audit a model by a reference: the whole battery.

        Parameters
        ----------
        reference, model : names; the base and the first where not given.
        progress : told the name of each grouping as its turn comes.

        Raises
        ------
        ValueError : there are no such scores, or they cannot be audited.
        """
        side = self.pick(reference, model)
        return _once(
            self.known.audits, side, lambda: self.run_battery(side, self.settings, progress)
        )

    def warn(self, reference: str | None = None, model: str | None = None) -> Warned | None:
        """Ask how well a model's confidence warns of what a reference calls failed; None where it is not known."""
        side = self.pick(reference, model)

        def ask() -> Warned | None:
            sure = self.confidences.get(side[0])
            if sure is None:
                return None
            scores, groups = self.scores_of(side), self.group(side)[0]
            provenance = self.audit(side[1], side[0]).provenance
            return measure_warning(scores, groups, self.patients, provenance, self.settings, sure)

        return _once(self.known.warned, side, ask)

    def compare(
        self, base: str | None = None, other: str | None = None, model: str | None = None
    ) -> Comparison:
        """Compare two references over one model, over the exams and scores that both have.

        Parameters
        ----------
        base, other : references; the first and the second where not given.
        model : the first where not given.

        Raises
        ------
        ValueError : fewer than two exams or no score in common.
        """
        key = self._name(base, other, model)
        return _once(self.known.rulers, key, lambda: self._share(key).compare_rulers())

    def audit_common(
        self, base: str | None = None, other: str | None = None, model: str | None = None
    ) -> dict[str, AuditResult]:
        """Audit by two references what they have in common, where either has more; none where neither has."""
        key = self._name(base, other, model)
        shared = self._share(key)
        return _once(
            self.known.common,
            key,
            lambda: dict(zip(key[1:], shared.audits(), strict=True)) if shared.changed else {},
        )

    def trace(
        self, base: str | None = None, other: str | None = None, model: str | None = None
    ) -> pd.DataFrame | None:
        """Trace how often each reference would find a difference with fewer and with more exams.

        Studies are drawn from the common exams, of a patient with several from the first alone. None where the
        other reference is the model itself, or the settings ask for no draws.
        """
        key = self._name(base, other, model)
        found = self.compare(base, other, model)
        return _once(self.known.traced, key, lambda: self._share(key).trace(found))

    def anchor(
        self, base: str | None = None, other: str | None = None, model: str | None = None
    ) -> Anchored | None:
        """Estimate group means of macro Dice by the base reference from its exams and those that the other has beyond.

        None where the other reference scored no exams beyond.
        """
        key = self._name(base, other, model)
        more = pd.DataFrame(columns=["regime", "ruler"]) if self.beyond is None else self.beyond
        more = more[(more["regime"] == key[0]) & (more["ruler"] == key[2])]
        return _once(self.known.anchored, key, lambda: self._share(key).anchor(more))

    def compare_models(
        self, first: str | None = None, second: str | None = None, reference: str | None = None
    ) -> RegimeComparison:
        """Compare two models under one reference: paired differences second - first, and changes of gaps.

        Parameters
        ----------
        first, second : models; the first and the second where not given.
        reference : the base where not given.

        Raises
        ------
        ValueError : fewer than two exams or no score in common.
        """
        before, judge = self.pick(reference, first)
        after = second or next((name for name in self.models if name != before), before)

        sides = (before, judge), (after, judge)
        return _once(
            self.known.models, (judge, before, after), lambda: self.share(*sides).compare_models()
        )

    def findings(self, progress: Callable[[str], None] | None = None) -> Answers:
        """Audit every side, compare every reference with the base and every two models under one reference.

        Parameters
        ----------
        progress : told each grouping of an audit, and each comparison, as its turn comes.
        """
        for model, reference in self.sides:
            self.audit(reference, model, progress)
        for one, other in list_comparisons(self):
            if progress is not None:
                progress(f"{one} and {other}")
            if one[0] == other[0]:
                self._try(self.compare, one[1], other[1], one[0])
            else:
                self._try(self.compare_models, one[0], other[0], one[1])
        return self.known

    def share(self, first: Side, second: Side) -> Shared:
        """Keep of two sides what both have, as of `sides.share`."""
        return _once(self.known.shared, (first, second), lambda: share(self, first, second))

    def _share(self, key: Key) -> Shared:
        """Share the sides of a comparison of references."""
        return self.share((key[0], key[1]), (key[0], key[2]))

    def _name(self, base: str | None, other: str | None, model: str | None) -> Key:
        """Name a comparison of references; what is not given is the first that there is."""
        model, first = self.pick(base, model)
        return model, first, other or next((x for x in self.references if x != first), first)

    def run_battery(
        self, side: Side, settings: Audit, progress: Callable[[str], None] | None = None
    ) -> AuditResult:
        """Audit a side with settings of its own."""
        people = self.exams_of(side).set_index("exam_id")
        found = audit_scores(
            self.scores_of(side),
            self.group(side)[0],
            people["patient_id"],
            settings,
            self.attributes,
            pick_numbers(people, settings.linear_terms),
            self.metrics,
            progress,
            people,
        )
        return replace(found, inference=self.predicted.get(side[0], ""))

    def _try(
        self, compare: Callable[[str, str, str], object], first: str, second: str, third: str
    ) -> None:
        try:
            compare(first, second, third)
        except ValueError as error:
            self.known.notes.append(f"not compared: {error}")


def _once(known: dict[Name, Kept], key: Name, ask: Callable[[], Kept]) -> Kept:
    """Return what is known, or ask for it and keep the answer."""
    if key not in known:
        known[key] = ask()
    return known[key]
