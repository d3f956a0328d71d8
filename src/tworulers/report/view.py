"""What a page, its figures and a terminal are about, decided once: which comparison, score, grouping and tests."""

from dataclasses import dataclass, replace

import pandas as pd

from tworulers.battery.audit import AuditResult
from tworulers.battery.questions import EXTRA, RANDOM
from tworulers.diagnosis.comparison import Comparison
from tworulers.metrics.asked import list_asked
from tworulers.metrics.macro import align_macro
from tworulers.report.findings import Findings, RegimeChange, RulerChange, ShownAudit
from tworulers.report.score import Score
from tworulers.report.words.rulers import put_into_words
from tworulers.report.words.verdicts import FLIPS, pick_flip
from tworulers.schema.settings import MACRO, Provenance

VOLUMES_FIRST = ("sex", "age_3bin", "race_wbo")
"""Groupings whose volumes are drawn before others."""

MOST_GROUPS = 10
"""Groups of one grouping that are drawn beside each other."""

MOST_PARTS = 20
"""Changed conclusions that are drawn in parts."""

MOST_VOLUMES = 3
"""Groupings whose volumes are drawn; a figure of more could not be read."""


@dataclass(frozen=True)
class View:
    """What is shown of the findings.

    Attributes
    ----------
    findings : all there is to tell of.
    judged : the audit by the ruler compared with and, where there is a comparison, the one by the other ruler.
    change : what lies between them, in words; None where there is one ruler.
    models : what lies between two models, where there is one ruler and these are what is judged.
    others : further audits of the same predictions.
    score : the one that stands for all.
    further : all other scores of the first audit, in the order of its tests.
    rated : the scores whose success rates are shown, one a metric.
    grouping : the one that comes first; empty where nothing was grouped.
    explained : the verdicts on the tests that are shown in parts: changed conclusions, else those of the score.
    drawn : the groupings whose volumes are drawn; `not_drawn` are more.
    shown_groups : of that grouping the groups that are drawn.
    """

    findings: Findings
    judged: tuple[ShownAudit, ...]
    change: RulerChange | None
    others: tuple[ShownAudit, ...]
    score: Score
    further: tuple[Score, ...]
    rated: tuple[Score, ...]
    grouping: str
    explained: pd.DataFrame
    drawn: tuple[str, ...] = ()
    not_drawn: int = 0
    models: RegimeChange | None = None
    shown_groups: tuple[str, ...] = ()

    @property
    def first(self) -> ShownAudit:
        """Return the audit by the ruler compared with."""
        return self.judged[0]

    @property
    def second(self) -> ShownAudit:
        """Return the audit by the other ruler, where there is a comparison."""
        return self.judged[1]

    @property
    def names(self) -> dict[str, str]:
        """Return the name of each ruler with its title and provenance."""
        return {one.key: one.name for one in self.judged}

    @property
    def provenances(self) -> dict[str, str]:
        """Return the provenance of each ruler's labels, those that the page is about first."""
        return {one.key: one.result.provenance for one in (*self.judged, *self.others)}

    @property
    def title(self) -> str:
        """Return the title of the grouping."""
        return self.first.title_of(self.grouping)

    @property
    def by_whom(self) -> str:
        """Return the names of the rulers."""
        return ", ".join(one.name for one in self.judged)

    @property
    def scored(self) -> bool:
        """Tell whether the scores themselves are at hand, and not the tables alone."""
        return all(one.scores is not None for one in self.judged)

    @property
    def flipped(self) -> bool:
        """Tell whether the tests that are shown in parts changed their conclusion."""
        return bool(len(self.explained)) and bool(self.explained["flip"].isin(FLIPS).any())


def make_view(findings: Findings) -> View:
    """Decide what is shown.

    Raises
    ------
    ValueError : there is no audit.
    """
    if not findings.audits:
        raise ValueError("there is no audit to report; run the audit stage first")
    change = _pick_change(findings)
    models = _pick_models(findings) if change is None else None
    if models is not None:
        sides = (models.base, models.other)
        judged: tuple[ShownAudit, ...] = tuple(
            replace(findings.audits[model, models.ruler], model=model) for model in sides
        )
    elif change is None:
        audits = list(findings.audits.values())
        gold = [one for one in audits if one.result.provenance == Provenance.GOLD]
        judged = ((gold or audits)[0],)
    else:
        change = replace(change, comparison=put_into_words(change.comparison))
        judged = _pick_judged(findings, change)
    first = judged[0]
    verdicts = pd.DataFrame() if change is None else change.comparison.verdicts
    score, *further = order_scores(first.result)
    drawn = [name for name in VOLUMES_FIRST if name in findings.groups]
    drawn += [str(name) for name in findings.groups if name not in drawn]
    narrow = [g for g in drawn if len(findings.groups[g].cat.categories) <= MOST_GROUPS]
    grouping = _pick_grouping(first.result, verdicts)
    return View(
        findings=findings,
        judged=judged,
        change=change,
        others=tuple(
            _name_other_exams(one, first)
            for (regime, ruler), one in findings.audits.items()
            if regime == first.result.regime and ruler not in {side.ruler for side in judged}
        ),
        score=score,
        further=tuple(further),
        rated=tuple(_pick_rated(first.result)),
        grouping=grouping,
        shown_groups=choose_groups(first.result, score, grouping),
        explained=_pick_explained(verdicts, score),
        drawn=tuple(narrow[:MOST_VOLUMES]),
        not_drawn=len(drawn) - len(narrow[:MOST_VOLUMES]),
        models=models,
    )


def view_audit(one: ShownAudit) -> View:
    """Decide what is shown of an audit alone."""
    return make_view(Findings("", "", {(one.result.regime, one.ruler): one}))


def view_comparison(
    first: ShownAudit, second: ShownAudit, comparison: Comparison, groups: pd.DataFrame
) -> View:
    """Decide what is shown of a comparison of two rulers alone.

    Parameters
    ----------
    first, second : the audits, with their scores, over the exams that both rulers judged.
    comparison : of them.
    groups : indexed by exam_id, one ordered categorical column a grouping.
    """
    regime = first.result.regime
    change = RulerChange(regime, first.ruler, second.ruler, comparison)
    audits = {(regime, one.ruler): one for one in (first, second)}
    return make_view(Findings("", "", audits, changes=[change], groups=groups))


def _pick_change(findings: Findings) -> RulerChange | None:
    """Pick the comparison that the page is about: gold against silver where there is one.

    A regime that learnt from more than experts comes before the teacher, which the silver ruler is made of.
    """
    audits = findings.audits
    usable = [
        change
        for change in findings.changes
        if {(change.regime, change.base), (change.regime, change.other)} <= set(audits)
    ]

    def rank(change: RulerChange) -> tuple[bool, bool, bool]:
        sides = (audits[change.regime, ruler] for ruler in (change.base, change.other))
        provenances = [one.result.provenance for one in sides]
        identical = change.comparison.summary.get("status") == "identical"
        wanted = [Provenance.GOLD, Provenance.SILVER]
        return identical, provenances != wanted, change.regime == findings.teacher

    return min(usable, key=rank) if usable else None


def _pick_models(findings: Findings) -> RegimeChange | None:
    """Pick the comparison of two models that the page is about: by experts' labels where there is one."""
    usable = [
        one
        for one in findings.regimes
        if {(one.base, one.ruler), (one.other, one.ruler)} <= set(findings.audits)
    ]
    gold = [one for one in usable if one.comparison.summary["provenance"] == Provenance.GOLD]
    return next(iter(gold or usable), None)


def _pick_judged(findings: Findings, change: RulerChange) -> tuple[ShownAudit, ...]:
    """Return both audits of a comparison, over the exams and structures that both rulers judged."""
    judged = tuple(findings.audits[change.regime, name] for name in (change.base, change.other))
    if not change.audits:
        return judged
    scores = [one.scores for one in judged]
    if scores[0] is not None and scores[1] is not None:
        common = set(scores[0]["exam_id"]) & set(scores[1]["exam_id"])
        kept = [one[one["exam_id"].isin(common)] for one in scores if one is not None]
        scores = list(align_macro(*kept))
    return tuple(
        replace(one, result=change.audits[one.ruler], scores=part)
        for one, part in zip(judged, scores, strict=True)
    )


def _name_other_exams(one: ShownAudit, judged: ShownAudit) -> ShownAudit:
    """Say of an audit over other exams than the page's how many it has."""
    if one.result.n_exams == judged.result.n_exams:
        return one
    return replace(one, title=f"{one.title or one.ruler}, over other exams ({one.result.n_exams})")


def order_scores(audit: AuditResult) -> list[Score]:
    """List the scores in the order of the tests, the one that stands for all first.

    It is the first stated metric, of the macro where there is one. Without groupings there is no test, and the order is
    that of the means.
    """
    tests = audit.tests if len(audit.tests) else audit.overall
    found = list(dict.fromkeys(zip(tests["metric"], tests["structure"], strict=True)))
    metrics = [metric for metric, _ in found]
    metric = next((name for name in audit.settings.metrics if name in metrics), metrics[0])
    structures = [structure for name, structure in found if name == metric]
    first = (metric, MACRO if MACRO in structures else structures[0])
    return [
        Score(audit.metrics[name], structure)
        for name, structure in [first, *(score for score in found if score != first)]
    ]


def _pick_rated(audit: AuditResult) -> list[Score]:
    """Pick for each metric asked for that has a threshold the structure that stands for all: macro, else the first."""
    table, rated = audit.disparities, []
    for name in list_asked(audit.settings):
        structures = list(table.loc[table["metric"] == name, "structure"]) if len(table) else []
        if structures:
            where = MACRO if MACRO in structures else str(structures[0])
            rated.append(Score(audit.metrics[name], where))
    return rated


def _pick_grouping(audit: AuditResult, verdicts: pd.DataFrame) -> str:
    """Pick the grouping that comes first.

    It is the first one where a conclusion changes with the ruler, else the first: that of the first primary question,
    where there is one. Random groups mean nothing and are picked only where there are no others; nothing where nothing
    was grouped.
    """
    if audit.groupings.empty:
        return ""
    meant = audit.groupings[audit.groupings["family"] != RANDOM]
    names = [str(name) for name in (meant if len(meant) else audit.groupings)["grouping"]]
    for name in names if len(verdicts) else ():
        if pick_flip(verdicts[verdicts["grouping"] == name]) is not None:
            return name
    return names[0]


def choose_groups(audit: AuditResult, score: Score, grouping: str) -> tuple[str, ...]:
    """Keep all groups of a grouping, of many those with the lowest and the highest medians, in their order."""
    rows = score.of(audit.groups)
    if rows.empty:
        return ()
    rows = rows[(rows["grouping"] == grouping) & (rows["status"] != "left out")]
    names = tuple(rows["group"].astype(str))
    if len(names) <= MOST_GROUPS:
        return names
    sound = rows[rows["median"].notna() & (rows["n"] > 1)]
    ranked = list(sound.sort_values("median", kind="stable")["group"].astype(str))
    half = MOST_GROUPS // 2
    kept = {*ranked[:half], *ranked[-half:]}
    return tuple(name for name in names if name in kept)


def _pick_explained(verdicts: pd.DataFrame, score: Score) -> pd.DataFrame:
    """Pick the tests to show in parts: changed conclusions, else those of one score."""
    if verdicts.empty:
        return verdicts
    defined = verdicts[(verdicts["family"] != EXTRA) & (verdicts["verdict"] != "undefined")]
    flips = defined[defined["flip"].isin(FLIPS)]
    return flips if len(flips) else score.of(defined)


def list_exams(one: ShownAudit, score: Score) -> pd.Series:
    """Return one score of every exam, indexed by exam_id.

    Raises
    ------
    ValueError : the scores are not at hand.
    """
    if one.scores is None:
        raise ValueError(f"the scores by {one.name} are not at hand")
    return score.of(one.scores).set_index("exam_id")["value"].astype(float)
