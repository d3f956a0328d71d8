"""The study that folders of label maps make: every model scored by every reference, and what came of it."""

import filecmp
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from tworulers.diagnosis.known import DECLARED
from tworulers.ingest.judged_folders import Judge, Prepared
from tworulers.ingest.scoring import ScoreTask, dice_alone, finish_scores, score_exams
from tworulers.metrics.known.dice import DICE
from tworulers.metrics.macro import choose_judged
from tworulers.metrics.registry import METRICS
from tworulers.progress import following
from tworulers.schema.settings import Audit, Provenance, Settings
from tworulers.sides import Side, list_comparisons
from tworulers.study import Reference, Study


@dataclass(frozen=True)
class Scored:
    """One model scored by one reference.

    Attributes
    ----------
    one : the two.
    scores : a scores table, with what has to be told of it in `facts`.
    identical_exams, identical_files : how many references are the prediction itself, by voxel and not empty, and by
        file.
    identical : whether the reference is the predictions themselves, those where both are empty among them.
    """

    one: Judge
    scores: pd.DataFrame
    facts: Mapping[str, Any]
    identical_exams: int
    identical_files: int
    identical: bool

    @property
    def same(self) -> dict[str, int]:
        """Return how many references are the prediction, for a summary."""
        return {"identical_exams": self.identical_exams, "identical_files": self.identical_files}


def score_side(side: Side, ready: Prepared, settings: Settings) -> Scored:
    """Score a model by a reference, all but the first of which are held against the first."""
    one, base = ready.judges[side], ready.judges[side[0], ready.base]
    labels, drawn = one.references, base.references if side[1] != ready.base else {}
    maps = {"prediction": one.predicted, "reference": one.drawn, "expert": base.drawn}
    tasks = [
        ScoreTask(
            exam_id=exam,
            provenance=str(one.ruler.provenance),
            prediction=prediction,
            reference=labels[exam],
            expert=drawn.get(exam),
            structures=ready.structures,
            audit=settings.audit,
            label_maps=maps,
            trust_grid=settings.predictions.trust_grid,
            ignore=ready.ignore,
        )
        for exam, prediction in one.predictions.items()
    ]
    rows = score_exams(tasks, settings.processes)
    scores, facts = finish_scores(rows, settings.audit, *side)
    counts = scores.pivot_table("value", "exam_id", "metric", "sum", observed=True)
    agree = counts["fp"] + counts["fn"] == 0
    same = agree & (counts["tp"] > 0)
    files = (
        filecmp.cmp(task.prediction, task.reference, shallow=False)
        for task in tasks
        if task.prediction.is_file() and task.reference.is_file()
    )
    identical = bool(agree.all() and same.any())
    return Scored(one, scores, facts, int(same.sum()), sum(files), identical)


def load_folders(ready: Prepared, scored: Sequence[Scored], settings: Settings) -> Study:
    """Make a study of the scores, ask everything of it, and say which references no verdict may rest on."""
    audit = settings.audit
    rulers = {name: one.ruler for (_, name), one in ready.judges.items()}
    study = Study(
        scores=pd.concat([one.scores for one in scored], ignore_index=True),
        people=ready.people,
        attributes=ready.attributes,
        settings=replace(audit, structures=choose_judged(audit, ready.structures)),
        references={
            name: Reference(
                name,
                ruler.title,
                str(ruler.provenance),
                against_base=_score_reference(ready, name, ready.base, settings),
                relation=str(ruler.relation),
                against=_score_by_others(ready, name, settings),
                corrected_from=ruler.corrected_from,
                caveat=ruler.caveat,
            )
            for name, ruler in rulers.items()
        },
        models={name: one.title or name for name, one in settings.predictions.all_models.items()},
        metrics=METRICS,
    )
    parts = len(study.sides) * len(study.attributes.groupings) + len(list_comparisons(study))
    with following("auditing and comparing", parts) as tell:
        known, references = study.findings(tell), dict(study.references)
    for one in scored:
        model, name = one.one.side
        compared = known.rulers.get((model, study.base, name))
        reference = references[name]
        if one.identical:
            reason = (
                f"reference {name} is the predictions themselves, voxel by voxel in all exams "
                f"({one.identical_files} byte by byte)"
            )
            reference = replace(reference, model=model)
        elif compared is not None and compared.summary["status"] == "too_close":
            reason = f"reference {name} is too close to the predictions to be independent of them"
        else:
            continue
        no_verdict = {**reference.no_verdict, model: reason}
        references[name] = replace(reference, no_verdict=no_verdict)
    return study.keep(references=references)


def summarise_side(study: Study, scored: Scored) -> dict[str, Any]:
    """Say of a reference how much was paired, how much was not, and how close it is."""
    one, pairing = scored.one, scored.one.pairing
    model, name = one.side
    compared = study.known.rulers.get((model, study.base, name))
    status = "compared with" if name == study.base else "unknown"
    status = str(compared.summary["status"]) if compared is not None else status
    return {
        "provenance": str(one.ruler.provenance),
        "exams": len(pairing.pairs),
        "share": pairing.share,
        "missing_predictions": len(pairing.missing),
        "without_reference": len(pairing.extra),
        **scored.same,
        "status": "identical" if scored.identical else status,
        "no_verdict": study.references[name].tell_no_verdict(model),
    }


def _score_by_others(ready: Prepared, name: str, settings: Settings) -> dict[str, pd.DataFrame]:
    """Score a machine's labels against those beside the base that can tell a copy from a sharper ruler: the truth's
    and further experts'.
    """
    drawn_by = {other: str(one.ruler.provenance) for (_, other), one in ready.judges.items()}
    if drawn_by[name] in DECLARED:
        return {}
    found = {
        other: _score_reference(ready, name, other, settings)
        for other, provenance in drawn_by.items()
        if other != ready.base and provenance in (Provenance.GOLD, Provenance.TRUTH)
    }
    return {other: scores for other, scores in found.items() if scores is not None}


def _score_reference(
    ready: Prepared, name: str, by: str, settings: Settings
) -> pd.DataFrame | None:
    """Score a reference against another by Dice, over the exams that both have; None of one by itself."""
    if name == by:
        return None
    files: dict[str, dict[str, Path]] = {name: {}, by: {}}
    drawn = {reference: one.drawn for (_, reference), one in ready.judges.items()}
    for (_, reference), one in ready.judges.items():
        if reference in files:
            files[reference] |= one.references
    audit: Audit = dice_alone(settings.audit)
    tasks = [
        ScoreTask(
            exam_id=exam,
            provenance=str(ready.judges[next(iter(ready.judges))].ruler.provenance),
            prediction=path,
            reference=files[by][exam],
            expert=None,
            structures=ready.structures,
            audit=audit,
            label_maps={"prediction": drawn[name], "reference": drawn[by]},
            trust_grid=settings.predictions.trust_grid,
            ignore=ready.ignore,
        )
        for exam, path in files[name].items()
        if exam in files[by]
    ]
    if not tasks:
        return None
    rows = score_exams(tasks, settings.processes)
    return rows[rows["metric"] == DICE.name]
