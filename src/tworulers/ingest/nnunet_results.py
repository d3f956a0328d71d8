"""The scores that a folder of nnU-Net's results holds: `summary.json` of a validation or test, of a fold or of all."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tworulers.ingest.dataset_json import read_dataset_json
from tworulers.ingest.faults import IngestError, refuse, table_fault
from tworulers.io.image_names import stem_of

SUMMARY = "summary.json"
_PLACES = (SUMMARY, f"validation/{SUMMARY}", f"fold_*/validation/{SUMMARY}", f"fold_*/{SUMMARY}")
_ABOVE = 4
"""Folders above a summary in which its `dataset.json` is looked for."""


def list_summaries(path: Path) -> list[Path]:
    """List the summaries of a results folder: its own, else its validation's, else those of its folds."""
    if not path.is_dir():
        return [path] if path.suffix.casefold() == ".json" and path.is_file() else []
    found = ([one for one in sorted(path.glob(place)) if one.is_file()] for place in _PLACES)
    return next((summaries for summaries in found if summaries), [])


def read_summaries(path: Path, notes: list[str]) -> pd.DataFrame:
    """Read the Dice of every exam and structure, as text.

    Structures are called as the `dataset.json` in the folder or above it calls them, else after their values.

    Parameters
    ----------
    path : a results folder, or one `summary.json`.
    notes : is added to, a sentence on what was read.

    Returns
    -------
    One row an exam: `exam_id`, and a column `dice_<structure>` each; empty where both label maps are.

    Raises
    ------
    IngestError : there is no summary, or one without scores an exam.
    """
    summaries = list_summaries(path)
    if not summaries:
        expected = f"a table, or a folder of nnU-Net's results with {SUMMARY}"
        mend = "name the folder of a fold, of a trainer, or of predictions that were evaluated"
        refuse(table_fault(path, expected, f"no {SUMMARY}", mend))
    rows = [row for summary in summaries for row in _read_cases(summary)]
    names = {key: name for summary in summaries for key, name in _name_structures(summary).items()}
    frame = pd.DataFrame(rows, dtype="str").fillna("")
    keys = [str(key) for key in frame if key != "exam_id"]
    labels = {key: names.get(key, f"label_{key}") for key in keys}
    of = f" of {len(summaries)} folds" if len(summaries) > 1 else ""
    notes.append(
        f"{path.name}: the Dice of {len(frame)} exams is read from {summaries[0].relative_to(path.parent)}{of}"
    )
    return frame.rename(columns={key: f"dice_{name}" for key, name in labels.items()})


def _read_cases(path: Path) -> Iterator[dict[str, str]]:
    """Yield the exam and the Dice of each structure of every case, by the value of the structure."""
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8-sig"))
        cases = (
            content["metric_per_case"]
            if "metric_per_case" in content
            else content["results"]["all"]
        )
        for case in cases:
            metrics: Mapping[str, Any] = case.get("metrics", case)
            file = str(case.get("prediction_file") or case["test"])
            scores = {
                _write_key(key): _write_score(values["Dice"])
                for key, values in metrics.items()
                if isinstance(values, dict) and "Dice" in values and key != "0"
            }
            yield {"exam_id": stem_of(Path(file.replace("\\", "/"))), **scores}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        found = f"{type(error).__name__} {error}"
        expected, mend = "scores of every exam, as nnU-Net writes them", "evaluate it again"
        raise IngestError([table_fault(path, expected, found, mend)]) from error


def _write_key(key: str) -> str:
    """Write a label, or the labels of a region such as `(1, 2)`, as one word."""
    return "_".join(part for part in key.strip("()[] ").replace(",", " ").split())


def _write_score(value: object) -> str:
    """Write a score; nnU-Net has no number where both label maps are empty."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value)


def _name_structures(path: Path) -> dict[str, str]:
    """Return the names of structures by their values, as the nearest `dataset.json` declares them."""
    for folder in list(path.absolute().parents)[:_ABOVE]:
        file = folder / "dataset.json"
        if not file.is_file():
            continue
        regions = {
            "_".join(map(str, values)): str(name)
            for name, values in json.loads(file.read_text(encoding="utf-8-sig"))["labels"].items()
            if isinstance(values, list)
        }
        declared = read_dataset_json(folder).structures
        return {str(value): name for name, value in declared.items()} | regions
    return {}
