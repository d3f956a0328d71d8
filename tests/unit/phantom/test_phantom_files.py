"""The synthetic cohort on disk: which files there are, what tables say, going on after a kill."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tworulers.io.images import read_image, same_grid
from tworulers.io.label_maps import read_label
from tworulers.io.paths import Layout
from tworulers.phantom.exams import make_exam
from tworulers.phantom.files import exclude_localizers, make_phantom
from tworulers.phantom.people import draw_people
from tworulers.schema.phantom_settings import Phantom
from tworulers.schema.settings import Settings
from tworulers.schema.sources import Attributes, Dataset, Grouping
from tworulers.schema.table_models import Cohort, Exclusions, check_table
from tworulers.stages.cohort import cohort

PHANTOM = Phantom(
    patients=9, gold_patients=4, exams=11, shape=[4, 40, 28], spacing=[10.0, 3.75, 3.2]
)
SEX = Grouping(
    kind="levels", column="sex", levels={"Female": ["Female"], "Male": ["Male"]}, title="Sex"
)
SETTINGS = Settings(
    dataset=Dataset(name="p", source="phantom", structures={"vb": 1, "disc": 2}, phantom=PHANTOM),
    attributes=Attributes(name="a", groupings={"sex": SEX}),
    processes=1,
)


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path, tmp_path / "artifacts" / "p", tmp_path / "artifacts" / "p")


def stat_files(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.nii.gz")}


def test_tables_hold_their_contracts_and_leave_the_localizer_out(layout):
    exams, excluded = make_phantom(SETTINGS, layout)
    check_table(exams, Cohort, "cohort")
    check_table(excluded, Exclusions, "exclusions")
    assert (len(exams), len(excluded)) == (10, 1)
    assert "56x40x28" in excluded["reason"].iloc[0]
    assert set(exams["exam_id"]).isdisjoint(excluded["exam_id"])


def test_labels_are_written_for_gold_exams_alone_and_truth_for_all(layout):
    exams, _ = make_phantom(SETTINGS, layout)
    gold = exams["provenance"] == "gold"
    assert exams["label"].notna().equals(gold)
    assert sorted(path.name[:-7] for path in (layout.source / "labels").iterdir()) == sorted(
        exams.loc[gold, "exam_id"]
    )
    assert len(list((layout.source / "truth").iterdir())) == PHANTOM.exams
    assert not exams.astype(str).apply(lambda column: column.str.contains("truth")).any(axis=None)


def test_files_hold_what_was_made(layout):
    exams, _ = make_phantom(SETTINGS, layout)
    row = exams[exams["provenance"] == "gold"].iloc[0]
    made = make_exam(row, PHANTOM)
    image = read_image(layout.root / row["image"])
    label = read_label(layout.root / row["label"], [1, 2])
    truth = read_label(layout.source / "truth" / f"{row['exam_id']}.nii.gz", [1, 2])
    np.testing.assert_array_equal(image.array, made.image)
    np.testing.assert_array_equal(label.array, made.expert)
    np.testing.assert_array_equal(truth.array, made.truth)
    np.testing.assert_allclose(image.affine, made.affine)
    assert same_grid(image, label)
    assert same_grid(image, truth)


def test_a_killed_run_goes_on_and_remakes_only_what_is_missing(layout):
    make_phantom(SETTINGS, layout)
    before = stat_files(layout.source)
    lost = sorted((layout.source / "images").iterdir())[2]
    lost.unlink()
    half_written = layout.source / "images" / f".123.{lost.name}"
    half_written.write_bytes(b"half")
    make_phantom(SETTINGS, layout)
    after = stat_files(layout.source)
    remade = {path for path in before if after[path] != before[path]}
    assert remade == {path for path in before if path.name == lost.name}
    assert not half_written.exists()


def test_other_settings_make_everything_again(layout):
    make_phantom(SETTINGS, layout)
    before = stat_files(layout.source)
    dataset = replace(SETTINGS.dataset, phantom=replace(PHANTOM, seed=5))
    make_phantom(replace(SETTINGS, dataset=dataset), layout)
    after = stat_files(layout.source)
    expected = {f"{exam}.nii.gz" for exam in draw_people(dataset.phantom)["exam_id"]}
    assert {path.name for path in after} == expected
    assert all(after[path] != before[path] for path in after if path in before)


def test_two_processes_make_the_same_files(layout, tmp_path):
    other = Layout(tmp_path / "b", tmp_path / "b" / "artifacts", tmp_path / "b" / "artifacts")
    make_phantom(SETTINGS, layout)
    make_phantom(replace(SETTINGS, processes=2), other)
    for path in layout.source.rglob("*.nii.gz"):
        twin = other.source / path.relative_to(layout.source)
        np.testing.assert_array_equal(read_image(path).array, read_image(twin).array)


def test_the_stage_writes_its_tables_and_counts(layout):
    folder, record = cohort(SETTINGS, layout)
    assert len(pd.read_parquet(folder / "cohort.parquet")) == 10
    assert len(pd.read_parquet(folder / "exclusions.parquet")) == 1
    assert record.metrics["patients/gold"] == 4
    assert record.metrics["exams/excluded"] == 1


def test_an_unknown_source_is_one_clear_message(layout):
    dataset = replace(SETTINGS.dataset, source="phantasm")
    with pytest.raises(
        ValueError, match=r"expected a source of .*, found phantasm; set dataset.source"
    ):
        cohort(replace(SETTINGS, dataset=dataset), layout)


def test_a_localizer_is_told_by_its_slices_and_not_by_its_size():
    exams = pd.DataFrame(
        {
            "exam_id": list("abcd"),
            "shape": ["14x512x512", "14x320x320", "25x768x768", "56x512x512"],
            "spacing": ["4x0.5x0.5", "4x0.8x0.8", "3.3x0.4x0.4", "1x0.488x0.488"],
        }
    )
    kept, excluded = exclude_localizers(exams)
    assert list(kept["exam_id"]) == ["a", "b", "c"]
    assert list(excluded["exam_id"]) == ["d"]
    assert "56x512x512 voxels of 1x0.488x0.488 mm" in excluded["reason"].iloc[0]
