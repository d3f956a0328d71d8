"""How predictions made elsewhere fare by any number of references: paired, scored, audited, compared."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tworulers.ingest.faults import format_faults
from tworulers.ingest.judged_folders import (
    Prepared,
    list_pairs,
    nest_by_model,
    prepare,
    require_given,
)
from tworulers.ingest.study_folders import Scored, load_folders, score_side, summarise_side
from tworulers.io.owned import remove_others
from tworulers.io.paths import Layout, require_writable
from tworulers.io.primary import hold_to_lock
from tworulers.io.records import folder_written_beside, write_json
from tworulers.io.resume import Stamp
from tworulers.io.score_files import write_scores
from tworulers.metrics.asked import list_asked, require_metrics
from tworulers.metrics.macro import pick_macro_dice, require_rule
from tworulers.metrics.means import collect_means
from tworulers.metrics.registry import METRICS
from tworulers.progress import say
from tworulers.report.endings import end_answer
from tworulers.report.view import make_view
from tworulers.runner.answers import write_audited, write_compared, write_rulers
from tworulers.runner.console import conclude, tell
from tworulers.runner.keyed import describe_judging, find_same_scores, place_result, write_stamp
from tworulers.runner.page import tell_page, write_study_page
from tworulers.runner.run import run_stage
from tworulers.runner.tracking import RunRecord, write_record
from tworulers.runner.worst_exams import read_judged_worst
from tworulers.schema.result_files import SUMMARY
from tworulers.schema.settings import MACRO, Settings
from tworulers.study import Study


def judge(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Score folders of predictions by every reference, audit each, and compare them."""
    settings, given = hold_to_lock(settings, layout.root), settings.predictions
    require_given(given)
    require_metrics(settings.audit, METRICS)
    require_rule(settings.audit.macro)
    named = Layout.of_predictions(settings, layout.root).outputs
    require_writable(named)
    ready = prepare(given, settings.attributes, settings.processes)
    if ready.naming:
        say(ready.naming)
    if ready.notes:
        say(format_faults(ready.notes))
    pairs = {side: one.pairing.pairs for side, one in ready.judges.items()}
    made_from = describe_judging(settings, pairs)
    result = place_result(named, made_from, layout)
    place = Layout(layout.root, result, result)
    remove_others(result, ("scores", "audits"), ready.judges)
    scored = [score_side(side, ready, settings) for side in ready.judges]
    for one in scored:
        write_scored(one, settings, place)
    study = load_folders(ready, scored, settings)
    before = find_same_scores(named, made_from, settings)
    write_answers(study, scored, settings, place, before)
    told = {one.one.side: summarise_side(study, one) for one in scored}
    write_json({"structures": ready.structures, **nest_by_model(told)}, result / SUMMARY)
    write_json(list_pairs(ready.judges, ready.notes), result / "pairing.json")
    write_stamp(made_from, result)
    finish(study, ready, made_from, settings, place)
    return result, record(scored, settings)


def write_scored(scored: Scored, settings: Settings, place: Layout) -> None:
    """Write the scores of a model by a reference."""
    one, facts = scored.one, scored.facts
    (model, name), share = one.side, one.pairing.share
    n, same = len(one.pairing.pairs), scored.identical_exams
    folder = place.scores(model, name)
    write_scores(folder, scored.scores, {"exams": n, "share": share, **scored.same, **facts})
    text = f"Predictions of {model} scored against {one.ruler.title}, {share}."
    tags = {"regime": model, "ruler": name, "provenance": str(one.ruler.provenance)}
    tags |= {"dataset": settings.predictions.name}
    metrics = collect_means(scored.scores, list_asked(settings.audit))
    title = f"score · {model} by {name}"
    write_record(RunRecord("score", title, text, tags, {}, metrics, {}, "ruler"), folder)
    if 0 < same < n:
        say(f"{name} equals the prediction in {same} of {n} exams")


def write_answers(
    study: Study, scored: Sequence[Scored], settings: Settings, place: Layout, before: list[Path]
) -> None:
    """Write and tell the audits, set beside results made `before`, then comparisons of references and of models."""
    for one in scored:
        side = one.one.side
        ruler = replace(one.one.ruler, regime=side[0] if one.identical else None)
        folder, name = place.audit(*side), settings.predictions.name
        at = [one / folder.relative_to(place.outputs) for one in before]
        run = write_audited(study, side, ruler, folder, place, dataset=name, places=at, alone=False)
        write_record(run, folder)
    with folder_written_beside(place.comparisons) as folder:
        for key in study.known.rulers:
            model, base, other = key
            for sentence in study.share((model, base), (model, other)).exams.tell():
                say(f"{base} and {other}: {sentence}")
            name = f"{model}/{base}_{other}"
            write_rulers(study, key, folder / "rulers" / name, name)
        for (reference, first, second), changed in study.known.models.items():
            name = f"{reference}/{first}_{second}"
            write_compared(changed, folder / "regimes" / name, name)
    for note in study.known.notes:
        say(note)


def finish(
    study: Study, ready: Prepared, made_from: Stamp, settings: Settings, place: Layout
) -> None:
    """Write the page and print the verdict."""
    given, where = settings.predictions, f"written to {place.show(place.outputs)}"
    command = f"python -m tworulers.stages.judge predictions.name={given.name} ..."
    kept = "" if settings.report.shared else "; config.yaml of the result holds what it read"
    again, dataset = (command, f"this page again{kept}"), given.title or given.name
    worst = partial(read_judged_worst, ready=ready, trust_grid=given.trust_grid)
    findings = write_study_page(study, dataset, again, made_from, place, settings.report, worst)
    if findings is None:
        tell(*(why for one in study.references.values() for why in one.no_verdict.values()))
        say(f"no reference is independent of the predictions: no verdict, no page; {where}")
        return
    conclude(end_answer(make_view(findings)), f"{where}; {tell_page(place)}")


def record(scored: Sequence[Scored], settings: Settings) -> RunRecord:
    """Say of a judgement what MLflow shows of it."""
    given, models = settings.predictions, settings.predictions.all_models
    metrics: dict[str, float] = {}
    for one in scored:
        name = "/".join(one.one.side[len(models) == 1 :])
        metrics[f"dice/{MACRO}/{name}/mean"] = float(pick_macro_dice(one.scores).mean())
        metrics[f"exams/{name}"] = float(len(one.one.pairing.pairs))
        metrics[f"identical/{name}"] = float(one.identical_exams)
    rulers = {one.one.ruler.name: one.one.ruler.provenance for one in scored}
    listed = ", ".join(f"{name} ({provenance})" for name, provenance in rulers.items())
    text = f"Predictions of {' and '.join(models)} made elsewhere, judged by {listed}."
    tags = {"dataset": given.name, "regime": given.name}
    return RunRecord("judge", f"judge · {given.name}", text, tags, metrics=metrics)


if __name__ == "__main__":
    run_stage(judge)
