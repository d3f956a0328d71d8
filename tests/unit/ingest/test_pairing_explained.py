"""Names that do not meet are explained in a few lines, and the option that is named mends them."""

import re
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from tworulers.ingest.faults import IngestError
from tworulers.ingest.judged_folders import prepare
from tworulers.ingest.lookalikes import find_cause
from tworulers.schema.sources import Attributes, Predictions, Reference

EXAMS = [f"Exam_{n:03d}" for n in range(1, 21)]
AS_THEY_ARE = "{exam}"
MOST_LINES = 12


def lay_out(folder: Path, predicted: list[str], drawn: list[str]) -> None:
    label = nib.Nifti1Image(np.eye(4, dtype=np.uint8)[..., None], np.eye(4))
    for part, names in (("p", predicted), ("r", drawn)):
        (folder / part).mkdir(exist_ok=True)
        for name in names:
            (folder / part / name).parent.mkdir(exist_ok=True)
            nib.save(label, folder / part / f"{name}.nii.gz")


def write_table(folder: Path, ids: list[str]) -> str:
    rows = [f"{name},{'FM'[place % 2]}" for place, name in enumerate(ids)]
    (folder / "exams.csv").write_text("\n".join(["exam_id,sex", *rows]) + "\n")
    return str(folder / "exams.csv")


def look(place: Path, **given):
    drawn = given.pop("drawn", AS_THEY_ARE)
    references = {"expert": Reference(str(place / "r"), "gold", pattern=drawn)}
    given = {"name": "m", "folder": str(place / "p"), "references": references} | given
    predictions = Predictions(**given)
    return prepare(predictions, Attributes("none", resampling_unit="exam"), 1)


def find_options(said: str) -> dict[str, object]:
    """Read the settings that a message names."""
    given: dict[str, object] = {}
    for key, value in re.findall(r"([\w.]+)='([^']+)'", said):
        given["drawn" if "references" in key else key.rpartition(".")[2]] = value
    for words in re.findall(r"id_ignore=\[([\w,]+)\]", said):
        given["id_ignore"] = words.split(",")
    return given


@pytest.mark.parametrize(
    ("predicted", "drawn"),
    [
        ([f"{name}_pred" for name in EXAMS], EXAMS),
        ([f"pred-{name}" for name in EXAMS], EXAMS),
        ([f"{name}_0000" for name in EXAMS], EXAMS),
        (EXAMS, [f"{name}_gt" for name in EXAMS]),
        ([f"{name}_pred" for name in EXAMS], [f"{name}_gt" for name in EXAMS]),
        ([name.upper() for name in EXAMS], EXAMS),
        ([str(n) for n in range(1, 21)], [f"{n:03d}" for n in range(1, 21)]),
        ([f"{name}/seg" for name in EXAMS], EXAMS),
        ([f"{name}/{name}" for name in EXAMS], EXAMS),
    ],
)
def test_the_option_that_a_message_names_pairs_the_files(tmp_path, predicted, drawn) -> None:
    lay_out(tmp_path, predicted, drawn)
    with pytest.raises(IngestError) as caught:
        look(tmp_path)
    said = str(caught.value)
    assert len(said.splitlines()) <= MOST_LINES
    assert "then 20 pair" in said or "20 folders that hold some" in said
    found = look(tmp_path, **find_options(said))
    assert len(found.judges["m", "expert"].predictions) == 20


@pytest.mark.parametrize(
    "ids",
    [
        [f"{name}.nii.gz" for name in EXAMS],
        [f"sub-{name}" for name in EXAMS],
        [name.lower() for name in EXAMS],
        [name.replace("_0", "_") for name in EXAMS],
    ],
)
def test_the_option_that_a_message_names_joins_the_table(tmp_path: Path, ids: list[str]) -> None:
    lay_out(tmp_path, EXAMS, EXAMS)
    table = write_table(tmp_path, ids)
    with pytest.raises(IngestError) as caught:
        look(tmp_path, cohort=table)
    said = str(caught.value)
    assert len(said.splitlines()) <= MOST_LINES
    found = look(tmp_path, cohort=table, **find_options(said))
    assert found.people.sort_values("sex")["sex"].tolist() == ["F"] * 10 + ["M"] * 10


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    lay_out(tmp_path, EXAMS, EXAMS)
    (tmp_path / "p").rename(tmp_path / "predictions")
    with pytest.raises(IngestError) as caught:
        look(tmp_path, folder=str(tmp_path / "predictionz"))
    _, line = str(caught.value).splitlines()
    assert "predictions.folder" in line
    assert f"did you mean '{tmp_path / 'predictions'}'?" in line


def test_many_missing_predictions_are_counted_and_some_named(tmp_path: Path) -> None:
    lay_out(tmp_path, EXAMS[:8], EXAMS)
    with pytest.raises(IngestError) as caught:
        look(tmp_path)
    said = str(caught.value)
    assert len(said.splitlines()) <= MOST_LINES
    assert "none of 12 exams: Exam_009, Exam_010" in said
    assert "predictions.incomplete=true to score 8 of 20 cases" in said
    assert len(look(tmp_path, incomplete=True).judges["m", "expert"].predictions) == 8


def test_names_that_only_look_alike_have_no_cause() -> None:
    assert find_cause(["a1", "a2", "a3"], ["b7", "b8", "b9"]) is None
    assert find_cause(EXAMS, EXAMS) is None
    assert find_cause([], EXAMS) is None


def test_names_that_meet_once_simplified_are_refused(tmp_path: Path) -> None:
    lay_out(tmp_path, ["a", "A"], ["a"])
    with pytest.raises(IngestError, match="'A' and 'a'"):
        look(tmp_path, id_ignore=["case"])
    with pytest.raises(ValueError, match="'letters'"):
        look(tmp_path, id_ignore=["letters"])
