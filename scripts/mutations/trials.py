"""One change made and read: what came of it, and whether it passes.

A change passes where every number is as it was; or the command stops with a message that names a file or an exam; or
something is said that was not said of the good table, with numbers that differ or exams that are fewer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from mutations import label_maps, tables
from tworulers.cohort.grouping import GroupingError
from tworulers.cohort.ungrouped import form_groups
from tworulers.ingest.faults import IngestError
from tworulers.ingest.id_rules import simplify
from tworulers.ingest.judged_folders import prepare
from tworulers.ingest.predictions import read_pair
from tworulers.ingest.risk_table import read_risk_table
from tworulers.ingest.score_table import read_score_table
from tworulers.io.images import ImageError
from tworulers.schema.sources import (
    Attributes,
    Grouping,
    Predictions,
    Reference,
    RiskTable,
    ScoreTable,
)

BY_SEX = Attributes(
    "sex", resampling_unit="exam",
    groupings={"sex": Grouping("Sex", "levels", "sex", {"Female": ["Female", "F"], "Male": ["Male", "M"]})},
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What reading said: numbers by exam and name, what was noted, and the message where it stopped."""

    numbers: Mapping[tuple[str, str], object]
    notes: frozenset[str] = frozenset()
    refused: str = ""


def read_scores(path: Path) -> Outcome:
    """Read a table of scores and the groups of its exams."""
    found = read_score_table(ScoreTable(str(path), provenance="gold"), "gold")
    scores = found.scores[found.scores["structure"] != "macro"]
    groups, left_out = form_groups(found.cohort, BY_SEX)
    numbers: dict[tuple[str, str], object] = {
        (str(row.exam_id), f"{row.structure}/{row.metric}"): row.value
        for row in scores.itertuples()
    }
    numbers |= {(str(exam), "sex"): str(group) for exam, group in groups["sex"].items()}
    if "age" in found.cohort:
        ages = zip(found.cohort["exam_id"], found.cohort["age"], strict=True)
        numbers |= {(str(exam), "age"): float(age) for exam, age in ages}
    told = [f"in no group: {row.exam_ids}, {row.value!r}" for row in left_out.itertuples()]
    return Outcome(numbers, frozenset([*found.notes, *told]))


def read_risks(path: Path) -> Outcome:
    """Read a table of risk scores."""
    spec = RiskTable(
        name="r", file=str(path), score="risk", outcome="died", event="yes", unit="pid",
        groups={"sex": "sex"}, low=0, high=1,
    )  # fmt: skip
    found = read_risk_table(spec)
    numbers: dict[tuple[str, str], object] = {}
    for row in found.frame.itertuples():
        numbers |= {
            (str(row.unit_id), "score"): row.score,
            (str(row.unit_id), "outcome"): row.outcome,
            (str(row.unit_id), "sex"): str(row.sex),
        }
    groups = [f"{name}: {n} rows" for name, n in found.groups["sex"].value_counts().items()]
    return Outcome(numbers, frozenset([*found.notes, *groups]))


def read_folders(folder: Path) -> Outcome:
    """Read predictions and references, and count their overlap."""
    given = Predictions(
        name="m",
        folder=str(folder / "p"),
        references={"expert": Reference(str(folder / "r"), "gold")},
        structures=dict(label_maps.STRUCTURES),
    )
    ready = prepare(given, Attributes("none", resampling_unit="exam"), 1)
    (one,) = ready.judges.values()
    numbers: dict[tuple[str, str], object] = {}
    for exam, prediction in one.predictions.items():
        pair = read_pair(prediction, one.references[exam], (1, 2), one.predicted, one.drawn)
        for name, value in label_maps.STRUCTURES.items():
            masks = [volume.array == value for volume in pair]
            total = sum(int(mask.sum()) for mask in masks)
            both = int((masks[0] & masks[1]).sum())
            numbers[exam, name] = 2 * both / total if total else float("nan")
    return Outcome(numbers, frozenset(fault.describe() for fault in ready.notes))


def attempt(read, place: Path) -> Outcome:
    """Read, and take a message to a person as an outcome; anything else is raised."""
    try:
        return read(place)
    except (IngestError, GroupingError, ImageError, ValueError) as error:
        known = type(error) in (IngestError, GroupingError, ImageError)
        if not known and not _is_ours(error):  # an accident of a library, no message
            raise
        return Outcome({}, refused=str(error) or repr(error))


def _is_ours(error: Exception) -> bool:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and "tworulers" in last.tb_frame.f_code.co_filename


def judge(good: Outcome, found: Outcome) -> str:
    """Say what is wrong with an outcome; nothing where it passes."""
    if found.refused:
        named = any(
            word in found.refused for word in ("table.", "e1", "e2", "e3", "/p", "/r", "p/", "r/")
        )
        return "" if named or "Sex" in found.refused else f"names no file: {found.refused[:200]}"
    said = found.notes - good.notes
    fewer = {exam for exam, _ in good.numbers} - {exam for exam, _ in found.numbers}
    other = {
        key
        for key, value in found.numbers.items()
        if key not in good.numbers or not _is_same(good.numbers[key], value)
    }
    gone = {
        key
        for key in good.numbers
        if key not in found.numbers
        and key[0] not in fewer
        and key[1] != "age"  # nothing asks for it
    }
    if other and not said:
        return f"another number without a word: {sorted(other)[:3]}"
    if gone and not said:
        return f"a number is gone without a word: {sorted(gone)[:3]}"
    return ""


def _is_same(first: object, second: object) -> bool:
    if isinstance(first, float) and isinstance(second, float):
        return bool(np.isclose(first, second, atol=5e-4, equal_nan=True))
    return first == second


def try_table(seed: int, folder: Path) -> tuple[str, str, Outcome]:
    """Change a table and read it; return the change, what is wrong, and the outcome."""
    rng = np.random.default_rng([seed, 1])
    made, read = ((tables.make_scores, read_scores), (tables.make_risks, read_risks))[seed % 2]
    good = folder / "table.csv"
    good.write_text(tables.write(made()))
    known = read(good)
    good.unlink()
    path, change = tables.change(made(), rng, folder)
    found = attempt(read, path)
    if change == "lose_zeros":  # a table alone cannot know that its names had zeros
        known, found = (
            replace(
                one,
                numbers={
                    (simplify(exam, ["zeros"]), name): value
                    for (exam, name), value in one.numbers.items()
                },
            )
            for one in (known, found)
        )
    return change, judge(known, found), found


def lay_out(folder: Path) -> None:
    """Write three predictions and their references."""
    for part, shift in (("p", 1), ("r", 0)):
        (folder / part).mkdir(parents=True)
        for exam in ("e1", "e2", "e3"):
            label_maps.save(folder / part / f"{exam}.nii.gz", label_maps.draw_label(shift))


def try_label_maps(seed: int, folder: Path) -> tuple[str, str, Outcome]:
    """Change a label map and read all; return the change, what is wrong, and the outcome."""
    rng = np.random.default_rng([seed, 2])
    lay_out(folder)
    known = read_folders(folder)
    change = label_maps.change(folder / ("p" if rng.random() < 0.5 else "r"), rng)
    found = attempt(read_folders, folder)
    return change, judge(known, found), found


def tabulate(rows: list[tuple[str, str, Outcome]]) -> pd.DataFrame:
    """Count by change how many kept their numbers, were refused, were told, and failed."""
    listed = pd.DataFrame(
        [
            (change, "failed" if wrong else "refused" if found.refused else "read", wrong)
            for change, wrong, found in rows
        ],
        columns=["change", "outcome", "wrong"],
    )
    return listed.pivot_table("wrong", "change", "outcome", "count", fill_value=0)
