"""Predictions made elsewhere, as folders: paired, scored, audited by each reference, and compared."""

import json
import re
from dataclasses import replace
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from tworulers.ingest.faults import IngestError
from tworulers.io.paths import Layout
from tworulers.runner.tracking.record import list_results, read_record
from tworulers.schema.settings import Audit, Paths, Settings
from tworulers.schema.sources import Attributes, Grouping, Predictions, Reference
from tworulers.stages.judge import judge

pytestmark = pytest.mark.usefixtures("unrendered")

EXAMS = [f"e{i:02}" for i in range(20)]
SEX = Grouping("Sex", "levels", "sex", {"F": ["F"], "M": ["M"]}, group_order=["F", "M"])
AFFINE = np.diag([1.0, 1.0, 3.0, 1.0])


def save(path: Path, array: np.ndarray, affine: np.ndarray = AFFINE) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    nib.save(nib.Nifti1Image(array.astype(np.uint8), affine), path)


def draw(width: int) -> np.ndarray:
    label = np.zeros((14, 12, 4), np.uint8)
    label[2 : 2 + width, 2:9, 1:3] = 1
    label[2 : 2 + width, 9:11, 1:3] = 2
    return label


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Expert labels that differ from the predictions by exam, machine labels that hardly do."""
    folder = tmp_path / "data"
    rows = ["scan,sex,age"]
    for i, exam in enumerate(EXAMS):
        prediction = draw(6)
        machine = prediction.copy()
        machine[2, 2, 1] = 0 if i % 2 else 1
        save(folder / "predictions" / f"{exam}.nii.gz", prediction)
        save(folder / "expert" / f"{exam}.nii.gz", draw(6 + i % 5))
        save(folder / "machine" / f"{exam}.nii.gz", machine)
        rows.append(f"{exam},{'FM'[i % 2]},{30 + i}")
    (folder / "exams.csv").write_text("\n".join(rows))
    for name in ("plans.json", "e00.npz", "e00.pkl"):
        (folder / "predictions" / name).write_bytes(b"?")
    return folder


def settings_of(data: Path, **more: object) -> Settings:
    given = Predictions(
        name="theirs",
        folder=str(data / "predictions"),
        references={
            "machine": Reference(str(data / "machine"), "silver"),
            "expert": Reference(str(data / "expert"), "gold", "the expert's labels"),
        },
        structures={"vb": 1, "disc": 2},
        cohort=str(data / "exams.csv"),
        cohort_columns={"exam_id": "scan"},
    )
    audit = Audit("test", thresholds={"dice": 0.8}, bootstrap_draws=50, permutations=20)
    return Settings(
        attributes=Attributes("sexes", resampling_unit="exam", groupings={"sex": SEX}),
        audit=replace(audit, metrics=["dice"], power_draws=20, linear=False),
        predictions=replace(given, **more),  # type: ignore[arg-type]
        paths=Paths("repro"),
        processes=1,
    )


def run(settings: Settings, project: Path) -> Path:
    return judge(settings, Layout.of(settings, project))[0]


def test_every_reference_is_scored_audited_and_compared(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run(settings_of(data), tmp_path)
    assert folder == tmp_path / "artifacts/judged/theirs"
    summary = json.loads((folder / "summary.json").read_text())["references"]
    assert list(summary) == ["expert", "machine"]
    assert summary["expert"]["status"] == "compared with"
    assert summary["machine"]["status"] == "too_close"
    scores = pd.read_parquet(folder / "scores/theirs/expert/scores.parquet")
    dice = scores[(scores["metric"] == "dice") & (scores["structure"] == "vb")]
    wanted = [2 * 6 / (6 + 6 + i % 5) for i in range(20)]
    assert dice.sort_values("exam_id")["value"].tolist() == pytest.approx(wanted)
    assert (scores["provenance"] == "gold").all()
    # no sentence is made of a reference that repeats the predictions
    assert pd.read_parquet(folder / "audits/theirs/machine/sentences.parquet").empty
    assert len(pd.read_parquet(folder / "audits/theirs/expert/sentences.parquet")) == 1
    closeness = pd.read_parquet(
        folder / "comparisons/rulers/theirs/expert_machine/closeness.parquet"
    ).set_index("structure")
    # the machine's labels were scored by the expert's too, so their own errors are known
    assert closeness.loc["macro", "ruler_expert"] < 0.95
    assert "unknown" not in closeness.loc["macro", "note"]
    assert (folder / "report/index.html").is_file()
    said = capsys.readouterr().out
    assert "reference machine is too close to the predictions" in said
    assert "it is too close to the model" in said
    assert "artifacts/judged/theirs/report/index.html" in said.splitlines()[-1]
    page = (folder / "report/index.html").read_text()
    assert "config.yaml of the result holds what it read" in page
    stages = [read_record(place).stage for place in list_results(folder)]
    assert sorted(stages) == ["audit", "audit", "compare", "score", "score"]


def test_gaps_are_refused_or_told(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "predictions/e03.nii.gz").unlink()
    save(data / "predictions/x.nii.gz", draw(6))
    with pytest.raises(IngestError, match=r"(?s)e03.*found none.*to score 19 of 20 cases.*") as e:
        run(settings_of(data), tmp_path)
    assert {fault.exam for fault in e.value.faults} == {"e03", "x"}
    folder = run(settings_of(data, incomplete=True), tmp_path)
    expert = json.loads((folder / "summary.json").read_text())["references"]["expert"]
    assert (expert["share"], expert["without_reference"]) == ("19 of 20 cases", 1)
    pairing = json.loads((folder / "pairing.json").read_text())["references"]["expert"]
    assert (pairing["without_reference"], pairing["missing_predictions"]) == (["x"], ["e03"])
    assert "scored without it: 19 of 20 cases" in capsys.readouterr().out


def test_identical_references_and_none_but_them_make_no_verdict(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = {"same": Reference(str(data / "predictions"), "gold")}
    folder = run(settings_of(data, references=same), tmp_path)
    said = capsys.readouterr().out
    assert "same is the predictions themselves, voxel by voxel in all exams (20 byte by" in said
    assert "no verdict, no page" in said
    assert not (folder / "report").exists()


def test_references_over_other_exams_are_compared_over_the_common_ones(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for exam in EXAMS[12:]:
        (data / "expert" / f"{exam}.nii.gz").unlink()
    folder = run(settings_of(data), tmp_path)
    assert (
        "compared over the 12 exams that both judged; 8 of the 20 exams of machine left out"
        in capsys.readouterr().out
    )
    found = pd.read_parquet(
        folder / "comparisons/rulers/theirs/expert_machine/inflation.parquet"
    ).set_index("structure")
    assert found.loc["macro", "n"] == 12
    headline = json.loads((folder / "report/summary.json").read_text())
    assert "12 exams of 12 patients" in headline["question"]
    assert "12 exams that both judged; 8 more of machine left out" in str(headline)
    page = (folder / "report/index.html").read_text()
    groups = re.sub(r'href="data:[^"]*"', "", page)  # tables to download hold every audit
    assert "(n 10)" not in groups.split("Every audit")[0]
    for ruler in ("expert", "machine"):
        audit = (
            folder / "comparisons/rulers/theirs/expert_machine/common" / ruler / "groups.parquet"
        )
        assert pd.read_parquet(audit).groupby("structure")["n"].sum().eq(12).all()


def test_label_sets_of_other_tools_and_names_with_more_than_the_exam(
    data: Path, tmp_path: Path
) -> None:
    for exam in EXAMS:
        foreign = np.array([0, 27, 50], np.uint8)[draw(6)]
        foreign[0, 0, 0] = 90
        save(data / "total" / f"{exam}_seg.nii.gz", foreign)
        save(data / "total" / f"{exam}_ct.nii.gz", draw(1))
    maps = {"vb": ["26-49"], "disc": ["50"], "background": ["*"]}
    more = {"folder": str(data / "total"), "pattern": "{exam}_seg", "label_map": maps}
    run(settings_of(data, **more), tmp_path)
    scores = pd.read_parquet(
        tmp_path / "artifacts/judged/theirs/scores/theirs/expert/scores.parquet"
    )
    disc = scores[(scores["metric"] == "dice") & (scores["structure"] == "disc")]
    assert disc["value"].iloc[0] == 1
    unnamed = {"vb": ["26-49"], "disc": ["50"]}
    with pytest.raises(ValueError, match=r"e00.*\{90: 1\}"):
        run(settings_of(data, **{**more, "label_map": unnamed}), tmp_path)


def test_grids_that_no_turn_brings_together_are_listed_before_anything_is_scored(
    data: Path, tmp_path: Path
) -> None:
    moved = AFFINE.copy()
    moved[0, 3] = 40
    save(data / "predictions/e01.nii.gz", draw(6), moved)
    save(data / "predictions/e02.nii.gz", draw(6)[:, :, :3])
    with pytest.raises(IngestError) as e:
        run(settings_of(data), tmp_path)
    assert {fault.exam for fault in e.value.faults} == {"e01", "e02"}
    assert "origins 40 mm apart" in str(e.value)
    assert not (tmp_path / "artifacts").exists()


def test_what_is_not_given_is_named(tmp_path: Path) -> None:
    settings = Settings(predictions=Predictions(name="a b"), paths=Paths("repro"))
    with pytest.raises(ValueError, match=r"folder.*references.*plain word"):
        judge(settings, Layout(tmp_path, tmp_path, tmp_path))


def test_a_misspelt_metric_is_refused_before_anything_is_scored(data: Path, tmp_path: Path) -> None:
    settings = settings_of(data)
    settings.audit = replace(settings.audit, metrics=["dcie"])
    with pytest.raises(ValueError, match=r"no metric is called 'dcie' \(did you mean 'dice'\?\)"):
        run(settings, tmp_path)
    assert not (tmp_path / "artifacts").exists()
