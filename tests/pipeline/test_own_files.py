"""What a project adds in one file below `own/`: found by the commands, named where it fails."""

import json
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from command import Outcome, Project
from tworulers.ingest.assemble import complete_columns
from tworulers.io.records import write_table
from tworulers.runner.graph.code import digest_code
from tworulers.runner.graph.write import write_graph

FEW = ("audit=quick", "tracking=off", "audit.linear=false")

FIRST_LETTER = '''
import pandas as pd

from tworulers.cohort.kinds import KINDS, Assigned, read_column


@KINDS.register("first_letter")
def take_first_letter(exams, grouping, groupings):
    """Group a column by the first letter of its values."""
    letters = read_column(exams, grouping).str[0]
    return Assigned(sorted(letters.dropna().unique()), letters, pd.Series("", letters.index))
'''


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with scores of forty exams, from three sites and of people of 30 to 69 years."""
    made = Project.at(tmp_path)
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "exam_id": [f"e{n:02}" for n in range(40)],
            "site": np.tile(["Aachen", "Bonn", "Berlin", "Bonn"], 10),
            "years": 30 + np.arange(40),
            "dice_disc": rng.uniform(0.6, 0.9, 40).round(4),
        }
    )
    table.to_csv(tmp_path / "scores.csv", index=False)
    return made


def add(project: Project, name: str, text: str) -> None:
    (project.folder / "own").mkdir(exist_ok=True)
    (project.folder / "own" / name).write_text(text)


def audit(project: Project, *asked: str) -> Outcome:
    given = ("scores.file=scores.csv", "scores.provenance=gold", "audit.metrics=[dice]")
    return project.run("audit", *FEW, *given, *asked)


def test_a_kind_of_grouping_is_one_file(project: Project) -> None:
    add(project, "letters.py", FIRST_LETTER)
    town = "name: towns\ngroupings:\n  town: {kind: first_letter, column: site}\n"
    (project.folder / "conf/attributes/towns.yaml").write_text(town)
    done = audit(project, "attributes=towns")
    assert done.status == 0, done.said
    (found,) = project.read("groupings.parquet").to_dict("records")
    assert (found["grouping"], json.loads(found["groups"])) == ("town", ["A (n 10)", "B (n 30)"])


def test_columns_are_asked_by_name_and_numbers_by_stated_bins(project: Project) -> None:
    refused = audit(project, "attributes.by=[site,years]")
    assert refused.status == 1
    assert "column 'years' holds numbers from 30 to 69 and no bins are given" in refused.said
    assert "years: [40, 60]" in refused.said
    done = audit(project, "attributes.by=[site,years]", "attributes.bins={years: [30, 50, 60]}")
    assert done.status == 0, done.said
    found = project.read("groupings.parquet").set_index("grouping")["groups"].map(json.loads)
    assert found["site"] == ["Aachen (n 10)", "Berlin (n 10)", "Bonn (n 20)"]
    assert found["years"] == ["30-50 (n 20)", "50-60 (n 10)", "60+ (n 10)"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nothing_of_the_sort", "own/wrong.py cannot be run: ModuleNotFoundError"),
        (FIRST_LETTER.replace("first_letter", "bins"), "kind of grouping 'bins' is defined in"),
    ],
)
def test_an_own_file_that_fails_is_named(project: Project, text: str, said: str) -> None:
    add(project, "wrong.py", text)
    failed = audit(project)
    assert failed.status == 1
    assert said in failed.said


STACKS = '''
import pandas as pd

from tworulers.ingest.layout import LAYOUTS, DataLayout
from tworulers.ingest.source import Source


@LAYOUTS.register("stacks")
class Stacks(DataLayout):
    """A folder an exam, called after its patient, with an image and a mask."""

    def read(self, root, dataset):
        rows = [
            (path.name, path.name, f"{path}/image.nii.gz", f"{path}/mask.nii.gz", "gold")
            for path in sorted(root.iterdir())
        ]
        columns = ["exam_id", "patient_id", "image", "label", "provenance"]
        return Source(root, pd.DataFrame(rows, columns=columns))

    def exclude(self, inspections):
        return {one.exam_id: "too small a label" for one in inspections if one.voxels.get(1, 0) < 2}
'''


def write_cube(path: Path, side: int) -> None:
    """Write a label map with a cube of so many voxels a side, or an image that is bright there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    array = np.zeros((12, 12, 12), dtype=np.uint8)
    array[2 : 2 + side, 2 : 2 + side, 2 : 2 + side] = 1
    nib.Nifti1Image(array, np.diag([1.0, 1.0, 2.0, 1.0])).to_filename(path)


def test_a_layout_of_data_is_one_file(project: Project) -> None:
    for n, side in enumerate([3, 4, 5, 1]):
        write_cube(project.folder / f"data/p{n}/image.nii.gz", 3 + n)
        write_cube(project.folder / f"data/p{n}/mask.nii.gz", side)
    add(project, "stacks.py", STACKS)
    given = ("dataset=nnunet", "dataset.source=stacks", "dataset.structures={cube: 1}", *FEW[1:])
    done = project.run("cohort", *given, f"dataset.root={project.folder}/data", "attributes=none")
    assert done.status == 0, done.said
    assert project.read("cohort.parquet")["exam_id"].tolist() == ["p0", "p1", "p2"]
    (left,) = project.read("exclusions.parquet").to_dict("records")
    assert (left["exam_id"], left["reason"]) == ("p3", "too small a label")
    checked = project.run("check", *given, f"dataset.root={project.folder}/data", "attributes=none")
    assert "p3: too small a label; left out" in checked.said


SHRUNKEN = '''
from scipy import ndimage

from tworulers.rulers.kinds import RULERS, RulerKind


def erode(label, spacing):
    return label * ndimage.binary_erosion(label > 0)


@RULERS.register("shrunken")
class Shrunken(RulerKind):
    """The teacher's predictions on all test exams, a voxel smaller."""

    same_exams = False

    @staticmethod
    def needs(ruler):
        return ruler.regime

    def exams(self, tested):
        return tested.all

    def reference(self, exam):
        return self.material.predictions(self.ruler.regime) / f"{exam}.nii.gz"

    def changes(self, exam):
        return erode
'''


def test_a_kind_of_ruler_is_one_file_and_stands_in_the_graph(project: Project) -> None:
    add(project, "shrunken.py", SHRUNKEN)
    own = "name: small\ntitle: smaller\nkind: shrunken\nprovenance: silver\nregime: gold\n"
    (project.folder / "conf/ruler/small.yaml").write_text(own)
    made = project.folder / "artifacts/phantom"
    exams = ["e1", "e2", "e3"]
    write_table(
        pd.DataFrame(
            {
                "exam_id": exams,
                "patient_id": exams,
                "image": "none",
                "label": None,
                "provenance": ["gold", "gold", "silver"],
            }
        )
        .pipe(complete_columns)
        .assign(spacing="2 x 2 x 2", shape="12 x 12 x 12"),
        made / "cohort/cohort.parquet",
    )
    splits = pd.DataFrame({"exam_id": [*exams, *exams[:2]], "regime": ["mix"] * 3 + ["gold"] * 2})
    splits = splits.assign(patient_id=splits["exam_id"], provenance="gold", stratum="all")
    splits = splits.assign(split="test", fold=pd.array([None] * 5, dtype="Int64"), reason=None)
    write_table(splits, made / "split/splits.parquet")
    for exam in exams:
        write_cube(made / f"predictions/gold/labels/{exam}.nii.gz", 7)
        write_cube(made / f"predictions/mix/labels/{exam}.nii.gz", 7)
    asked = ("audit.metrics=[dice]", "attributes=none")
    done = project.run("score", "ruler=small", "regime=mix", *FEW[:2], *asked)
    assert done.status == 0, done.said
    scores = project.read("scores.parquet")
    dice = scores[(scores["metric"] == "dice") & (scores["structure"] == "vb")]
    assert dice["exam_id"].tolist() == exams
    assert dice["value"].tolist() == pytest.approx([2 * 5**3 / (5**3 + 7**3)] * 3)
    grid = project.folder / "conf/grid.yaml"
    grid.write_text(grid.read_text().replace("rulers: [dataset,", "rulers: [small, dataset,"))
    step = write_graph(project.folder)["dvc.yaml"].split("  score_small:\n")[1].split("\n\n")[0]
    assert "- artifacts/${item.dataset}/predictions/gold/labels\n" in step
    assert "own/shrunken.py" in digest_code("score", project.folder)
