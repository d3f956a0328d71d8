"""Scores as other tools write them, read as they are or with the settings that the documents name."""

import json
from pathlib import Path

import pytest

from tworulers.ingest.faults import IngestError
from tworulers.ingest.score_table import read_score_table
from tworulers.schema.sources import ScoreTable

LABELS = {"background": 0, "disc": 1, "vb": 2, "whole": [1, 2]}
SCORES = {
    "e1": {"1": 0.8, "2": 0.9, "(1, 2)": 0.95},
    "e2": {"1": float("nan"), "2": 0.7, "(1, 2)": 0.75},
}


def write_summary(folder: Path, cases: dict[str, dict[str, float]]) -> Path:
    """Write what nnU-Net writes beside the predictions that it has evaluated."""
    folder.mkdir(parents=True, exist_ok=True)
    per_case = [
        {
            "metrics": {
                key: {"Dice": dice, "IoU": dice / 2, "TP": 3} for key, dice in scores.items()
            },
            "prediction_file": f"/results/{exam}.nii.gz",
            "reference_file": f"/labelsTr/{exam}.nii.gz",
        }
        for exam, scores in cases.items()
    ]
    content = {"foreground_mean": {"Dice": 0.8}, "mean": {}, "metric_per_case": per_case}
    (folder / "summary.json").write_text(json.dumps(content))
    return folder


def read(path: Path, **more) -> tuple[dict[str, dict[str, float]], str]:
    """Return scores by exam and structure, and all that was noted."""
    found = read_score_table(ScoreTable(str(path), provenance="gold", **more), "gold")
    scores = found.scores[
        (found.scores["metric"] == "dice") & (found.scores["structure"] != "macro")
    ]
    by_exam: dict[str, dict[str, float]] = {}
    for row in scores.itertuples():
        by_exam.setdefault(str(row.exam_id), {})[str(row.structure)] = float(row.value)
    return by_exam, "\n".join(found.notes)


@pytest.mark.parametrize("place", ["", "validation", "fold_0/validation"])
def test_a_results_folder_of_nnunet_is_read_as_it_is(tmp_path: Path, place: str) -> None:
    trainer = tmp_path / "trainer"
    write_summary(trainer / place, SCORES)
    (trainer / "dataset.json").write_text(json.dumps({"labels": LABELS}))
    (trainer / "plans.json").write_text("{}")
    scores, notes = read(trainer)
    assert scores["e1"] == {"disc": 0.8, "vb": 0.9, "whole": 0.95}
    assert str(scores["e2"]["disc"]) == "nan"
    assert "the Dice of 2 exams is read from trainer" in notes
    assert read(trainer / place / "summary.json")[0].keys() == scores.keys()


def test_the_folds_of_a_trainer_are_read_together_and_an_exam_once(tmp_path: Path) -> None:
    for fold, exam in enumerate(("e1", "e2")):
        write_summary(tmp_path / f"fold_{fold}" / "validation", {exam: SCORES[exam]})
    scores, notes = read(tmp_path)
    assert scores["e1"] == {"label_1": 0.8, "label_2": 0.9, "label_1_2": 0.95}
    assert "of 2 folds" in notes
    write_summary(tmp_path / "fold_2" / "validation", {"e1": SCORES["e1"]})
    with pytest.raises(IngestError, match="one row an exam"):
        read(tmp_path)


@pytest.mark.parametrize("text", ["{}", "[1]", "{", '{"metric_per_case": [{"metrics": {}}]}'])
def test_a_summary_that_is_none_is_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(IngestError, match=r"summary\.json"):
        read(tmp_path)
    (tmp_path / "summary.json").unlink()
    with pytest.raises(IngestError, match=r"no summary\.json"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (
            "filename,class1,class2,mean\n/data/e1.nii.gz,0.8,0.9,0.85\n/data/e2.nii.gz,nan,0.7,0.7\n",
            {
                "columns": {"exam_id": "filename", "disc/dice": "class1", "vb/dice": "class2"},
                "id_ignore": ["folder", "extension"],
            },
        ),
        (
            "case,class,metric,dice\ne1,disc,dice,0.8\ne1,vb,dice,0.9\ne2,disc,dice,nan\ne2,vb,dice,0.7\n",
            {
                "layout": "long",
                "columns": {"exam_id": "case", "structure": "class", "value": "dice"},
            },
        ),
        (
            "subject_name,vb-global_bin_dsc,disc-global_bin_dsc\ne1,0.9,0.8\ne2,0.7,\n",
            {
                "columns": {
                    "exam_id": "subject_name",
                    "vb/dice": "vb-global_bin_dsc",
                    "disc/dice": "disc-global_bin_dsc",
                }
            },
        ),
    ],
    ids=["MONAI", "TorchMetrics and MetricsReloaded", "panoptica"],
)
def test_a_table_of_another_tool_is_read_with_its_settings(tmp_path, text, settings) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(text)
    scores, _ = read(path, **settings)
    assert scores["e1"] == {"disc": 0.8, "vb": 0.9}
    assert scores["e2"]["vb"] == 0.7
    assert str(scores["e2"]["disc"]) == "nan"
