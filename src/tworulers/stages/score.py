"""How good a regime's predictions are by a ruler: one row an exam, structure and metric."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tworulers.cohort.distortion import distort_label
from tworulers.cohort.grouping import assign_groups
from tworulers.ingest.predictions import bring_together, read_pair
from tworulers.io.console import say, show_table, track
from tworulers.io.images import ImageError, LabelVolume, read_label
from tworulers.io.label_values import ValueMap
from tworulers.io.paths import Layout
from tworulers.io.records import (
    folder_written_beside,
    made_by,
    read_table,
    require,
    write_json,
    write_table,
)
from tworulers.metrics.agreement import shared_error
from tworulers.metrics.asked import require_metrics
from tworulers.metrics.case import add_ndsc, reference_averages, score_case
from tworulers.metrics.macro import count_partial, require_rule, tell_partial
from tworulers.schema import MACRO, METRICS, Audit, Distortion, Provenance, Ruler, Settings, Split
from tworulers.stages._pool import open_pool
from tworulers.stages._run import run_stage
from tworulers.tables import Cohort, Scores, Splits, check_table, list_rows
from tworulers.tracking import RunRecord

BEYOND = "beyond.parquet"
"""Scores of test exams without an expert label, beside those that the audit reads."""


@dataclass(frozen=True)
class ScoreTask:
    """One exam to score: where its prediction, its reference and, if another drew that, its expert label lie.

    `label_maps` say for `prediction`, `reference` and `expert` what every stored value stands for; without an entry the
    values are the structures' own.
    """

    exam_id: str
    provenance: str
    prediction: Path
    reference: Path
    expert: Path | None
    structures: dict[str, int]
    audit: Audit
    distortion: Distortion | None = None
    label_maps: Mapping[str, ValueMap] = field(default_factory=dict)
    trust_grid: bool = False
    """Whether voxels correspond by index whatever the headers say."""


def score(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Score the test exams that the ruler can judge; a ruler the dataset does not have scores nothing and says so."""
    require_metrics(settings.audit, METRICS)
    require_rule(settings.audit.macro)
    regime, ruler = settings.regime.name, settings.ruler
    result = layout.results.scores(regime, ruler.name)
    identical = ruler.regime == regime
    tags = {"regime": regime, "ruler": ruler.name, "provenance": str(ruler.provenance)}
    tags |= {"identical": "yes"} if identical else {}
    record = RunRecord(
        "score", f"score · {regime} by {ruler.name}", describe(settings), tags, sibling_tag="ruler"
    )
    if ruler.kind == "truth" and settings.dataset.truth is None:
        reason = f"dataset {settings.dataset.name} has no truth labels"
        say(f"{reason}: ruler {ruler.name} scores nothing")
        empty = pd.DataFrame({name: pd.Series(dtype="str") for name in Scores.to_schema().columns})
        write_scores(
            result, check_table(empty, Scores, "scores"), {"exams": 0, "not_scored_because": reason}
        )
        return result, record
    judged, unlabelled = choose_exams(
        ruler, read_table(layout.split / "splits.parquet", "split", Splits)
    )
    tasks = list_tasks(judged, settings, layout)
    rows = pd.concat(score_exams(tasks, settings.processes), ignore_index=True)
    scores, facts = finish_scores(rows, settings.audit, regime, ruler.name)
    beyond = None if identical else score_beyond(unlabelled, settings, layout)
    write_scores(result, scores, {"exams": len(tasks), "identical": identical, **facts}, beyond)
    title = f"{regime} by {ruler.name} ({ruler.title}), {len(tasks)} exams"
    return result, replace(record, metrics=show_scores(title, scores, settings.audit, facts))


def finish_scores(
    rows: pd.DataFrame, audit: Audit, regime: str, ruler: str
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Add nDSC, which needs all exams, say whose scores they are, and return what has to be told of them."""
    facts: dict[str, Any] = {}
    if "ndsc" in audit.metrics:
        reading = audit.ndsc_reference
        averages = audit.ndsc_fractions or reference_averages(rows, reading)  # type: ignore[arg-type]
        rows = add_ndsc(rows, averages, reading=reading, empty=audit.ndsc_empty, macro=audit.macro)  # type: ignore[arg-type]
        facts["ndsc_reference"] = {"reading": reading, "averages": averages}
    rows = rows.assign(regime=regime, ruler=ruler)[list(Scores.to_schema().columns)]
    return check_table(rows, Scores, "scores"), facts


def show_scores(
    title: str, scores: pd.DataFrame, audit: Audit, facts: Mapping[str, Any]
) -> dict[str, float]:
    """Print the scores over all exams, and return them for MLflow."""
    means = list_rows(summarise_macro(scores).reset_index(names=["metric", "structure"]))
    rows, partial = [], count_partial(scores)
    for row in means:
        successes = count_successes(scores, row["metric"], row["structure"], audit)
        numbers = [f"{row[name]:.4f}" for name in ("mean", "median", "sd")]
        fewer = partial.get(row["metric"], 0) if row["structure"] == MACRO else 0
        over = ", ".join(
            filter(
                None, (f"{row['count']} of {row['size']}", tell_partial(fewer, int(row["size"])))
            )
        )
        rows.append((row["metric"], row["structure"], *numbers, over, successes))
    heads = ("metric", "structure", "mean", "median", "SD", "over", "successes")
    show_table(title, heads, rows)
    if "ndsc_reference" in facts:
        averages = facts["ndsc_reference"]["averages"]
        shown = ", ".join(f"{name} {value:.6g}" for name, value in averages.items())
        say(f"nDSC is normalised to the reference {facts['ndsc_reference']['reading']}: {shown}")
    metrics = {
        f"{row['metric']}/{row['structure']}/{name}": float(row[name])
        for row in means
        for name in ("mean", "median", "sd")
    }
    return {**metrics, "exams": float(scores["exam_id"].nunique())}


def count_successes(scores: pd.DataFrame, metric: str, structure: str, audit: Audit) -> str:
    """Count exams on the good side of the threshold among those with a score; infinite distances fail."""
    if metric not in audit.thresholds or metric not in METRICS:
        return ""
    rows = scores[(scores["metric"] == metric) & (scores["structure"] == structure)]
    known = rows["value"].dropna()
    good = sum(METRICS[metric].succeeds(value, audit.thresholds[metric]) for value in known)
    return f"{good}/{len(known)}"


def describe(settings: Settings) -> str:
    """Say in a sentence what is scored against what."""
    return (
        f"Predictions of the {settings.regime.name} model ({settings.regime.title}) scored against "
        f"{settings.ruler.title} (provenance: {settings.ruler.provenance})."
    )


def choose_exams(ruler: Ruler, splits: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Choose the test exams a ruler judges, and those that a ruler made of predictions can score beyond them.

    The dataset's own labels judge mix's test exams, every other ruler the gold ones among them. Predictions exist for
    the rest as well, which have no expert label.
    """
    tested = splits[splits["split"] == Split.TEST]
    exams = {regime: sorted(rows["exam_id"]) for regime, rows in tested.groupby("regime")}
    judged = exams.get("mix", []) if ruler.kind == "dataset" else []
    judged = judged or exams.get("gold", [])
    if not judged:
        raise ValueError(
            f"no test exam can be judged by ruler {ruler.name}: the split has no gold test exam"
        )
    rest = sorted(set(exams.get("mix", [])) - set(judged)) if ruler.kind == "predictions" else []
    return judged, rest


def score_beyond(exams: list[str], settings: Settings, layout: Layout) -> pd.DataFrame | None:
    """Score test exams without an expert label by Dice, for estimates that are anchored in the gold ones."""
    if not exams:
        return None
    dice_only = replace(settings.audit, metrics=["dice"], extra_metrics=[], levels_of=None)
    tasks = list_tasks(exams, replace(settings, audit=dice_only), layout)
    rows = pd.concat(score_exams(tasks, settings.processes), ignore_index=True)
    return finish_scores(rows, dice_only, settings.regime.name, settings.ruler.name)[0]


def list_tasks(exams: list[str], settings: Settings, layout: Layout) -> list[ScoreTask]:
    """List what is to be read and scored of each exam."""
    ruler = settings.ruler
    cohort = read_table(layout.cohort / "cohort.parquet", "cohort", Cohort).set_index(
        "exam_id", drop=False
    )
    predictions = require(layout.predictions(settings.regime.name) / "labels", made_by("predict"))
    distorted = _distorted_exams(settings, cohort)
    tasks = []
    for exam in exams:
        row = cohort.loc[exam]
        drawn = (
            Path(row["label"])
            if isinstance(row["label"], str)
            else layout.annotations / "labels" / f"{exam}.nii.gz"
        )
        label = drawn if drawn.is_absolute() else layout.root / drawn
        tasks.append(
            ScoreTask(
                exam_id=exam,
                provenance=str(row["provenance"])
                if ruler.kind == "dataset"
                else str(ruler.provenance),
                prediction=predictions / f"{exam}.nii.gz",
                reference=find_reference(ruler, exam, label, settings, layout),
                expert=label
                if ruler.kind == "predictions" and row["provenance"] == Provenance.GOLD
                else None,
                structures=dict(settings.dataset.structures),
                audit=settings.audit,
                distortion=ruler.distortion if exam in distorted else None,
            )
        )
    absent = [
        str(path)
        for task in tasks
        for path in (task.prediction, task.reference)
        if not path.is_file()
    ]
    if absent:
        shown = "\n  ".join(absent[:10])
        raise FileNotFoundError(
            f"{len(absent)} label maps are missing, the first of them:\n  {shown}"
        )
    return tasks


def find_reference(
    ruler: Ruler, exam: str, label: Path, settings: Settings, layout: Layout
) -> Path:
    """Say where the label map lies that a ruler judges an exam by."""
    if ruler.kind in ("dataset", "gold", "biased"):
        return label
    if ruler.kind == "predictions":
        assert ruler.regime is not None
        return (
            require(layout.predictions(ruler.regime) / "labels", made_by("predict"))
            / f"{exam}.nii.gz"
        )
    if ruler.kind == "truth":
        truth = layout.follow(layout.root / str(settings.dataset.truth))
        return truth / f"{exam}.nii.gz"
    if ruler.kind == "folder" and ruler.folder is not None:
        return Path(ruler.folder) / f"{exam}.nii.gz"
    raise ValueError(
        f"ruler {ruler.name}: kind {ruler.kind!r} is unknown, or its folder is not given"
    )


def score_exams(tasks: list[ScoreTask], processes: int) -> Iterator[pd.DataFrame]:
    """Score exams in parallel, in the order given."""
    with open_pool(processes) as pool:
        yield from track(pool.map(score_exam, tasks, chunksize=8), len(tasks), "scoring")


def score_exam(task: ScoreTask) -> pd.DataFrame:
    """Score one exam in its original geometry."""
    labels, maps = task.structures.values(), task.label_maps
    expert: LabelVolume | None = None
    try:
        prediction, reference = read_pair(
            task.prediction,
            task.reference,
            labels,
            maps.get("prediction"),
            maps.get("reference"),
            trust_grid=task.trust_grid,
        )
        if task.expert is not None:
            meaning = maps.get("expert", ValueMap.of_own(labels))
            expert = read_label(task.expert, stands_for=meaning)
            expert = bring_together(expert, reference, trust_grid=task.trust_grid)
    except ImageError as error:
        raise ImageError(f"exam {task.exam_id}: {error}", error.kind, error.found) from error
    drawn: NDArray[np.integer] = reference.array
    if task.distortion is not None:
        seed = np.random.SeedSequence([task.distortion.seed, *task.exam_id.encode()])
        drawn = distort_label(
            drawn, reference.spacing, task.distortion, np.random.default_rng(seed)
        )
    rows = score_case(
        prediction.array,
        drawn,
        affine=reference.affine,
        structures=task.structures,
        metrics=[*task.audit.metrics, *task.audit.extra_metrics],
        levels_of=task.audit.levels_of,
        min_component_mm3=task.audit.min_component_mm3,
        surface_tolerance_mm=task.audit.surface_tolerance_mm,
        macro=task.audit.macro,
    )
    if expert is not None:
        shared = [
            (name, "shared_error", shared_error(prediction.array, drawn, expert.array, label))
            for name, label in task.structures.items()
        ]
        extra = pd.DataFrame(shared, columns=["structure", "metric", "value"])
        extra["undefined_because"] = pd.array(
            ["nobody_errs" if np.isnan(v) else None for v in extra["value"]], dtype="str"
        )
        rows = pd.concat([rows, extra], ignore_index=True)
    rows.insert(0, "exam_id", task.exam_id)
    rows.insert(1, "provenance", task.provenance)
    return rows


def summarise_macro(scores: pd.DataFrame) -> pd.DataFrame:
    """Summarise every metric of the structures and their mean over exams.

    Mean and SD are over finite values, counted; the median ranks an infinite distance as the worst.
    """
    shown = scores[scores["metric"].isin(METRICS)]
    finite = shown["value"].where(np.isfinite(shown["value"]))
    grouped = finite.groupby([shown["metric"], shown["structure"]], sort=False)
    summary = grouped.agg(["mean", "median", "std", "size", "count"]).rename(columns={"std": "sd"})
    summary["median"] = shown.groupby(["metric", "structure"], sort=False)["value"].median()
    summary["not_finite"] = summary["size"] - summary["count"]
    order = [(m, s) for m in ("dice", "ndsc", "hd95") for s in (MACRO,)] + list(summary.index)
    return summary.loc[list(dict.fromkeys(key for key in order if key in summary.index))]


def _distorted_exams(settings: Settings, cohort: pd.DataFrame) -> set[str]:
    if settings.ruler.kind != "biased":
        return set()
    wanted, groupings = settings.ruler.distortion, settings.attributes.groupings
    if wanted.grouping not in groupings:
        raise ValueError(
            f"ruler biased: grouping {wanted.grouping!r} is not one of {sorted(groupings)}"
        )
    groups = assign_groups(cohort.reset_index(drop=True), groupings[wanted.grouping], groupings)
    if wanted.group not in groups.cat.categories:
        raise ValueError(
            f"ruler biased: group {wanted.group!r} is not one of {list(groups.cat.categories)}"
        )
    return set(groups.index[groups == wanted.group])


def write_scores(
    result: Path, scores: pd.DataFrame, facts: Mapping[str, Any], beyond: pd.DataFrame | None = None
) -> None:
    """Write scores, what has to be told of them, and the scores of exams beyond them, if any."""
    with folder_written_beside(result) as folder:
        write_table(scores, folder / "scores.parquet")
        if beyond is not None:
            write_table(beyond, folder / BEYOND)
        write_json(facts, folder / "summary.json")


if __name__ == "__main__":
    run_stage(
        score,
        (
            "dataset.name",
            "dataset.structures",
            "dataset.truth",
            "regime",
            "ruler",
            "attributes.groupings",
            "audit.metrics",
            "audit.extra_metrics",
            "audit.levels_of",
            "audit.min_component_mm3",
            "audit.ndsc_reference",
            "audit.ndsc_fractions",
            "audit.ndsc_empty",
            "audit.surface_tolerance_mm",
            "audit.macro",
        ),
    )
