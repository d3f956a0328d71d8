"""The command that checks a source: one list, a machine-readable copy, and a status that tells."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "ingest"))
from tiny_sources import STRUCTURES, draw_label, make_nnunet, save

from tworulers.ingest.check import check_source
from tworulers.io.paths import Layout
from tworulers.schema.running import Check
from tworulers.schema.settings import Ruler, Settings, SplitSettings
from tworulers.schema.sources import Attributes, Dataset, Grouping, Reading
from tworulers.stages.check import check

ROOT = Path(__file__).parents[3]


def make_settings(root: Path, **dataset: object) -> Settings:
    content = yaml.safe_load((ROOT / "conf" / "attributes" / "paper.yaml").read_text())
    groupings = {key: Grouping(**value) for key, value in content["groupings"].items()}
    source = Dataset("tiny", source="nnunet", root=str(root), structures=STRUCTURES, **dataset)  # type: ignore[arg-type]
    settings = Settings(dataset=source, attributes=Attributes("paper", groupings=groupings))
    settings.processes = 1
    return settings


def describe(settings: Settings, root: Path, *, notes: bool) -> str:
    faults = check_source(settings, root)[1]
    return "\n".join(fault.describe() for fault in faults if fault.note == notes)


def test_headers_alone_find_geometry_but_not_values(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["a", "b", "c"])
    save(root / "labelsTr" / "a.nii.gz", draw_label()[..., :5])
    save(root / "labelsTr" / "b.nii.gz", draw_label() * 200)
    settings = make_settings(root)
    settings.check = Check("headers")
    assert check_source(settings, tmp_path)[0]["exam_id"].tolist() == ["b", "c"]
    settings.check = Check("full")
    cohort = check_source(settings, tmp_path)[0]
    assert cohort["exam_id"].tolist() == ["c"]
    assert "{144: 32, 200: 72}" in describe(settings, tmp_path, notes=False)


def test_a_leaky_split_beside_the_data_is_a_fault(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["p1_a", "p1_b", "p2_a"])
    folds = [{"train": ["p1_a", "p2_a"], "val": ["p1_b"]}]
    (root / "splits_final.json").write_text(json.dumps(folds))
    settings = make_settings(root, reading=Reading(patient="^(?P<patient>[^_]+)"))
    text = describe(settings, tmp_path, notes=False)
    assert "fold 0: patients p1 are in train and in val" in text
    assert "cases p1_a, p2_a are trained on, but never validated" in text


def test_a_split_of_another_form_is_a_fault(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["a"])
    (tmp_path / "mine.json").write_text('{"train": ["a"]}')
    settings = make_settings(root)
    settings.split = SplitSettings(file="mine.json")
    assert "expected a list of" in describe(settings, tmp_path, notes=False)


def test_small_and_empty_groups_are_notes(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["a", "b", "c"])
    (root / "people.csv").write_text("exam_id,sex\na,F\nb,M\nc,M\n")
    settings = make_settings(root, reading=Reading(table="people.csv"))
    notes = describe(settings, tmp_path, notes=True)
    assert "sex: fewer than 5 exams in {'Female': 1, 'Male': 2}" in notes
    assert "no exam has a group in race_wb, race_wbo" in notes


def test_a_reference_folder_that_is_the_labels_themselves_is_a_fault(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["a", "b"])
    settings = make_settings(root)
    settings.ruler = Ruler("mine", kind="folder", folder=str(root / "labelsTr"))
    assert "equals the prediction in 2 of 2 exams" in describe(settings, tmp_path, notes=False)


def test_everything_is_written_for_machines_and_nothing_below_the_data(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["a", "b"])
    (root / "labelsTr" / "a.nii.gz").write_bytes(b"")
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    layout = Layout(tmp_path, tmp_path / "out", tmp_path / "out")
    with pytest.raises(ValueError, match="1 problem in"):
        check(make_settings(root), layout)
    content = json.loads((layout.check / "check.json").read_text())
    assert content["usable_exams"] == 1
    (fault,) = content["faults"]
    assert (fault["kind"], fault["exam"]) == ("unreadable files", "a")
    assert fault["file"] == "labelsTr/a.nii.gz"
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def test_an_unknown_depth_is_refused(tmp_path: Path) -> None:
    settings = make_settings(tmp_path)
    settings.check = Check("deep")
    with pytest.raises(ValueError, match=r"check.depth must be one of"):
        check(settings, Layout(tmp_path, tmp_path, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize(("damage", "status"), [(False, 0), (True, 1)])
def test_the_command_ends_with_a_status(tmp_path: Path, damage: bool, status: int) -> None:
    root = make_nnunet(tmp_path / "data", ["a", "b"])
    if damage:
        (root / "labelsTr" / "a.nii.gz").write_bytes(b"")
    command = [sys.executable, "-m", "tworulers.stages.check", "dataset=nnunet"]
    command += [f"dataset.root={root}", f"paths.outputs={tmp_path / 'out'}", "check.depth=headers"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == status, done.stderr
    assert ("labelsTr/a.nii.gz" in done.stdout) is damage
