"""Open cases typed as a person types them, told by what lies in their folders: a new case joins by its folder.

A command ends well, with the numbers that are expected, or with one message that names what it is about. What a case
asks beyond that is tried where its subject is tested. Cases that no command reads as they lie are listed.
"""

import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from command import ROOT, Project, Typed

pytestmark = [pytest.mark.needs_shared, pytest.mark.slow]

Case = dict[str, Any]
CASES = sorted(
    Path(os.environ.get("TWORULERS_SHARED", ROOT.parent / "shared")).glob("cases/*/case.json")
)
QUICK = ("tracking=off", "processes=1")
FEW = (*QUICK, "audit=quick", "audit.linear=false", "audit.power_draws=0", "audit.min_group=2")

THROUGH_PYTHON = {
    "25-age-spellings": "a table of people alone",
    "29-leaky-splits": "a file of folds alone",
    "30-provenance-undecidable": "tables without their images",
    "49-fdr-with-undefined-tests": "a column of p",
    "64-mlflow-names": "names of metrics alone",
    "66-hydra-quoting": "single settings",
    "72-tiny-volume-patch": "a network is trained",
    "74-few-patients-folds": "a network is trained",
    "76-resume-equals-uninterrupted": "a network is trained",
}
"""Cases that no command reads as they lie, and what they are instead."""


def list_commands(folder: Path, inputs: Case) -> Iterator[list[str]]:
    """List the commands that a person types for the files of a case."""
    for part in (inputs, *(part for part in inputs.values() if isinstance(part, dict))):
        if "prediction" in part and ("reference" in part or "references" in part):
            yield write_judge(folder, {**inputs, **part})
    if (folder / "dataset.json").is_file():
        declared = json.loads((folder / "dataset.json").read_text())
        layout = "decathlon" if "training" in declared else "nnunet"
        yield ["cohort", f"dataset={layout}" if layout == "nnunet" else "dataset=hippocampus", f"dataset.root={folder}",
               "dataset.structures={}", "attributes=none", *QUICK]  # fmt: skip
    elif (folder / "annotation").is_dir():
        yield ["cohort", "dataset=cspineseg", f"dataset.root={folder}", "attributes=none", *QUICK]
    if "risk" in inputs or "outcome" in inputs:
        for table in inputs.get("tables", [inputs.get("risk")]):
            yield write_risk(folder, inputs, table)
    elif "scores" in inputs:
        yield write_audit(folder, inputs, inputs["scores"])
    yield from (
        write_audit(folder, inputs, inputs[key]) for key in ("first", "second") if key in inputs
    )
    for gold, silver in inputs.get("pairs", []):
        yield ["compare", "--scores", f"gold:{folder / gold}", "--scores", f"silver:{folder / silver}",
               "--by", inputs["group"], *FEW]  # fmt: skip


def write_judge(folder: Path, inputs: Case) -> list[str]:
    references = inputs.get("references") or {"expert": inputs["reference"]}
    structures = inputs.get("structures") or {
        f"class{value}": value for value in inputs.get("classes", [1, 2])
    }
    listed = ",".join(f"{name}={value}" for name, value in structures.items())
    words = [
        "judge",
        "--predictions",
        str(folder / inputs["prediction"]),
        "--structures",
        listed,
        "--incomplete",
    ]
    for name, place in references.items():
        words += [
            "--reference",
            f"{name}={'silver' if name == 'machine' else 'gold'}:{folder / place}",
        ]
    if "exams" in inputs:
        return [*words, "--table", str(folder / inputs["exams"]), "--by", inputs["group"], *FEW]
    return [*words, "--by", "none", *FEW]


def write_audit(folder: Path, inputs: Case, table: str) -> list[str]:
    people = ["--table", str(folder / inputs["demographics"])] if "demographics" in inputs else []
    head = pd.read_csv(folder / table, dtype=str, nrows=5).columns
    key = ["--columns", "exam_id=case_id"] if "case_id" in head and "exam_id" not in head else []
    group = inputs.get("group", "sex")
    return ["audit", "--scores", f"gold:{folder / table}", *people, *key, "--by", group, *FEW]


TOLD = {"62-auc-sentinel-and-text-outcome": ["risk.low=0", "risk.high=1"]}
"""What whoever types the command of a case knows of its table."""


def write_risk(folder: Path, inputs: Case, table: str) -> list[str]:
    head = list(
        pd.read_csv(folder / table, sep=None, engine="python", encoding="latin-1", nrows=5).columns
    )
    named = {
        key: inputs.get(key) or next((name for name in head if name in likely), "")
        for key, likely in (("score", {"risk", "score"}), ("outcome", {"outcome", "died", "event"}),
                            ("group", {"group", "sex", "gender"}))
    }  # fmt: skip
    event = inputs.get("event", "1")
    event = event[table] if isinstance(event, dict) else event
    return ["risk", "--table", str(folder / table), "--score", named["score"], "--outcome", named["outcome"],
            "--event", str(event), "--by", named["group"], "use.bootstrap_draws=50",
            *TOLD.get(folder.name, []), *QUICK]  # fmt: skip


def check_message(done: Typed, folder: Path) -> None:
    """A refusal is one message, which names a file, an exam or a column of the case."""
    assert "Traceback" not in done.err
    assert done.err.count("error: ") == 1, done.err
    names = {path.name for path in folder.rglob("*")} | {
        path.name.split(".")[0] for path in folder.rglob("*.nii.gz")
    }
    columns = [
        re.split(r"[,;\t]", path.read_text("latin-1").splitlines()[0])
        for path in folder.glob("*.csv")
    ]
    assert any(
        name in done.err for name in names | {name for head in columns for name in head if name}
    ), done.err


def check_numbers(project: Project, expected: Case, tolerance: float) -> int:
    """Compare what was written with every number of the case that has a known name; return how many there were."""
    found = 0
    for path in project.folder.glob("artifacts/judged/*/scores/*/*/scores.parquet"):
        scores = pd.read_parquet(path).set_index(["exam_id", "structure", "metric"])["value"]
        for exam, structure, metric, value in list_scores(expected):
            if (exam, structure, metric) in scores:
                compare(scores[exam, structure, metric], value, tolerance)
                found += 1
    for path in project.folder.rglob("cohort.parquet"):
        exams = pd.read_parquet(path)["exam_id"].tolist()
        for key in ("accepted", "case_ids", "cases", "paired", "accepted_at_least"):
            assert set(expected.get(key, [])) <= set(exams)
            found += key in expected
        for key in ("flagged", "image_without_label", "label_without_image"):
            assert not set(expected.get(key, [])) & set(exams)
    for path in project.folder.rglob("groups.parquet"):
        groups = pd.read_parquet(path)
        for key, column in (("n", "n"), ("groups", "n"), ("mean_dice", "mean")):
            wanted = expected.get(key, {})
            mine = (
                groups[groups["metric"] == "dice"]
                .drop_duplicates("group")
                .set_index("group")[column]
            )
            for group in set(wanted) & set(mine.index):
                compare(mine[group], wanted[group], tolerance)
                found += 1
    for path in project.folder.rglob("cells.parquet"):
        cells = pd.read_parquet(path).set_index(["events_of", "non_events_of"])["auc"]
        pairs = {f"events {a} vs non-events {b}": (a, b) for a, b in cells.index}
        wanted = expected.get("matrix", {}) | {
            f"events {name} vs non-events {name}": value
            for name, value in expected.get("within", {}).items()
        }
        assert set(wanted) <= set(pairs)
        for name, value in wanted.items():
            compare(cells[pairs[name]], value, tolerance)
            found += 1
    return found


def list_scores(expected: Case) -> Iterator[tuple[str, str, str, float | None]]:
    """List the scores that a case expects, by exam, structure and metric."""
    for key, metric in (
        ("dice", "dice"),
        ("dice_if_voxels_correspond", "dice"),
        ("hd95_mm", "hd95"),
    ):
        wanted = expected.get(key)
        for exam, value in wanted.items() if isinstance(wanted, dict) else ():
            for name, one in value.items() if isinstance(value, dict) else [("1", value)]:
                yield exam, name if not name.isdigit() else f"class{name}", metric, one


def compare(found: float, wanted: float | None, tolerance: float) -> None:
    if wanted is None:
        assert not math.isfinite(found)
    else:
        assert found == pytest.approx(wanted, abs=tolerance)


@pytest.mark.parametrize("path", [pytest.param(path, id=path.parent.name) for path in CASES])
def test_a_case_is_typed(path: Path, tmp_path: Path) -> None:
    case, folder = json.loads(path.read_text()), path.parent
    commands = list(list_commands(folder, case["inputs"]))
    if not commands:
        assert folder.name in THROUGH_PYTHON, "no command is made of its inputs: list what it is"
        pytest.skip(f"through import tworulers: {THROUGH_PYTHON[folder.name]}")
    for n, command in enumerate(commands):
        project = Project.at(tmp_path / f"project{n}")
        done = project.type(*command)
        assert done.status in (0, 1), done.err
        if done.status:
            check_message(done, folder)
        else:
            check_numbers(project, case["expected_values"], case.get("tolerance") or 1e-6)


def test_what_is_listed_is_there(shared: Path) -> None:
    assert set(THROUGH_PYTHON) <= {
        path.parent.name for path in (shared / "cases").glob("*/case.json")
    }
