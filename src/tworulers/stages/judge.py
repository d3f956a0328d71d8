"""How predictions made elsewhere fare by any number of references: paired, scored, audited, compared."""

import filecmp
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tworulers.audit import audit_scores
from tworulers.ingest.faults import Fault, FaultKind, IngestError, format_faults
from tworulers.ingest.labels import expand_label_map
from tworulers.ingest.predictions import Pairing, check_pairs, pair_predictions
from tworulers.ingest.score_table import read_exam_table
from tworulers.io.audits import read_audit
from tworulers.io.console import say
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, write_json
from tworulers.rulers import Audited, compare_rulers, overall_status, tabulate_closeness
from tworulers.schema import MACRO, METRICS, Predictions, Provenance, Ruler, Settings
from tworulers.stages._comparison import show_rulers, write_comparison
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

SHOWN = 10


@dataclass(frozen=True)
class Judge:
    """One reference: its files paired with the predictions, and what its stored values stand for."""

    ruler: Ruler
    pairing: Pairing
    stands_for: Mapping[int, int]

    @property
    def exams(self) -> list[str]:
        """Return the exams that can be scored."""
        return list(self.pairing.pairs["exam_id"])

    def path_of(self, exam: str) -> Path:
        """Return the reference of an exam."""
        return Path(self.pairing.pairs.set_index("exam_id").loc[exam, "reference"])


def judge(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Score a folder of predictions by every reference, audit each, and compare them."""
    given = settings.predictions
    _require_given(given)
    structures = dict(given.structures or settings.dataset.structures)
    stands_for = expand_label_map(given.label_map, structures)
    judges = pair_references(given, structures)
    notes = refuse_gaps(judges, given.incomplete)
    if notes:
        say(format_faults(notes))
    people = describe_exams(given, judges)
    place = Layout.of_predictions(settings, layout.root)
    base = pick_base(judges)
    for kind in ("scores", "audits"):
        _drop_stale(place.outputs / kind / given.name, judges)
    scores, closeness = {}, {}
    for name, one in judges.items():
        expert = judges[base] if name != base else None
        tasks = list_tasks(one, expert, structures, stands_for, settings)
        rows = pd.concat(score_exams(tasks, settings.processes), ignore_index=True)
        found, facts = finish_scores(rows, settings.audit, given.name, name)
        share, same = one.pairing.share, count_same(found, one.pairing)
        title = f"{given.name} by {name} ({one.ruler.provenance}), {share}"
        metrics = show_scores(title, found, settings.audit, facts)
        folder = place.scores(given.name, name)
        write_scores(folder, found, {"exams": len(tasks), "share": share, **same, **facts})
        tags = {"regime": given.name, "ruler": name, "provenance": str(one.ruler.provenance)}
        tags |= {"dataset": given.name}
        text = f"Predictions of {given.name} scored against {one.ruler.title}, {share}."
        heading = f"score · {given.name} by {name}"
        write_record(RunRecord("score", heading, text, tags, {}, metrics), folder)
        scores[name] = found
        closeness[name] = {
            **same,
            "identical": same["identical_exams"] == len(one.exams),
        }
        if 0 < same["identical_exams"] < len(one.exams):
            say(f"{name} equals the prediction in {same['identical_exams']} of {share}")
        if expert is not None:
            against = score_reference(one, expert, structures, settings)
            status = judge_closeness(scores[base], found, against)
            closeness[name] |= {"status": status, "against_base": against}
    for name, one in judges.items():
        reason = tell_no_verdict(name, closeness[name])
        ruler = replace(one.ruler, regime=given.name if closeness[name]["identical"] else None)
        audited = Judged(
            scores=scores[name][scores[name]["metric"].isin(METRICS)],
            cohort=people[people["exam_id"].isin(one.exams)],
            measures={},
            regime=given.name,
            ruler=ruler,
            result=place.audit(given.name, name),
            structures=[*structures, MACRO],
            dataset=given.name,
            no_verdict=reason,
        )
        folder, record = audit_judged(audited, settings, layout)
        write_record(record, folder)
    compare_judges(settings, place, base, scores, closeness, people)
    summary = summarise(judges, closeness, notes)
    write_json(summary, place.outputs / "summary.json")
    finish(settings, place, people)
    return place.outputs, _record(given, judges, scores, closeness)


def pair_references(given: Predictions, structures: Mapping[str, int]) -> dict[str, Judge]:
    """Pair the predictions with every reference folder by name."""
    judges = {}
    for name, reference in given.references.items():
        title = reference.title or f"the labels in {Path(reference.folder).name}"
        ruler = Ruler(name, title, "folder", reference.provenance, folder=reference.folder)
        folders = Path(str(given.folder)), Path(reference.folder)
        patterns = given.pattern, reference.pattern
        pairing = pair_predictions(*folders, patterns=patterns)
        judges[name] = Judge(ruler, pairing, expand_label_map(reference.label_map, structures))
    return judges


def refuse_gaps(judges: Mapping[str, Judge], incomplete: bool) -> list[Fault]:
    """Refuse what cannot be scored in one list, and return what is worth knowing.

    Exams without a prediction are faults, or notes where an incomplete set was asked for.
    """
    found: dict[tuple[str, str, str], Fault] = {}
    for name, one in judges.items():
        faults = [*one.pairing.faults, *check_pairs(one.pairing)]
        if one.pairing.pairs.empty:
            mend = "files pair by name: the predictions' and the reference's have to be the same"
            faults.append(Fault(FaultKind.PAIRING, "names in common", "none", mend, name))
        for fault in faults:
            missing = fault.exam in one.pairing.missing and fault.kind == FaultKind.PAIRING
            if missing and incomplete:
                fault = replace(fault, mend=f"scored without it: {one.pairing.share}", note=True)
            elif missing:
                mend = f"{fault.mend}, or predictions.incomplete=true to score {one.pairing.share}"
                fault = replace(fault, mend=mend)
            found[fault.file, fault.exam, fault.found] = fault
    faults = list(found.values())
    if any(not fault.note for fault in faults):
        raise IngestError(faults)
    return faults


def describe_exams(given: Predictions, judges: Mapping[str, Judge]) -> pd.DataFrame:
    """Read who the scored exams are of; without a table each exam is a patient of its own."""
    exams = sorted({exam for one in judges.values() for exam in one.exams})
    if given.cohort is None:
        say("no table describes the exams (predictions.cohort): every exam counts as a patient")
        frame = pd.DataFrame({"exam_id": exams, "patient_id": exams})
        return frame.assign(age_over_89=False)
    notes: list[str] = []
    columns = dict(given.cohort_columns)
    people = read_exam_table(given.cohort, columns, given.missing, exams, notes)
    for note in notes:
        say(note)
    return people


def pick_base(judges: Mapping[str, Judge]) -> str:
    """Pick the reference that the others are compared with: the first by experts, else the first."""
    gold = (n for n, one in judges.items() if one.ruler.provenance == Provenance.GOLD)
    return next(gold, next(iter(judges)))


def list_tasks(
    one: Judge,
    expert: Judge | None,
    structures: dict[str, int],
    stands_for: Mapping[int, int],
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


def judge_closeness(base: pd.DataFrame, other: pd.DataFrame, against: pd.DataFrame) -> str:
    """Tell whether a reference is too close to the predictions to judge them."""
    shared = average_structures(other[other["metric"] == "shared_error"])
    dice = [side[side["metric"] == "dice"] for side in (base, other)]
    common = set(dice[0]["exam_id"]) & set(dice[1]["exam_id"])
    sides = [side[side["exam_id"].isin(common)] for side in dice]
    if not common:
        return "unknown"
    return overall_status(tabulate_closeness(pair_scores(*sides), against, shared))


def tell_no_verdict(name: str, closeness: Mapping[str, Any]) -> str:
    """Say why no verdict may rest on a reference; nothing where one may."""
    if closeness["identical"]:
        return (
            f"reference {name} is the predictions themselves, voxel by voxel in all exams "
            f"({closeness['identical_files']} byte by byte)"
        )
    if closeness.get("status") in ("too_close", "identical"):
        return f"reference {name} is too close to the predictions to be independent of them"
    return ""


def compare_judges(
    settings: Settings,
    place: Layout,
    base: str,
    scores: Mapping[str, pd.DataFrame],
    closeness: Mapping[str, Mapping[str, Any]],
    people: pd.DataFrame,
) -> None:
    """Compare the base reference with every other one, over the exams that both judged."""
    regime = settings.predictions.name
    with folder_written_beside(place.outputs / "comparisons") as folder:
        for other in (name for name in scores if name != base):
            common = set(scores[base]["exam_id"]) & set(scores[other]["exam_id"])
            if len(common) < 2:
                say(f"{base} and {other} judged {len(common)} exams in common: not compared")
                continue
            exams = people[people["exam_id"].isin(common)]
            for name in (base, other):
                judged = scores[name]["exam_id"].nunique()
                if judged > len(common):
                    say(f"{base} and {other}: compared over {len(common)} of {judged} of {name}")
            groups = form_groups(exams, settings.attributes)[0]
            patients = exams.set_index("exam_id")["patient_id"]
            sides = [
                _audit_common(scores[name], common, groups, patients, settings, place)
                for name in (base, other)
            ]
            errors = scores[other][scores[other]["metric"] == "shared_error"]
            found = compare_rulers(
                *sides,
                groups,
                settings.audit,
                patients=patients if settings.attributes.resampling_unit == "patient" else None,
                ruler_against_expert=closeness[other]["against_base"],
                shared_error=average_structures(errors),
            )
            target = folder / "rulers" / regime / f"{base}_{other}"
            write_comparison(found, target, f"{regime}/{base}_{other}")
            show_rulers(found)


def summarise(
    judges: Mapping[str, Judge], closeness: Mapping[str, Mapping[str, Any]], notes: list[Fault]
) -> dict[str, Any]:
    """Say of every reference what was paired, what was not, and how close it is."""
    references = {
        name: {
            "provenance": str(one.ruler.provenance),
            "folder": str(one.ruler.folder),
            "exams": len(one.exams),
            "share": one.pairing.share,
            "missing_predictions": one.pairing.missing,
            "without_reference": one.pairing.extra,
            "status": closeness[name].get("status", "compared with"),
            "no_verdict": tell_no_verdict(name, closeness[name]),
            **{k: closeness[name][k] for k in ("identical_exams", "identical_files")},
        }
        for name, one in judges.items()
    }
    return {"references": references, "notes": [asdict(note) for note in notes]}


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
    first = next(iter(findings.audits.values()))
    judged = set(first.scores["exam_id"]) if first.scores is not None else set()
    groups = form_groups(people[people["exam_id"].isin(judged)], settings.attributes)[0]
    text = f"python -m tworulers.stages.judge predictions.name={settings.predictions.name} ..."
    commands = [(text, "this page again; config.yaml beside it holds every choice")]
    dataset = settings.predictions.title or settings.predictions.name
    write_page(
        replace(findings, groups=groups, commands=commands, dataset=dataset), settings, place
    )
    show(settings, place)


def _require_given(given: Predictions) -> None:
    faults = []
    if not given.folder:
        faults.append("predictions.folder, the folder of the predicted label maps")
    if not given.references:
        faults.append("predictions.references, such as {expert: {folder: /e, provenance: gold}}")
    if not re.fullmatch(r"\w[\w.-]*", given.name):
        faults.append(f"predictions.name, a plain word to file results under, not {given.name!r}")
    if faults:
        raise ValueError("not set: " + "; ".join(faults))


def _drop_stale(folder: Path, judges: Mapping[str, Judge]) -> None:
    """Remove what an earlier run left of references that are not asked for any more."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name not in judges:
            shutil.rmtree(path)


def _audit_common(
    scores: pd.DataFrame,
    common: set[str],
    groups: pd.DataFrame,
    patients: pd.Series,
    settings: Settings,
    place: Layout,
) -> Audited:
    """Return the audit there is, or one over the exams that both references judged."""
    part = scores[scores["exam_id"].isin(common) & scores["metric"].isin(METRICS)]
    if len(common) == scores["exam_id"].nunique():
        folder = place.audit(str(scores["regime"].iloc[0]), str(scores["ruler"].iloc[0]))
        found = read_audit(folder)
    else:
        quick = replace(settings.audit, permutations=0, power_draws=0, linear=False)
        found = audit_scores(part, groups, patients, quick, settings.attributes)
    return Audited(part, found.tests, found.disparities, found.metrics)


def _record(
    given: Predictions,
    judges: Mapping[str, Judge],
    scores: Mapping[str, pd.DataFrame],
    closeness: Mapping[str, Mapping[str, Any]],
) -> RunRecord:
    metrics: dict[str, float] = {}
    for name, found in scores.items():
        dice = found[(found["metric"] == "dice") & (found["structure"] == MACRO)]["value"]
        metrics[f"dice/macro/{name}/mean"] = float(dice.mean()) if len(dice) else np.nan
        metrics[f"exams/{name}"] = float(len(judges[name].exams))
        metrics[f"identical/{name}"] = float(closeness[name]["identical_exams"])
    rulers = ", ".join(f"{n} ({one.ruler.provenance})" for n, one in judges.items())
    text = f"Predictions of {given.name} made elsewhere, judged by {rulers}."
    tags = {"dataset": given.name, "regime": given.name}
    return RunRecord("judge", f"judge · {given.name}", text, tags, metrics=metrics)


if __name__ == "__main__":
    run_stage(judge, ("predictions", "attributes", "audit"))
