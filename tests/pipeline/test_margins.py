"""Margins as a user types them: the answers of an audit and of a judgement, and what is refused."""

import json
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from command import Project

pytestmark = pytest.mark.usefixtures("unrendered")

QUICK = (
    "audit.bootstrap_draws=50",
    "audit.permutations=50",
    "audit.power_draws=20",
    "tracking=off",
)
TABLE = ("audit", "scores.file=gold.csv", "scores.provenance=gold", "attributes=sex")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project.at(tmp_path)
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"exam_id": [f"e{i:03}" for i in range(120)], "sex": ["F", "M"] * 60})
    table.assign(
        dice_macro=np.round(rng.normal(0.9, 0.02, 120), 6),
        hd95_macro=np.round(rng.gamma(4, 0.5, 120), 6),
    ).to_csv(tmp_path / "gold.csv", index=False)
    return made


def test_an_audit_answers_within_the_margins_that_were_typed(project: Project) -> None:
    margin = "audit.margin={dice:2,hd95:1,failures:10}"
    done = project.run(*TABLE, "audit.metrics=[dice,hd95]", margin, *QUICK)
    assert done.status == 0, done.said
    assert (
        "Answers of 2 tests by gold (gold): differs 0; differs, but within the margin 0; within "
        "the margin 2; cannot say 0. Margins: Dice 2 points, HD95 1 mm, failures 10 %."
    ) in done.said
    (table,) = project.folder.rglob("equivalence.parquet")
    path = table.with_name("summary.json")
    summary = json.loads(path.read_text())
    assert summary["margin"] == {"dice": 2.0, "hd95": 1.0, "failures": 10.0}
    assert summary["answers"]["within_margin"] == 2
    run = json.loads((path.parent / "run.json").read_text())
    assert run["metrics"]["answers/within_margin"] == 2
    assert project.read("equivalence.parquet")["margin"].tolist() == [0.02, 1.0]


def test_without_a_margin_equality_is_not_asked(project: Project) -> None:
    done = project.run(*TABLE, "audit.metrics=[dice]", *QUICK)
    assert done.status == 0, done.said
    assert "within the margin 0; cannot say 1. Within: not asked" in done.said
    assert project.read("equivalence.parquet").empty


@pytest.mark.parametrize(
    ("margin", "said"),
    [
        ("{dise:2,failures:5}", "audit.margin: no metric is called 'dise' (did you mean 'dice'?)"),
        ("{dice:0,failures:100}", "audit.margin: expected a number above 0 for dice, found 0"),
        ("{dice:much}", "audit.margin.dice"),
    ],
)
def test_a_margin_that_is_none_is_refused(project: Project, margin: str, said: str) -> None:
    done = project.run(*TABLE, f"audit.margin={margin}", *QUICK)
    assert done.status == 1
    assert said in done.said
    assert "Traceback" not in done.said


def test_a_judgement_answers_within_margins(project: Project) -> None:
    rows = ["exam_id,sex"]
    for i in range(24):
        label = np.zeros((10, 10, 6), np.uint8)
        label[1:9, 1:9, 1:5] = 1
        drawn = label.copy()
        drawn[1, 1, 1 + i // 2 % 3] = 0
        drawn[8, 1 : 2 + i // 4 % 2, 2] = 0
        for name, array in (("made", label), ("expert", drawn)):
            (project.folder / name).mkdir(exist_ok=True)
            image = nib.Nifti1Image(array, np.eye(4))
            nib.save(image, project.folder / name / f"e{i:02}.nii.gz")
        rows.append(f"e{i:02},{'FM'[i % 2]}")
    (project.folder / "exams.csv").write_text("\n".join(rows))
    done = project.run(
        "judge", "predictions.name=mine", "predictions.folder=made", "predictions.structures={a: 1}",
        "predictions.references={expert: {folder: expert, provenance: gold}}",
        "predictions.cohort=exams.csv", "attributes=sex", "audit.metrics=[dice]",
        "audit.margin={dice:2,failures:30}", *QUICK,
    )  # fmt: skip
    assert done.status == 0, done.said
    assert "groups are within the margin by Sex" in done.said
    page = (project.folder / "artifacts/judged/mine/report/index.html").read_text()
    opening = page[page.index('class="answer"') :]
    assert opening.index("within the margin by Sex") < opening.index("Judged by")
    assert "within the margin 1;" in opening, "a single structure is judged once"
    card = (project.folder / "artifacts/judged/mine/report/card.md").read_text()
    assert "| Sex | within the margin; a Dice " in card
    assert "Margins: Dice 2 points, failures 30 %. Shift" in page
