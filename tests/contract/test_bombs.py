"""Small files that ask for much memory or time end in one message that names them."""

import gzip
import json
import os
import struct
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest

from command import ROOT, Project
from tworulers.runner.graph.table import Wiring
from tworulers.runner.run import run_stage

MOST_MB = 500


def write_zeros(path: Path, shape: tuple[int, ...], voxels: int) -> None:
    """Write a label map whose header tells of a shape and whose file holds some zeros."""
    path.parent.mkdir(parents=True, exist_ok=True)
    header = nib.Nifti1Image(np.zeros((1, 1, 1), np.uint8), np.eye(4)).header
    header.set_data_shape(shape)
    header["vox_offset"], header["magic"] = 352, b"n+1"
    with gzip.open(path, "wb") as stream:
        stream.write(header.binaryblock + bytes(4))
        for start in range(0, voxels, 1 << 20):
            stream.write(bytes(min(1 << 20, voxels - start)))


def write_huge_nifti2(path: Path) -> None:
    """Write a NIfTI-2 file of a few bytes whose header tells of 100,000 voxels along each axis."""
    path.parent.mkdir(parents=True, exist_ok=True)
    header = nib.Nifti2Image(np.zeros((1, 1, 1), np.uint8), np.eye(4)).header
    header["magic"] = b"n+2\0\r\n\x1a\n"
    block = bytearray(header.binaryblock)
    struct.pack_into("<8q", block, 16, 3, *(100_000,) * 3, 1, 1, 1, 1)
    with gzip.open(path, "wb") as stream:
        stream.write(bytes(block) + bytes(4))


def run_within_limits(project: Project, *commands: list[str]) -> list[dict[str, Any]]:
    script = Path(__file__).with_name("within_limits.py")
    environment = {
        **os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}",
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(script), str(project.folder), json.dumps(commands)],
        env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    outcomes: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return outcomes


def judge(name: str, folder: Path) -> list[str]:
    return [
        "judge", f"predictions.name={name}", f"predictions.folder={folder}", "processes=1",
        f"+predictions.references={{expert: {{folder: {folder}, provenance: gold}}}}",
        "+predictions.structures={one: 1}", "attributes=none", "tracking=off",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("bombs")
    project = Project.at(folder / "project")
    rows = "".join(f"{i},{i % 2},0.{i % 97:02},mrn{i}\n" for i in range(400))
    (folder / "risk.csv").write_text("unit,died,risk,mrn\n" + rows)
    wide = ",".join(["exam_id", "dice", *(f"x{i}" for i in range(200_000))])
    (folder / "wide.csv").write_text(f"{wide}\n" + "1," * (wide.count(",")) + "1\n")
    write_huge_nifti2(folder / "two" / "huge.nii.gz")
    write_zeros(folder / "one" / "large.nii.gz", (1600, 1600, 1000), 1000)
    write_zeros(folder / "raw" / "imagesTr" / "a_0000.nii.gz", (4, 4, 4), 64)
    write_zeros(folder / "raw" / "labelsTr" / "a.nii.gz", (4, 4, 4), 64)
    (folder / "raw" / "dataset.json").write_text(
        '{"labels": {"background": 0, "disc": 1}, "channel_names": {"0": "MRI"}, "numTraining": 1,'
        ' "file_ending": ".nii.gz"}'
    )
    people = "".join(f"{i:08},F\n" for i in range(20_000))
    (folder / "people.csv").write_text("exam_id,sex\n" + people)
    (folder / "deep").mkdir()
    (folder / "deep" / "dataset.json").write_text("[" * 200_000)
    commands = {
        "groups": [
            "risk", "risk=table", f"risk.file={folder / 'risk.csv'}", "risk.score=risk", "risk.outcome=died",
            "risk.event='1'", "risk.unit=unit", "+risk.groups.sex=mrn", "tracking=off",
        ],
        "columns": ["audit", f"scores.file={folder / 'wide.csv'}", "scores.provenance=gold", "tracking=off"],
        "nifti2": judge("two", folder / "two"),
        "nifti1": judge("one", folder / "one"),
        "people": [
            "cohort", "dataset=nnunet", f"dataset.root={folder / 'raw'}", "dataset.structures={disc: 1}",
            f"dataset.reading.table={folder / 'people.csv'}", "attributes=none", "tracking=off", "processes=1",
        ],
        "json": ["check", "dataset=nnunet", f"dataset.root={folder / 'deep'}", "tracking=off", "processes=1"],
    }  # fmt: skip
    return dict(zip(commands, run_within_limits(project, *commands.values()), strict=True))


@pytest.mark.parametrize(
    ("bomb", "words"),
    [
        ("groups", ["risk.csv", "at most 50 groups in grouping 'sex'", "400 values in column 'mrn'", "is this the"]),
        ("columns", ["wide.csv", "at most 2000 columns", "200002"]),
        ("nifti2", ["huge.nii.gz", "1,000,000,000,000,000 voxels by its header", "TWORULERS_MAX_VOXELS"]),
        ("nifti1", ["large.nii.gz", "2,560,000,000 voxels by its header"]),
        ("people", ["people.csv", "found none of 1 in 20000 rows", "is this the column of exam_id?"]),
        ("json", ["dataset.json", "expected JSON"]),
    ],
)  # fmt: skip
def test_a_bomb_ends_in_one_message(
    outcomes: dict[str, dict[str, Any]], bomb: str, words: list[str]
) -> None:
    found = outcomes[bomb]
    assert found["status"] == 1
    assert "Traceback" not in found["said"]
    for word in words:
        assert word in found["said"]
    assert found["most_mb"] < MOST_MB


@pytest.mark.slow
def test_a_file_of_zeros_takes_few_bytes_a_voxel(tmp_path: Path) -> None:
    project = Project.at(tmp_path / "project")
    for name in ("prediction", "reference"):
        write_zeros(tmp_path / name / "a.nii.gz", (420, 420, 420), 420**3)
    command = judge("zeros", tmp_path / "prediction")
    command[4] = (
        f"+predictions.references={{expert: {{folder: {tmp_path / 'reference'}, provenance: gold}}}}"
    )
    (found,) = run_within_limits(project, command)
    assert "Traceback" not in found["said"]
    assert found["most_mb"] < MOST_MB


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError("Unable to allocate 11.9 GiB"), "memory ran out: Unable to allocate 11.9 GiB"),
        (RecursionError("maximum recursion depth exceeded"), "nested too deeply"),
        (BrokenProcessPool("a process was terminated"), "give processes=1"),
    ],
)
def test_a_stage_that_asks_for_too_much_ends_in_one_message(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    words: str,
) -> None:
    def ask(settings: Any, layout: Any) -> None:
        raise error

    monkeypatch.chdir(Project.at(tmp_path / "project").folder)
    monkeypatch.setattr(sys, "argv", ["ask.py", "tracking=off"])
    with pytest.raises(SystemExit) as ended:
        run_stage(ask, Wiring(reads=("audit",)))
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said
