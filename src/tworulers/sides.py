"""Two sides of a study over what both have: the exams, scores and people that a comparison rests on."""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import pandas as pd

from tworulers.battery.audit import AuditResult
from tworulers.cohort.ungrouped import form_groups
from tworulers.diagnosis.agreement import LABEL_VOLUME, tabulate_agreement
from tworulers.diagnosis.anchored import Anchored, anchor_scores
from tworulers.diagnosis.closeness import average_structures
from tworulers.diagnosis.common import (
    CommonExams,
    find_common,
    keep_common_scores,
    keep_to_tests,
)
from tworulers.diagnosis.comparison import (
    Audited,
    Comparison,
    RegimeComparison,
    compare_regimes,
    compare_rulers,
)
from tworulers.diagnosis.hearing import Witness, average_dice, find_confirmed, hear_witnesses
from tworulers.diagnosis.known import Corrected
from tworulers.diagnosis.probability import trace_rulers
from tworulers.diagnosis.witness import Witnessed
from tworulers.metrics.agreement import SHARED_ERROR
from tworulers.metrics.known.dice import DICE
from tworulers.metrics.macro import align_macro, pick_macro_dice
from tworulers.schema.metric import DECIMALS
from tworulers.schema.settings import Provenance

if TYPE_CHECKING:
    from tworulers.study import Study

Side = tuple[str, str]
"""Whose predictions and what judged them: the names of a model and of a reference."""


@dataclass(frozen=True, eq=False)
class Shared:
    """What two sides of a study have in common.

    Attributes
    ----------
    base, other : the two.
    whole : the study they are of.
    study : the part of it with these exams and scores alone; audits that are known stay known where neither side had
        more.
    exams : how many either side judged.
    notes : what was left out, a sentence each.
    changed : whether a side had more, so that its audit there is not its audit here.
    """

    base: Side
    other: Side
    whole: "Study"
    study: "Study"
    exams: CommonExams
    notes: tuple[str, ...]
    changed: bool

    @property
    def groups(self) -> pd.DataFrame:
        """Return the groups of the common exams."""
        return self.study.group(self.base)[0]

    @property
    def scores(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the scores of both sides."""
        return self.study.scores_of(self.base), self.study.scores_of(self.other)

    def audits(self) -> tuple[AuditResult, AuditResult]:
        """Audit both sides over what they have in common, by the whole battery."""
        base, other = (self.study.audit(name, model) for model, name in (self.base, self.other))
        return base, other

    def compare_rulers(self) -> Comparison:
        """Compare two references over one model."""
        extra = self.whole.scores_of(self.other, judged=False)
        judge, other = self.whole.references[self.other[1]], self._take(self.other)
        found = compare_rulers(
            self._take(self.base),
            other,
            self.groups,
            self.whole.settings,
            patients=self.study.patients,
            ruler_against_expert=judge.against_base,
            shared_error=average_structures(extra[extra["metric"] == SHARED_ERROR]),
            relation=judge.relate(self.other[0]),
            testimony=self._hear(),
            corrected=self._find_corrected(),
            confirmed=find_confirmed(other.tests, self._find_truths()),
        )
        found.summary.update(self.exams.count())
        return replace(found, agreement=self._measure_agreement(found.inflation))

    def _measure_agreement(self, scores: pd.DataFrame) -> pd.DataFrame:
        """Measure how far both references agree in the scores that were compared and in label volumes."""
        sides = []
        for side, own in zip((self.base, self.other), self.scores, strict=True):
            every = self.exams.keep(self.whole.scores_of(side, judged=False))
            volumes = every[every["metric"] == LABEL_VOLUME]
            sides.append(pd.concat([own, volumes], ignore_index=True))
        level, patients = 1 - self.whole.settings.alpha, self.study.patients
        return tabulate_agreement(
            sides[0], sides[1], scores, self.study.metrics, patients=patients, level=level
        )

    def compare_models(self) -> RegimeComparison:
        """Compare two models under one reference."""
        found = compare_regimes(
            self._take(self.base),
            self._take(self.other),
            self.groups,
            self.whole.settings,
            patients=self.study.patients,
        )
        found.summary.update(self.exams.count())
        return found

    def trace(self, found: Comparison) -> pd.DataFrame | None:
        """Trace how often each reference would find a difference with fewer and with more exams."""
        if found.summary["status"] == "identical":
            return None
        single = self.study.people.sort_values("exam_id").drop_duplicates("patient_id")
        groups = form_groups(single, self.study.attributes)[0]
        return trace_rulers(*self.scores, groups, found.verdicts, settings=self.whole.settings)

    def anchor(self, beyond: pd.DataFrame) -> Anchored | None:
        """Anchor the scores of further exams, which the other reference alone judged, in the base's; None without."""
        if beyond.empty:
            return None
        gold, both = (
            pick_macro_dice(self.whole.scores_of(side)) for side in (self.base, self.other)
        )
        silver = pd.concat([both, pick_macro_dice(beyond)]).dropna()
        people = self.whole.people[self.whole.people["exam_id"].isin(silver.index)]
        groups = form_groups(people, self.whole.attributes)[0]
        return anchor_scores(gold.dropna(), silver, groups, people, self.whole.settings, DICE)

    def _find_corrected(self) -> Corrected | None:
        """Say that the base was made by correcting the other reference, and how often nothing was corrected."""
        base, other = self.base[1], self.other[1]
        if self.whole.references[base].corrected_from != other:
            return None
        dice = average_dice(self.whole.references[other].against_base)
        if dice is None:
            return Corrected(base)
        known = dice.dropna()
        return Corrected(base, int((known >= 1 - 0.5 * 10.0**-DECIMALS).sum()), len(known))

    def _hear(self) -> Witnessed | None:
        """Ask the truth, or a second expert, whether the other ruler repeats the model's errors.

        Experts who corrected that ruler's labels, or a base that did, share its errors and tell nothing.
        """
        whole, (model, other), base = self.whole, self.other, self.base[1]
        mine, theirs = (average_dice(scores) for scores in self.scores)
        ruler, witnesses = whole.references[other], []
        against = {base: ruler.against_base, **ruler.against}
        for name, one in whole.references.items():
            if name == other or (model, name) not in whole.sides:
                continue
            truth = one.provenance == Provenance.TRUTH
            if not truth and other in (one.corrected_from, whole.references[base].corrected_from):
                continue
            if name == base and not truth:
                continue
            tables = (whole.scores_of((model, name)), against.get(name), one.against_base)
            witnesses.append(Witness(name, one.provenance, *map(average_dice, tables)))
        return hear_witnesses(
            theirs,
            mine,
            average_dice(ruler.against_base),
            witnesses,
            self.study.patients,
            1 - whole.settings.alpha,
        )

    def _find_truths(self) -> dict[str, pd.DataFrame]:
        """Return the tests of the model's audits by the truth, as far as they are known."""
        return {
            name: audit.tests
            for (model, name), audit in self.whole.known.audits.items()
            if model == self.other[0]
            and name not in (self.base[1], self.other[1])
            and self.whole.references[name].provenance == Provenance.TRUTH
        }

    def _take(self, side: Side) -> Audited:
        """Return a side as a comparison takes it: with its whole audit where known, else with the tests."""
        study = self.study
        audit = study.known.audits.get(side)
        if audit is None:
            settings = keep_to_tests(study.settings, study.exams_of(side)["patient_id"])
            audit = study.run_battery(side, settings)
        return Audited(study.scores_of(side), audit.tests, audit.disparities, audit.metrics)


def list_comparisons(study: "Study") -> list[tuple[Side, Side]]:
    """List what is compared: each reference with the base over each model, then every two models by each reference."""
    sides, base = study.sides, study.base
    rulers = [
        ((model, base), (model, name))
        for model, name in sides
        if name != base and (model, base) in sides
    ]
    judged = {name: [one for one in sides if one[1] == name] for name in study.references}
    return rulers + [pair for one in judged.values() for pair in combinations(one, 2)]


def share(study: "Study", first: Side, second: Side) -> Shared:
    """Keep of two sides the exams, structures and metrics that both have, macro scores over what both define.

    Raises
    ------
    ValueError : fewer than two exams or no score in common.
    """
    differ = 0 if first[1] == second[1] else 1
    names = study.called.get(first, first[differ]), study.called.get(second, second[differ])
    whole = study.scores_of(first), study.scores_of(second)
    exams = find_common(*whole, names)
    base, other, notes = keep_common_scores(exams.keep(whole[0]), exams.keep(whole[1]), names)
    aligned = align_macro(base, other)
    changed = any(exams.left_out) or bool(notes) or aligned[0] is not base
    audits = study.known.audits
    known = {side: audits[side] for side in (first, second) if side in audits}
    part = replace(
        study,
        scores=pd.concat(aligned, ignore_index=True),
        people=exams.keep(study.people),
        settings=next((audit.settings for audit in known.values()), study.settings),
    )
    if not changed:
        part.known.audits.update(known)
    return Shared(first, second, study, part, exams, (*exams.tell(), *notes), changed)
