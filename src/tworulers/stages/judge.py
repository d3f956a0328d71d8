"""How predictions made elsewhere fare by any number of references: paired, scored, audited, compared."""

import filecmp
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from tworulers.audit import AuditResult
from tworulers.ingest.faults import format_faults
from tworulers.ingest.predictions import Pairing
from tworulers.io.audits import read_audit
from tworulers.io.console import say
from tworulers.io.label_values import ValueMap
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, write_json
from tworulers.metrics.asked import require_metrics
from tworulers.metrics.macro import align_macro, require_rule
from tworulers.report.sections import pick_change, pick_judged
from tworulers.rulers import (
    compare_rulers,
    may_repeat,
    overall_status,
    tabulate_closeness,
)
from tworulers.schema import MACRO, METRICS, Settings
from tworulers.schema_sources import Predictions
from tworulers.stages._common_exams import (
    audit_again,
    find_common,
    take_side,
    write_common_audits,
)
from tworulers.stages._comparison import show_rulers, write_comparison
from tworulers.stages._keyed import describe_judging, place_result, write_stamp
from tworulers.stages._references import Judge, drop_stale, list_pairs, prepare
from tworulers.stages._run import run_stage
from tworulers.stages.audit import Judged, audit_judged, form_groups
from tworulers.stages.compare import average_structures
from tworulers.stages.report import read_findings, write_page
from tworulers.stages.score import (
    ScoreTask,
    finish_scores,
    score_exams,
    show_scores,
    write_scores,
)
from tworulers.stages.show import show
from tworulers.stats.pairs import pair_scores
from tworulers.tracking import RunRecord, write_record


@dataclass(frozen=True)
class Judgement:
    """What one reference says: scores, how many of its masks are the predictions, and how close it is.

    `against_base` is the Dice of its own labels by the base reference, `status` what follows from both; the base has
    neither.
    """

    scores: pd.DataFrame
    identical_exams: int
    identical_files: int
    status: str = "compared with"
    against_base: pd.DataFrame | None = None

    @property
    def exams(self) -> set[str]:
        """Return the scored exams."""
        return set(self.scores["exam_id"])

    @property
    def identical(self) -> bool:
        """Tell whether the reference is the predictions themselves."""
        return self.identical_exams == len(self.exams)

    def tell_no_verdict(self, name: str) -> str:
        """Say why no verdict may rest on the reference; nothing where one may."""
        if self.identical:
            return (
                f"reference {name} is the predictions themselves, voxel by voxel in all exams "
                f"({self.identical_files} byte by byte)"
            )
        if self.status == "too_close":
            return f"reference {name} is too close to the predictions to be independent of them"
        return ""


def judge(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Score a folder of predictions by every reference, audit each, and compare them."""
    given = settings.predictions
    require_metrics(settings.audit, METRICS)
    require_rule(settings.audit.macro)
    ready = prepare(given, settings.attributes, settings.processes)
    judges, people, structures, notes = ready.judges, ready.people, ready.structures, ready.notes
    if ready.naming:
        say(ready.naming)
    if notes:
        say(format_faults(notes))
    named = Layout.of_predictions(settings, layout.root)
    pairs = {name: one.pairing.pairs for name, one in judges.items()}
    made_from = describe_judging(settings, pairs)
    result = place_result(named.outputs, made_from, layout)
    place = Layout(layout.root, result, result)
    for kind in ("scores", "audits"):
        drop_stale(place.outputs / kind / given.name, judges)
    judgements: dict[str, Judgement] = {}
    for name in judges:
        judgements[name] = score_by(
            name, judges, judgements, structures, ready.stands_for, settings, place
        )
    for name, one in judges.items():
        audit_by(one, judgements[name], people, [*structures, MACRO], settings, place)
    compare_judges(judgements, people, settings, place)
    summary = {"structures": structures, **summarise(judges, judgements)}
    write_json(summary, place.outputs / "summary.json")
    write_json(list_pairs(judges, notes), place.outputs / "pairing.json")
    write_stamp(made_from, place.outputs)
    finish(settings, place, people)
    return place.outputs, _record(given, judges, judgements)


def score_by(
    name: str,
    judges: Mapping[str, Judge],
    judgements: Mapping[str, Judgement],
    structures: dict[str, int],
    stands_for: ValueMap,
    settings: Settings,
    place: Layout,
) -> Judgement:
    """Score the predictions by one reference; all but the first are held against the first."""
    one, given = judges[name], settings.predictions
    base = next(iter(judges))
    expert = judges[base] if name != base else None
    tasks = list_tasks(one, expert, structures, stands_for, settings)
    rows = pd.concat(score_exams(tasks, settings.processes), ignore_index=True)
    scores, facts = finish_scores(rows, settings.audit, given.name, name)
    same, share = count_same(scores, one.pairing), one.pairing.share
    title = f"{given.name} by {name} ({one.ruler.provenance}), {share}"
    metrics = show_scores(title, scores, settings.audit, facts)
    folder = place.scores(given.name, name)
    write_scores(folder, scores, {"exams": len(tasks), "share": share, **same, **facts})
    text = f"Predictions of {given.name} scored against {one.ruler.title}, {share}."
    tags = {"regime": given.name, "ruler": name, "provenance": str(one.ruler.provenance)}
    tags |= {"dataset": given.name}
    title = f"score · {given.name} by {name}"
    write_record(RunRecord("score", title, text, tags, {}, metrics, {}, "ruler"), folder)
    if 0 < same["identical_exams"] < len(tasks):
        say(f"{name} equals the prediction in {same['identical_exams']} of {len(tasks)} exams")
    counts = same["identical_exams"], same["identical_files"]
    if expert is None:
        return Judgement(scores, *counts)
    against = score_reference(one, expert, structures, settings)
    may = may_repeat(str(one.ruler.provenance))
    status = judge_closeness(judgements[base].scores, scores, against, may)
    return Judgement(scores, *counts, status, against)


def audit_by(
    one: Judge,
    judgement: Judgement,
    people: pd.DataFrame,
    structures: list[str],
    settings: Settings,
    place: Layout,
) -> None:
    """Audit the scores by one reference; without a verdict where it is not independent."""
    given, name = settings.predictions, one.ruler.name
    scores = judgement.scores
    judged = Judged(
        scores=scores[scores["metric"].isin(METRICS)],
        cohort=people[people["exam_id"].isin(judgement.exams)],
        measures={},
        regime=given.name,
        ruler=replace(one.ruler, regime=given.name if judgement.identical else None),
        result=place.audit(given.name, name),
        structures=structures,
        dataset=given.name,
        no_verdict=judgement.tell_no_verdict(name),
    )
    folder, record = audit_judged(judged, settings, place)
    write_record(record, folder)


def list_tasks(
    one: Judge,
    expert: Judge | None,
    structures: dict[str, int],
    stands_for: ValueMap,
    settings: Settings,
) -> list[ScoreTask]:
    """List the exams to score by one reference, each with the expert's label where there is one."""
    maps = {"prediction": stands_for, "reference": one.stands_for}
    known = set(expert.exams) if expert is not None else set()
    tasks = []
    for row in one.pairing.pairs.itertuples(index=False):
        exam = str(row.exam_id)
        label = expert.path_of(exam) if expert is not None and exam in known else None
        also = {"expert": expert.stands_for} if expert is not None else {}
        tasks.append(
            ScoreTask(
                exam_id=exam,
                provenance=str(one.ruler.provenance),
                prediction=Path(str(row.prediction)),
                reference=Path(str(row.reference)),
                expert=label,
                structures=structures,
                audit=settings.audit,
                label_maps={**maps, **also},
                trust_grid=settings.predictions.trust_grid,
            )
        )
    return tasks


def score_reference(
    one: Judge, expert: Judge, structures: dict[str, int], settings: Settings
) -> pd.DataFrame:
    """Score one reference against another by Dice, over the exams that both have."""
    dice = replace(settings.audit, metrics=["dice"], extra_metrics=[], levels_of=None)
    tasks = [
        ScoreTask(
            exam_id=exam,
            provenance=str(expert.ruler.provenance),
            prediction=one.path_of(exam),
            reference=expert.path_of(exam),
            expert=None,
            structures=structures,
            audit=dice,
            label_maps={"prediction": one.stands_for, "reference": expert.stands_for},
            trust_grid=settings.predictions.trust_grid,
        )
        for exam in one.exams
        if exam in set(expert.exams)
    ]
    if not tasks:
        return pd.DataFrame(columns=["exam_id", "structure", "metric", "value"])
    rows = pd.concat(score_exams(tasks, settings.processes), ignore_index=True)
    return rows[rows["metric"] == "dice"]


def count_same(scores: pd.DataFrame, pairing: Pairing) -> dict[str, int]:
    """Count the references that are the prediction itself, by file and by voxel, empty ones apart."""
    counts = scores.pivot_table("value", "exam_id", "metric", "sum", observed=True)
    same = (counts["fp"] + counts["fn"] == 0) & (counts["tp"] > 0)
    pairs = pairing.pairs.itertuples(index=False)
    files = sum(
        filecmp.cmp(str(row.prediction), str(row.reference), shallow=False) for row in pairs
    )
    return {"identical_exams": int(same.sum()), "identical_files": files}


def judge_closeness(
    base: pd.DataFrame, other: pd.DataFrame, against: pd.DataFrame, may: bool
) -> str:
    """Tell whether a reference, if it may repeat the model, is too close to judge its predictions."""
    shared = average_structures(other[other["metric"] == "shared_error"])
    dice = align_macro(*(side[side["metric"] == "dice"] for side in (base, other)))
    common = set(dice[0]["exam_id"]) & set(dice[1]["exam_id"])
    first, second = (side[side["exam_id"].isin(common)] for side in dice)
    if not common:
        return "unknown"
    pairs = pair_scores(first, second)
    return overall_status(tabulate_closeness(pairs, against, shared, may_repeat=may))


def compare_judges(
    judgements: Mapping[str, Judgement], people: pd.DataFrame, settings: Settings, place: Layout
) -> None:
    """Compare the first reference with every other one, over the exams that both judged."""
    regime, (base, *others) = settings.predictions.name, judgements
    with folder_written_beside(place.outputs / "comparisons") as folder:
        for other in others:
            sides = judgements[base].scores, judgements[other].scores
            try:
                common = find_common(*sides, (base, other))
            except ValueError as error:
                say(f"not compared: {error}")
                continue
            for sentence in common.tell():
                say(f"{base} and {other}: {sentence}")
            exams = common.keep(people)
            groups = form_groups(exams, settings.attributes)[0]
            patients = exams.set_index("exam_id")["patient_id"]
            kept = [common.keep(scores) for scores in sides]
            aligned = align_macro(*kept)
            anew = any(common.left_out) or aligned[0] is not kept[0]
            first, second = (
                _audit_common(scores, anew, groups, patients, settings, place) for scores in aligned
            )
            scores = sides[1]
            found = compare_rulers(
                take_side(aligned[0], first),
                take_side(aligned[1], second),
                groups,
                settings.audit,
                patients=patients,
                ruler_against_expert=judgements[other].against_base,
                shared_error=average_structures(scores[scores["metric"] == "shared_error"]),
            )
            found.summary.update(common.count())
            target = folder / "rulers" / regime / f"{base}_{other}"
            write_comparison(found, target, f"{regime}/{base}_{other}")
            if anew:
                write_common_audits((first, second), target)
            show_rulers(found)


def summarise(judges: Mapping[str, Judge], judgements: Mapping[str, Judgement]) -> dict[str, Any]:
    """Say of every reference how much was paired, how much was not, and how close it is."""
    references = {
        name: {
            "provenance": str(one.ruler.provenance),
            "exams": len(one.exams),
            "share": one.pairing.share,
            "missing_predictions": len(one.pairing.missing),
            "without_reference": len(one.pairing.extra),
            "identical_exams": judgements[name].identical_exams,
            "identical_files": judgements[name].identical_files,
            "status": "identical" if judgements[name].identical else judgements[name].status,
            "no_verdict": judgements[name].tell_no_verdict(name),
        }
        for name, one in judges.items()
    }
    return {"references": references}


def finish(settings: Settings, place: Layout, people: pd.DataFrame) -> None:
    """Write the page and print the verdict, where exams are in groups."""
    if not settings.attributes.groupings:
        say(f"written to {place.relative(place.outputs)}")
        return
    try:
        findings = read_findings(settings, place)
    except ValueError:
        say("no reference is independent of the predictions: no verdict, no page")
        return
    change = pick_change(findings)
    first = pick_judged(findings, change)[0] if change else next(iter(findings.audits.values()))
    judged = set(first.scores["exam_id"]) if first.scores is not None else set()
    groups = form_groups(people[people["exam_id"].isin(judged)], settings.attributes)[0]
    command = f"python -m tworulers.stages.judge predictions.name={settings.predictions.name} ..."
    kept = "" if settings.report.shared else "; config.yaml of the result holds what it read"
    dataset = settings.predictions.title or settings.predictions.name
    findings = replace(
        findings,
        groups=groups,
        patients=people.set_index("exam_id")["patient_id"],
        commands=[(command, f"this page again{kept}")],
        dataset=dataset,
    )
    write_page(findings, settings, place)
    show(settings, place)


def _audit_common(
    scores: pd.DataFrame,
    anew: bool,
    groups: pd.DataFrame,
    patients: pd.Series,
    settings: Settings,
    place: Layout,
) -> AuditResult:
    """Return the audit there is, or another one of the exams and structures that both references judged."""
    found = read_audit(place.audit(str(scores["regime"].iloc[0]), str(scores["ruler"].iloc[0])))
    return audit_again(found, scores, groups, patients, settings.attributes) if anew else found


def _record(
    given: Predictions, judges: Mapping[str, Judge], judgements: Mapping[str, Judgement]
) -> RunRecord:
    metrics: dict[str, float] = {}
    for name, one in judgements.items():
        dice = one.scores.query(f"metric == 'dice' and structure == '{MACRO}'")["value"]
        metrics[f"dice/{MACRO}/{name}/mean"] = float(dice.mean())
        metrics[f"exams/{name}"] = float(len(one.exams))
        metrics[f"identical/{name}"] = float(one.identical_exams)
    rulers = ", ".join(f"{n} ({one.ruler.provenance})" for n, one in judges.items())
    text = f"Predictions of {given.name} made elsewhere, judged by {rulers}."
    tags = {"dataset": given.name, "regime": given.name}
    return RunRecord("judge", f"judge · {given.name}", text, tags, metrics=metrics)


if __name__ == "__main__":
    run_stage(judge, ("predictions", "attributes", "audit", "report"))
