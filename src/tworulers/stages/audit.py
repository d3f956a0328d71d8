"""Whether a regime serves all groups equally by one ruler: verdict tables of our scores, or of a ready table."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tworulers.cohort.ungrouped import tell_groups
from tworulers.ingest.completeness import find_lacking, tell_lacking
from tworulers.ingest.study_tables import load_tables
from tworulers.io.inferences import OF_RULER, TOLD, read_quoted
from tworulers.io.paths import Layout, place_within
from tworulers.io.primary import hold_to_lock
from tworulers.io.records import folder_written_beside, write_json
from tworulers.io.results import read_cohort, read_confidences
from tworulers.io.resume import Stamp
from tworulers.io.study_files import load_study
from tworulers.metrics.asked import list_asked, require_metrics, require_structures
from tworulers.metrics.macro import choose_judged
from tworulers.metrics.registry import METRICS
from tworulers.progress import say
from tworulers.rulers.origin import declare_origin
from tworulers.runner.answers import write_audited
from tworulers.runner.keyed import describe_tables, find_same_scores, place_result
from tworulers.runner.run import run_stage
from tworulers.runner.tracking import RunRecord
from tworulers.schema.result_files import SUMMARY
from tworulers.schema.settings import Ruler, Settings
from tworulers.study import Study


def audit(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Audit a regime's scores by a ruler, or a ready table where `scores.file` names one."""
    settings = hold_to_lock(settings, layout.root)
    if settings.scores.file is not None:
        return audit_table(settings, layout)
    side = settings.regime.name, settings.ruler.name
    quoted = read_quoted(layout.scores(*side))
    ruler = declare_origin(settings.ruler, settings.dataset, quoted[OF_RULER])
    margin = {**settings.dataset.margin, **settings.audit.margin}
    structures = choose_judged(settings.audit, settings.dataset.structures)
    study = load_study(
        layout,
        {side: ruler},
        read_cohort(layout),
        settings.attributes,
        replace(settings.audit, structures=structures, margin=margin),
        METRICS,
        list_asked(settings.audit),
    )
    scored = len(study.scores) > 0
    held = [name for name in METRICS if (study.scores["metric"] == name).any()]
    require_metrics(settings.audit, METRICS, held if scored else None)
    if not scored:
        return layout.audit(*side), leave_empty(layout.audit(*side), ruler, settings)
    sure, predicted = read_confidences(layout, [side[0]]), {side[0]: quoted[TOLD]}
    study = replace(study, confidences=sure, predicted=predicted)
    scores = study.scores_of(side)
    notes = tell_lacking(find_lacking(scores), scores["exam_id"].nunique())
    return _audit(study, ruler, layout.audit(*side), layout, settings, settings.dataset.name, notes)


def audit_table(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Audit a ready table of one model's scores."""
    study = load_tables([settings.scores], settings.audit, settings.attributes)
    if len(study.models) > 1:
        raise ValueError(
            f"{settings.scores.file} holds scores of {', '.join(study.models)}; an audit is of one model: choose it "
            f"with 'scores.filters={{{settings.scores.columns['model']}: [{next(iter(study.models))}]}}', or compare "
            "two with the compare stage"
        )
    made_from = describe_tables(settings, "scores")
    place = Layout.of_table(settings, layout.root).outputs
    named = place_within(place, ruler=study.base)
    result = place_result(named, made_from, layout)
    reference = study.references[study.base]
    ruler = Ruler(
        reference.name,
        reference.title,
        "table",
        provenance=reference.provenance,
        corrected_from=reference.corrected_from,
    )
    stem = Path(str(settings.scores.file)).stem
    from tworulers.runner.page import add_page  # with it comes matplotlib

    page = partial(add_page, study, "audit", made_from, settings, result, layout)
    told = (study.notes, made_from, find_same_scores(named, made_from, settings), page)
    return _audit(study, ruler, result, layout, settings, stem, *told)


def _audit(
    study: Study,
    ruler: Ruler,
    result: Path,
    layout: Layout,
    settings: Settings,
    dataset: str,
    notes: "list[str] | tuple[str, ...]",
    made_from: Stamp | None = None,
    places: Sequence[Path] = (),
    page: Callable[[], str] = str,
) -> tuple[Path, RunRecord]:
    """Audit the only side of a study, once nothing is asked of it that it does not hold."""
    (side,) = study.sides
    notes = [*notes, *tell_groups(study.exams_of(side), study.attributes)]
    for note in notes:
        say(note)
    scored = dict.fromkeys(study.scores_of(side)["structure"])
    require_structures(settings.audit.structures, list(scored))
    return result, write_audited(
        *(study, side, ruler, result, layout),
        dataset=dataset,
        notes=notes,
        made_from=made_from,
        places=places,
        page=page,
    )


def leave_empty(result: Path, ruler: Ruler, settings: Settings) -> RunRecord:
    """Say, and leave behind, that a ruler scored no exam."""
    reason = f"ruler {ruler.name} scored no exam"
    say(f"{reason}: nothing to audit")
    with folder_written_beside(result) as folder:
        write_json({"n_exams": 0, "not_audited_because": reason}, folder / SUMMARY)
    regime, provenance = settings.regime.name, str(ruler.provenance)
    return RunRecord(
        stage="audit",
        name=f"audit · {regime} by {ruler.name}",
        description=f"{ruler.title} (provenance: {provenance}): {reason}.",
        tags={"regime": regime, "ruler": ruler.name, "provenance": provenance}
        | {"attributes": settings.attributes.name, "dataset": settings.dataset.name},
        sibling_tag="ruler",
    )


if __name__ == "__main__":
    run_stage(audit)
