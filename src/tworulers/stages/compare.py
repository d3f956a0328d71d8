"""What changes with the ruler, or with the model: every pair of audits there is, or two ready tables."""

from itertools import combinations
from pathlib import Path

from tworulers.cohort.ungrouped import tell_groups
from tworulers.diagnosis.comparison import Comparison
from tworulers.ingest.study_tables import load_tables, pair_sides
from tworulers.io.answers import TRACED, write_anchored
from tworulers.io.paths import Layout, place_within
from tworulers.io.primary import hold_to_lock
from tworulers.io.records import folder_written_beside, write_json, write_table
from tworulers.progress import following, say
from tworulers.report.briefs import note_comparison
from tworulers.report.endings import end_models, end_rulers
from tworulers.report.findings import ShownAudit
from tworulers.report.gallery import comparison_figures
from tworulers.report.view import view_comparison
from tworulers.report.words.anchored import say_anchored
from tworulers.report.words.read_facts import tell_best
from tworulers.runner import answers
from tworulers.runner.answers import list_judging, write_compared, write_rulers
from tworulers.runner.console import conclude
from tworulers.runner.figures import write_figures
from tworulers.runner.keyed import describe_tables, place_result, write_stamp
from tworulers.runner.page import add_page, keep_answer
from tworulers.runner.reading import read_audits
from tworulers.runner.run import run_stage
from tworulers.runner.tracking import RunRecord
from tworulers.schema.settings import Settings
from tworulers.schema.tables import SCHEMA_VERSION
from tworulers.study import Study


def compare(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Compare each regime's audits under the gold ruler with every other, and all pairs of regimes; or ready tables."""
    settings = hold_to_lock(settings, layout.root)
    if settings.scores.file is not None:
        return compare_tables(settings, layout)
    study = read_audits(settings, layout)
    root, base, metrics = layout.comparisons, settings.grid.base_ruler, dict[str, float]()
    sides, models = study.sides, pair_models(study)
    others = [one for one in sides if one[1] != base and (one[0], base) in sides]
    parts = len(others) + len(models)
    with folder_written_beside(root) as folder, following("comparing", parts) as tell_part:
        for model, other in others:
            study.share((model, base), (model, other)).exams.require_all()
            key, name = (model, base, other), f"{model}/{base}_{other}"
            tell_part(name)
            target = folder / "rulers" / name
            metrics |= write_rulers(study, key, target, name)
            add_particulars(study, key, target)
        for judge, first, second in models:
            name = f"{judge}/{first}_{second}"
            tell_part(name)
            found = study.compare_models(first, second, judge)
            metrics |= write_compared(found, folder / "regimes" / name, name)
        count = len(study.known.rulers) + len(study.known.models)
        write_json({"comparisons": count}, folder / "about.json")
    conclude(answers.end_comparisons(study), f"written to {layout.show(root)}")
    description = "Audits compared: rulers over one regime's predictions, regimes under one ruler."
    how = "; ".join(f"{model}: {told}" for model, told in study.predicted.items() if told)
    tags = {"attributes": settings.attributes.name, **({"inference": how} if how else {})}
    described = description, tags
    return root, RunRecord("compare", "compare", *described, metrics=metrics)


def pair_models(study: Study) -> list[tuple[str, str, str]]:
    """List reference and two models of every comparison of models there can be."""
    sides = study.sides
    return [
        (judge, first, second)
        for judge in study.references
        for first, second in combinations(study.models, 2)
        if (first, judge) in sides and (second, judge) in sides
    ]


def add_particulars(study: Study, key: tuple[str, str, str], folder: Path) -> None:
    """Write beside a comparison of rulers its figures, its chance with more exams, and what is anchored in gold.

    The model's own predictions are no ruler and are not drawn.
    """
    model, base, other = key
    found = study.compare(base, other, model)
    if found.summary["status"] != "identical" and study.attributes.groupings:
        shared = study.share((model, base), (model, other))
        judged = study.audit_common(base, other, model)
        first, second = (
            ShownAudit(
                judged.get(name) or study.audit(name, model),
                study.references[name].title,
                shared.study.scores_of((model, name)),
            )
            for name in (base, other)
        )
        view = view_comparison(first, second, found, shared.groups)
        write_figures(comparison_figures(view), folder / "figures")
    if (traced := study.trace(base, other, model)) is not None:
        write_table(traced, folder / TRACED, SCHEMA_VERSION)
    anchored = study.anchor(base, other, model)
    if anchored is not None:
        said = say_anchored(anchored)
        write_anchored(anchored, said, folder)


def compare_tables(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Compare two rulers of one model, or two models by one ruler, whose scores are ready tables."""
    specs = [spec for spec in (settings.scores, settings.against) if spec.file is not None]
    study = load_tables(specs, settings.audit, settings.attributes)
    for note in study.notes:
        say(note)
    first, second = pair_sides(study, settings.scores.columns)
    of_rulers = first[0] == second[0]
    shared = study.share(first, second)
    for note in [*shared.notes, *tell_groups(shared.study.people, study.attributes)]:
        say(note)
    names = (first[1], second[1]) if of_rulers else (first[0], second[0])
    made_from = describe_tables(settings, *("scores", "against")[: len(specs)])
    place, name = Layout.of_table(settings, layout.root).outputs, f"{names[0]}_and_{names[1]}"
    result = place_result(place_within(place, comparison=name), made_from, layout)
    with following("auditing", 2 * len(study.attributes.groupings)) as tell_part:
        for model, ruler in (first, second):
            shared.study.audit(ruler, model, tell_part)
    with folder_written_beside(result) as folder:
        found = study.compare(*names) if of_rulers else study.compare_models(*names)
        judging = list_judging(study, (first[0], *names)) if of_rulers else []
        metrics = write_compared(found, folder, f"{names[0]}_{names[1]}", tell_best(judging))
        write_stamp(made_from, folder)
    if isinstance(found, Comparison):
        ending = end_rulers(found, judging, study.attributes, study.metrics)
    else:
        ending = end_models(found, study.metrics)
    common = keep_answer(shared.study, found, first, second)
    page = add_page(common, "compare", made_from, settings, result, layout)
    conclude(ending, "; ".join(filter(None, [f"written to {layout.show(result)}", page])))
    told = (
        answers.name_run(found.summary, "", ""),
        note_comparison(found.summary, tell_best(judging)),
    )
    tags = {"attributes": settings.attributes.name, "dataset": Path(str(settings.scores.file)).stem}
    return result, RunRecord("compare", *told, tags, metrics=metrics)


if __name__ == "__main__":
    run_stage(compare)
