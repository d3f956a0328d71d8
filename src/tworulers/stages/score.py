"""How good a regime's predictions are by a ruler: one row an exam, structure and metric."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from tworulers.ingest.scoring import ScoreTask, dice_alone, finish_scores, score_exams
from tworulers.io.inferences import TOLD, quote_inferences
from tworulers.io.paths import Layout
from tworulers.io.results import read_splits
from tworulers.io.score_files import write_scores
from tworulers.metrics.asked import list_asked, require_metrics
from tworulers.metrics.macro import require_rule
from tworulers.metrics.means import collect_means
from tworulers.metrics.registry import METRICS
from tworulers.progress import say
from tworulers.rulers.find import make_ruler
from tworulers.rulers.kinds import RulerKind, choose_exams
from tworulers.runner.material import find_predictions, gather_material
from tworulers.runner.run import run_stage
from tworulers.runner.shown_scores import show_scores
from tworulers.runner.tracking import RunRecord
from tworulers.schema.settings import Audit, Settings
from tworulers.schema.table_models import Scores, check_table


def score(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Score the test exams that the ruler can judge; a ruler the dataset does not have scores nothing and says so."""
    audit, ruler, regime = settings.audit, settings.ruler, settings.regime
    require_metrics(audit, METRICS)
    require_rule(audit.macro)
    kind = make_ruler(ruler, gather_material(ruler.name, settings, layout))
    result = layout.results.scores(regime.name, ruler.name)
    identical = ruler.regime == regime.name
    record = RunRecord(
        "score",
        f"score · {regime.name} by {ruler.name}",
        f"Predictions of the {regime.name} model ({regime.title}) scored against {ruler.title} "
        f"(provenance: {ruler.provenance}).",
        {"regime": regime.name, "ruler": ruler.name, "provenance": str(ruler.provenance)}
        | ({"identical": "yes"} if identical else {}),
        sibling_tag="ruler",
    )
    if reason := kind.lacks():
        say(f"{reason}: ruler {ruler.name} scores nothing")
        columns = {name: pd.Series(dtype="str") for name in Scores.to_schema().columns}
        empty = check_table(pd.DataFrame(columns), Scores, "scores")
        write_scores(result, empty, {"exams": 0, "not_scored_because": reason})
        return result, record
    judged, unlabelled = choose_exams(
        kind, read_splits(layout), settings.grid.widest, settings.grid.teacher
    )
    predicted = layout.predictions(regime.name)
    quoted = quote_inferences(predicted, (kind.reference(exam) for exam in judged))
    record = replace(record, tags={**record.tags, **quoted})
    rows = score_by(kind, judged, audit, settings, layout)
    scores, facts = finish_scores(rows, audit, regime.name, ruler.name)
    beyond = None
    if unlabelled and not identical:
        # Of these only what is anchored in the gold exams is estimated.
        rows = score_by(kind, unlabelled, dice_alone(audit), settings, layout)
        beyond = finish_scores(rows, dice_alone(audit), regime.name, ruler.name)[0]
    facts = {"exams": len(judged), "identical": identical, **quoted, **facts}
    write_scores(result, scores, facts, beyond)
    title = f"{regime.name} by {ruler.name} ({ruler.title}), {len(judged)} exams"
    title += f", {quoted[TOLD]}" if TOLD in quoted else ""
    show_scores(title, scores, audit, facts)
    return result, replace(record, metrics=collect_means(scores, list_asked(audit)))


def score_by(
    kind: RulerKind, exams: list[str], audit: Audit, settings: Settings, layout: Layout
) -> pd.DataFrame:
    """Score the regime's predictions of some exams by a ruler."""
    predictions = find_predictions(settings.regime.name, layout)
    tasks = [
        ScoreTask(
            exam_id=exam,
            provenance=kind.provenance(exam),
            prediction=predictions / f"{exam}.nii.gz",
            reference=kind.reference(exam),
            expert=kind.expert(exam),
            structures=dict(settings.dataset.structures),
            audit=audit,
            change=kind.changes(exam),
            trust_grid=settings.dataset.reading.trust_grid,
            ignore=settings.dataset.ignore,
            own=kind.material.labels.get(exam),
        )
        for exam in exams
    ]
    return score_exams(tasks, settings.processes)


if __name__ == "__main__":
    run_stage(score)
