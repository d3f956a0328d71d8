"""Label maps in, scores out: one row an exam, structure and metric, by exams side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tworulers.ingest.predictions import bring_together, read_pair
from tworulers.io.images import ImageError, LabelVolume
from tworulers.io.label_maps import read_label
from tworulers.io.label_values import ValueMap
from tworulers.io.pool import map_in_pool
from tworulers.metrics.agreement import SHARED_ERROR, shared_error
from tworulers.metrics.asked import list_asked
from tworulers.metrics.case import find_boxes, score_case
from tworulers.metrics.known.dice import DICE
from tworulers.metrics.known.ndsc import NDSC, average_references
from tworulers.metrics.registry import METRICS
from tworulers.metrics.sets import add_set_metrics, spread_counts
from tworulers.rulers.kinds import Change
from tworulers.schema.metric import Metric
from tworulers.schema.settings import Audit
from tworulers.schema.table_models import Scores, check_table
from tworulers.schema.view import change_settings


@dataclass(frozen=True)
class ScoreTask:
    """One exam to score: where its prediction, its reference and, if another drew that, its expert label lie.

    `label_maps` say for `prediction`, `reference` and `expert` what every stored value stands for; without an entry the
    values are the structures' own. `change` is done to the reference first.
    """

    exam_id: str
    provenance: str
    prediction: Path
    reference: Path
    expert: Path | None
    structures: dict[str, int]
    audit: Audit
    change: Change | None = None
    label_maps: Mapping[str, ValueMap] = field(default_factory=dict)
    trust_grid: bool = False
    """Whether voxels correspond by index whatever the headers say."""
    ignore: int | None = None
    """The value of voxels that nobody annotated, in the reference, the expert's and the exam's own label map."""
    own: Path | None = None
    """The exam's own label map: what is not annotated in it no ruler judges, so that all judge the same voxels."""

    @property
    def meaning(self) -> ValueMap:
        """What the values of a label map stand for that may hold voxels without annotation."""
        ignored = [] if self.ignore is None else [self.ignore]
        return ValueMap.of_own([*self.structures.values(), *ignored])


def score_exams(tasks: Sequence[ScoreTask], processes: int) -> pd.DataFrame:
    """Score exams side by side, in the order given.

    Parameters
    ----------
    tasks : the exams; at least one.
    processes : how many work side by side.

    Raises
    ------
    FileNotFoundError : label maps are missing; names the first of them.
    ImageError : a label map cannot be used; names the exam.
    """
    paths = [path for task in tasks for path in (task.prediction, task.reference)]
    absent = [str(path) for path in paths if not path.exists()]
    if absent:
        shown = "\n  ".join(absent[:10])
        raise FileNotFoundError(
            f"{len(absent)} label maps are missing, the first of them:\n  {shown}"
        )
    return pd.concat(map_in_pool(score_exam, tasks, processes, "scoring"), ignore_index=True)


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
            maps.get("reference", task.meaning),
            trust_grid=task.trust_grid,
        )
        if task.expert is not None:
            expert = read_label(task.expert, stands_for=maps.get("expert", task.meaning))
            expert = bring_together(expert, reference, trust_grid=task.trust_grid)
        unseen = find_unseen(task, reference, prediction, expert)
    except ImageError as error:
        raise ImageError(f"exam {task.exam_id}: {error}", error.kind, error.found) from error
    drawn: NDArray[np.integer] = _blank(reference.array, unseen)
    if task.change is not None:
        drawn = task.change(drawn, reference.spacing)
    rows = score_case(
        prediction.array,
        drawn,
        affine=reference.affine,
        structures=task.structures,
        metrics=list(pick_metrics(task.audit).values()),
        settings=task.audit,
        unseen=unseen,
    )
    if expert is not None:
        arrays = (prediction.array, drawn, expert.array)
        found, made, true = (_blank(one, unseen) for one in arrays)
        boxes = find_boxes((found, made, true), list(labels))
        shared = [
            (name, SHARED_ERROR, shared_error(found[box], made[box], true[box], label))
            for (name, label), box in zip(task.structures.items(), boxes, strict=True)
        ]
        extra = pd.DataFrame(shared, columns=["structure", "metric", "value"])
        extra["undefined_because"] = pd.array(
            ["nobody_errs" if np.isnan(v) else None for v in extra["value"]], dtype="str"
        )
        rows = pd.concat([rows, extra], ignore_index=True)
    rows.insert(0, "exam_id", task.exam_id)
    rows.insert(1, "provenance", task.provenance)
    return rows


def find_unseen(
    task: ScoreTask, reference: LabelVolume, *others: LabelVolume | None
) -> NDArray[np.bool_] | None:
    """Find the voxels of an exam that are not annotated in any of its label maps, its own included.

    Raises
    ------
    ImageError : the own label map cannot be used.
    """
    if task.ignore is None:
        return None
    unseen: NDArray[np.bool_] = reference.array == task.ignore
    for other in others:
        if other is not None:
            unseen |= other.array == task.ignore
    if task.own is not None and task.own != task.reference:
        own = read_label(task.own, stands_for=task.meaning)
        unseen |= bring_together(own, reference, trust_grid=task.trust_grid).array == task.ignore
    return unseen


def _blank(array: NDArray[Any], unseen: NDArray[np.bool_] | None) -> NDArray[Any]:
    return array if unseen is None else np.where(unseen, array.dtype.type(0), array)


def finish_scores(
    rows: pd.DataFrame, audit: Audit, regime: str, ruler: str
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Add the metrics that need all exams, say whose scores they are, and return what has to be told of them."""
    asked = pick_metrics(audit)
    rows = add_set_metrics(rows, list(asked.values()), audit)
    facts: dict[str, Any] = {}
    if NDSC.name in asked:
        averages = average_references(spread_counts(rows), audit)
        facts["ndsc_reference"] = {"reading": audit.ndsc_reference, "averages": averages}
    rows = rows.assign(regime=regime, ruler=ruler)[list(Scores.to_schema().columns)]
    return check_table(rows, Scores, "scores"), facts


def pick_metrics(audit: Audit) -> dict[str, Metric]:
    """Return by name the metrics that are asked for, in the order in which they are shown."""
    return {name: METRICS[name] for name in list_asked(audit)}


def dice_alone(audit: Audit) -> Audit:
    """Ask for Dice alone, for label maps that are held against each other rather than audited."""
    return change_settings(audit, metrics=[DICE.name], extra_metrics=[], levels_of=None)
