"""MAMA-MIA by the command line, on an invented download: both published audits, and its rulers in the pipeline."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from command import Project
from mamamia_download import load_script

ORIGIN = "The expert labels are corrections of the automatic ones"
UNCHANGED = "In 3 of 30 exams the expert labels are the automatic ones"
WEIGHTS = "(nnUNet_pretrained_weights) are no test"
QUICK = ("audit=quick", "attributes.by=[age_3bin]", "tracking=off", "processes=1")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with an invented download, and the masks of an invented model, beside its configuration."""
    project = Project.at(tmp_path_factory.mktemp("project"))
    script = load_script()
    exams = script.make_fixture(project.folder / "download", 30)
    script.write_predictions(project.folder / "model", exams)
    return project


def say_all(result: Path) -> dict[str, str]:
    """What the page, the card and the sentences of a result say."""
    sentences = pd.concat(
        [pd.read_parquet(path) for path in sorted(result.rglob("sentences.parquet"))]
    )
    return {
        "page": (result / "report/index.html").read_text(),
        "card": (result / "report/card.md").read_text(),
        "sentences": "\n".join(sentences["sentence"]),
    }


@pytest.mark.slow
def test_the_first_audit_judges_the_automatic_masks_by_the_experts(project: Project) -> None:
    done = project.run("judge", "experiment=mamamia", "dataset.root=download", *QUICK)
    assert done.status == 0, done.said
    assert ORIGIN in done.said
    assert WEIGHTS in done.said
    assert "provenance gold, corrected from automatic" in done.said
    assert "reference automatic is the predictions themselves" in done.said
    assert UNCHANGED in done.said
    result = project.folder / "artifacts/judged/mamamia_automatic"
    told = say_all(result)
    assert all(ORIGIN in told[name] and "no test" in told[name] for name in ("page", "card"))
    assert "gold: drawn by experts, corrected from automatic" in told["sentences"]
    scores = pd.read_parquet(result / "scores/mamamia_automatic/expert/scores.parquet")
    dice = scores.query("metric == 'dice' and structure == 'tumor'").set_index("exam_id")["value"]
    assert len(dice) == 30
    assert dice["duke_901"] == 1
    assert dice["duke_902"] == 0
    assert dice["duke_903"] < 1


@pytest.mark.slow
def test_the_second_audit_changes_the_ruler_and_calls_nothing_false(project: Project) -> None:
    own = ("predictions.folder=model", "predictions.name=mine")
    done = project.run("judge", "experiment=mamamia", "dataset.root=download", *own, *QUICK)
    assert done.status == 0, done.said
    assert ORIGIN in done.said
    result = project.folder / "artifacts/judged/mine"
    told = say_all(result)
    assert all(ORIGIN in told[name] and UNCHANGED in told[name] for name in ("page", "card"))
    folder = result / "comparisons/rulers/mine/expert_automatic"
    known = json.loads((folder / "summary.json").read_text())["known"]
    assert known["basis"] == "corrected_into_base"
    assert not known["may_be_called_false"]
    assert known["corrected"] == {"base": "expert", "unchanged": 3, "exams": 30}
    verdicts = pd.read_parquet(folder / "verdicts.parquet")
    said = verdicts["sentence"][verdicts["sentence"] != ""]
    assert len(said)
    assert said.str.contains("expert is gold corrected from automatic, automatic is silver").all()
    assert not said.str.contains("false confidence|false magnitude|false reassurance").any()


@pytest.mark.slow
def test_both_rulers_judge_a_model_of_the_pipeline(project: Project) -> None:
    chosen = ("dataset=mamamia", "dataset.root=download", "tracking=off", "processes=1")
    assert (done := project.run("check", *chosen)).status == 0, done.said
    assert ORIGIN in done.said
    assert (done := project.run("cohort", *chosen)).status == 0, done.said
    assert (done := project.run("split", *chosen, "grid.regimes=[gold]")).status == 0, done.said
    made = project.folder / "artifacts/mamamia"
    cohort = pd.read_parquet(made / "cohort/cohort.parquet")
    kept = {path.name for path in (made / "source/references/automatic").iterdir()}
    assert kept == {f"{exam}.nii.gz" for exam in cohort["exam_id"]}
    labels = made / "predictions/gold/labels"
    labels.mkdir(parents=True)
    for exam in cohort["exam_id"]:
        shutil.copy(project.folder / f"model/{exam.lower()}.nii.gz", labels / f"{exam}.nii.gz")
    rulers = ("grid.regimes=[gold]", "grid.rulers=[gold,automatic]", "grid.widest=gold")
    asked = (*chosen, *rulers, "regime=gold", *QUICK)
    for ruler in ("gold", "automatic"):
        for stage in ("score", "audit"):
            done = project.run(stage, *asked, f"ruler={ruler}")
            assert done.status == 0, done.said
        assert (ORIGIN.replace("expert", "gold") in done.said) == (ruler == "gold")
    assert (done := project.run("compare", *asked)).status == 0, done.said
    assert ORIGIN.replace("expert", "gold") in done.said
    (path,) = made.glob("comparisons/rulers/gold/gold_automatic/summary.json")
    assert json.loads(path.read_text())["known"]["basis"] == "corrected_into_base"
    assert (done := project.run("report", *asked)).status == 0, done.said
    for name in ("index.html", "card.md"):
        text = (made / "report" / name).read_text()
        assert ORIGIN.replace("expert", "gold") in text
        assert WEIGHTS in text


@pytest.mark.slow
def test_a_download_that_cannot_be_judged_says_why(project: Project) -> None:
    asked = ("judge", "experiment=mamamia", "predictions.folder=model", *QUICK)
    done = project.run(*asked, "dataset.root=download", "predictions.layout=folder")
    assert done.status == 1
    assert "tables of the layout's own" in done.said
    done = project.run(*asked, "dataset.root=download", "predictions.layout=nothing")
    assert done.status == 1
    assert "set predictions.layout" in done.said
    done = project.run(*asked, "dataset.root=nowhere")
    assert done.status == 1
    assert "nowhere/segmentations/expert" in done.said
