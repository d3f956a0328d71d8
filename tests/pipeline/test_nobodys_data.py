"""What leaves the machine names no person, no place and no secret, and what is passed on singles nobody out."""

import stat
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
import yaml

from command import Project

QUICK = (
    "processes=1",
    "audit.metrics=[dice]",
    "audit.bootstrap_draws=50",
    "audit.permutations=20",
    "audit.power_draws=0",
    "audit.linear=false",
)
SECRETS = ("DOE_", "MRN7", "s3cr3t", "ZZTOP_PLACE", "97")
"""Ids, the folder of the data, a password, and an age above 89."""


def save(path: Path, width: int) -> None:
    label = np.zeros((8, 12, 4), np.int16)
    label[1 : 1 + width, 1:4, 1:3] = 1
    path.parent.mkdir(parents=True, exist_ok=True)
    nib.save(nib.Nifti1Image(label, np.diag([1.0, 1.0, 2.0, 1.0])), path)


def draw_study(folder: Path) -> Path:
    """Write 24 exams of named people, one of whom is old, one between two cut points, and two without race."""
    ages = [*range(20, 50, 3), 50, 52, *range(60, 82, 2), 97]
    rows = ["exam_id,patient_id,sex,age,race"]
    for place, age in enumerate(ages):
        exam = f"DOE_{place:02d}"
        save(folder / "predictions" / f"{exam}.nii.gz", 5)
        save(folder / "expert" / f"{exam}.nii.gz", 3 + place % 4)
        sex, race = "FM"[place % 2], ("W", "B")[place // 11] if place < 22 else ""
        rows.append(f"{exam},MRN7{place:03d},{sex},{age},{race}")
    (folder / "exams.csv").write_text("\n".join(rows))
    return folder


def levels(title: str, column: str, **of: str) -> dict[str, object]:
    return {
        "title": title, "kind": "levels", "column": column,
        "levels": {name: [value] for name, value in of.items()},
    }  # fmt: skip


def cut(title: str, edge: float, low: str, high: str) -> dict[str, object]:
    # An age above 89 is known as such alone.
    return {
        "title": title, "kind": "bins", "column": "age", "edges": [edge], "over_89": high,
        "group_order": [low, high],
    }  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project.at(tmp_path / "project")
    groupings = {
        "sex": levels("Sex", "sex", Female="F", Male="M"),
        "race": levels("QQX race", "race", White="W", Black="B"),
        "at_50": cut("Age at fifty", 50.5, "<50.5", "50.5+"),
        "at_53": cut("Age at fifty-three", 53.5, "<53.5", "53.5+"),
        "tiny": cut("Great age", 86.5, "<86.5", "86.5+"),
    }
    content = {"name": "five", "title": "Five", "groupings": groupings}
    (project.folder / "conf" / "attributes" / "five.yaml").write_text(
        yaml.safe_dump(content, sort_keys=False)
    )
    return project


def judge(project: Project, data: Path, *more: str) -> str:
    done = project.run(
        "judge", "predictions.name=mine", f"predictions.folder={data / 'predictions'}",
        f"+predictions.references={{expert: {{folder: {data / 'expert'}, provenance: gold}}}}",
        "+predictions.structures={disc: 1}", f"predictions.cohort={data / 'exams.csv'}",
        "predictions.incomplete=true", "attributes=five", *QUICK, *more,
    )  # fmt: skip
    assert done.status == 0, done.said
    return done.said


def left(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


def test_nothing_of_a_person_a_place_or_a_secret_is_shown(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = draw_study(tmp_path / "ZZTOP_PLACE")
    (data / "predictions" / "DOE_05.nii.gz").unlink()
    database = project.folder / "mine.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}?password=s3cr3t")
    judge(project, data, "tracking.experiment=mine")
    shown = left(project.folder / "mlruns" / "artifacts") | {"database": database.read_bytes()}
    assert any(name.endswith("report/index.html") for name in shown)
    assert any(name.endswith("groups.csv") for name in shown)
    held_back = ("scores.parquet", "scores.csv", "pairing.json", "config.yaml")
    assert not any(name.endswith(held_back) for name in shown)
    for name, content in shown.items():
        for secret in SECRETS[:-1]:
            assert secret.encode() not in content, f"{secret} in {name}"
    for name, content in left(project.folder / "artifacts").items():
        assert b"s3cr3t" not in content, name
    for path in (project.folder / "artifacts").rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


@pytest.mark.slow
def test_what_is_passed_on_singles_nobody_out(project: Project, tmp_path: Path) -> None:
    data = draw_study(tmp_path / "study")
    said = judge(project, data, "report.shared=true", "tracking=local")
    assert "warning" not in said
    report = next((project.folder / "artifacts").rglob("report"))
    pages = left(report) | left(project.folder / "mlruns" / "artifacts")
    pages = {name: content for name, content in pages.items() if not name.endswith("run.json")}
    text = pages["index.html"].decode()
    assert "Not shown, since fewer than 5 exams would be singled out" in text
    assert "this page again" in text
    assert "config.yaml" not in text
    for title in ("QQX race", "Age at fifty-three", "Great age"):
        assert title in text
    for name, content in pages.items():
        cuts = [sign.format(edge) for edge in ("86.5", "53.5") for sign in ("<{}", "&lt;{}", "{}+")]
        for told in (*cuts, "White", *SECRETS[:2]):
            assert told.encode() not in content, f"{told!r} in {name}"
    assert "Age at fifty" in text
    assert "50.5+" in text
    # Marks, one an exam, are a collection of paths: the figure of scores by group has boxes alone.
    drawn = next(
        content
        for name, content in pages.items()
        if "two_rulers_" in name and name.endswith(".svg")
    )
    assert b"PathCollection" not in drawn
    assert not any("inflation_" in name for name in pages)
    with pytest.raises(StopIteration):
        next((project.folder / "mlruns").rglob("groups.parquet"))


@pytest.mark.slow
def test_what_was_made_otherwise_is_not_passed_on_later(project: Project, tmp_path: Path) -> None:
    data = draw_study(tmp_path / "study")
    judge(project, data, "tracking=off")
    folder = "tracking.folder=artifacts/judged/mine"
    refused = project.run("publish", folder, "report.shared=true")
    assert refused.status == 1
    assert "made to be passed on" in refused.said
    judge(project, data, "tracking=off", "report.shared=true", "predictions.name=told")
    done = project.run("publish", "tracking.folder=artifacts/judged/told")
    assert done.status == 0, done.said
    assert "1 results are in MLflow" in done.said
    shown = left(project.folder / "mlruns" / "artifacts")
    assert {name.rpartition(".")[2] for name in shown} == {"html", "svg", "png", "txt"}


@pytest.mark.slow
def test_two_rulers_that_differ_by_few_exams_are_not_passed_on(
    project: Project, tmp_path: Path
) -> None:
    data = draw_study(tmp_path / "study")
    for place in range(23):
        save(data / "machine" / f"DOE_{place:02d}.nii.gz", 2 + place % 5)
    machine = f"machine: {{folder: {data / 'machine'}, provenance: silver}}"
    expert = f"expert: {{folder: {data / 'expert'}, provenance: gold}}"
    done = project.run(
        "judge", "predictions.name=mine", f"predictions.folder={data / 'predictions'}",
        f"predictions.references={{{expert}, {machine}}}", "predictions.structures={disc: 1}",
        f"predictions.cohort={data / 'exams.csv'}", "predictions.incomplete=true", "attributes=sex",
        "report.shared=true", "tracking=off", *QUICK,
    )  # fmt: skip
    assert done.status == 1
    assert "expert judged 24 exams and machine 23" in done.said
    assert not list(project.folder.rglob("index.html"))


def test_risk_scores_are_not_passed_on_without_withholding(project: Project) -> None:
    done = project.run("risk", "risk=table", "risk.file=scores.csv", "report.shared=true")
    assert done.status == 1
    assert "cannot do yet" in done.said


def test_pseudonyms_leave_no_name_beside_them(project: Project, tmp_path: Path) -> None:
    """With a key no file name, free column or reason gives away who is who."""
    data = draw_study(tmp_path / "ZZTOP_PLACE")
    rows = ["exam_id,patient_id,image,label,sex,age,address"]
    for place in range(6):
        exam = f"DOE_{place:02d}"
        rows.append(
            f"{exam},MRN7{place},predictions/{exam}.nii.gz,expert/{exam}.nii.gz,F,50,ELM_STREET"
        )
    rows.append(
        "DOE_BAD,MRN799,predictions/DOE_MISSING.nii.gz,expert/DOE_05.nii.gz,F,50,ELM_STREET"
    )
    (data / "manifest.csv").write_text("\n".join(rows))
    (tmp_path / "key").write_text("k" * 40)
    done = project.run(
        "cohort", "dataset=manifest", f"dataset.root={data}", "dataset.structures={disc: 1}",
        "dataset.reading.table=manifest.csv", f"dataset.reading.pseudonym_key={tmp_path / 'key'}",
        "+dataset.reading.columns={}", "attributes=sex", "split.strata=[]",
        "dataset.gold_share=0.99", "tracking=local", "tracking.experiment=mine", "processes=1",
    )  # fmt: skip
    assert done.status == 0, done.said
    assert "columns that nothing is asked of are left out: address" in done.said
    cohort = project.read("cohort.parquet")
    assert len(cohort) == 6
    for name, content in left(project.folder).items():
        for secret in ("DOE_", "MRN7", "ELM_STREET"):
            assert secret.encode() not in content, f"{secret} in {name}"
    for path in cohort["image"]:
        assert nib.load(project.folder / path).shape == (8, 12, 4)
    assert project.read("exclusions.parquet")["reason"].tolist() == ["unreadable files"]
