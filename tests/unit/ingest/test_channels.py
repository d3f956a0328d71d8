"""Images of several channels are read in every layout that has a file for each; the others say that they have not."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tiny_sources import (
    AFFINE,
    STRUCTURES,
    draw_image,
    draw_label,
    make_decathlon,
    make_nnunet,
    save,
)

from command import Project
from tworulers.ingest.assemble import Ingested
from tworulers.ingest.faults import IngestError
from tworulers.ingest.read import ingest
from tworulers.schema.sources import Dataset

CHANNELS = ["T1", "T2"]


def make_two(root: Path) -> Path:
    """An nnU-Net folder of two exams with two channels each."""
    make_nnunet(root, ["a", "b"])
    content = json.loads((root / "dataset.json").read_text())
    names = {str(place): name for place, name in enumerate(CHANNELS)}
    (root / "dataset.json").write_text(json.dumps({**content, "channel_names": names}))
    for seed, exam in enumerate("ab"):
        save(root / "imagesTr" / f"{exam}_0001.nii.gz", draw_image(10 + seed))
    return root


def read(root: Path, source: str, channels: list[str]) -> Ingested:
    dataset = Dataset(
        "t", source=source, root=str(root), structures=dict(STRUCTURES), channels=channels
    )
    return ingest(dataset, root.parent, processes=1)


def read_wrong(ingested: Ingested) -> dict[str, str]:
    return {fault.exam: fault.describe() for fault in ingested.faults if not fault.note}


def test_both_channels_of_an_nnunet_folder_are_read(tmp_path: Path) -> None:
    found = read(make_two(tmp_path / "data"), "nnunet", CHANNELS)
    assert read_wrong(found) == {}
    assert [Path(path).name for path in found.cohort["image"]] == ["a_0000.nii.gz", "b_0000.nii.gz"]


def test_a_manifest_names_the_first_of_them(tmp_path: Path) -> None:
    root = make_two(tmp_path / "data")
    rows = [f"{e},imagesTr/{e}_0000.nii.gz,labelsTr/{e}.nii.gz,gold" for e in "ab"]
    (root / "manifest.csv").write_text("\n".join(["exam_id,image,label,provenance", *rows]))
    dataset = Dataset("t", "", "manifest", str(root), dict(STRUCTURES), channels=CHANNELS)
    dataset.reading.table = "manifest.csv"
    assert read_wrong(ingest(dataset, tmp_path, processes=1)) == {}
    (root / "imagesTr" / "b_0001.nii.gz").unlink()
    found = ingest(dataset, tmp_path, processes=1)
    assert list(found.cohort["exam_id"]) == ["a"]
    assert "the channel b_0001.nii.gz" in read_wrong(found)["b"]


def shift(path: Path) -> None:
    moved = AFFINE.copy()
    moved[:3, 3] += 5
    save(path, draw_image(1), moved)


def cut(path: Path) -> None:
    save(path, draw_image(1)[:, :, :4])


def break_voxels(path: Path) -> None:
    save(path, np.where(draw_label() > 0, np.nan, 1).astype(np.float32))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shift, "the grid of b_0000.nii.gz"),
        (cut, "the grid of b_0000.nii.gz"),
        (break_voxels, "finite intensities"),
        (Path.unlink, "add the missing channel"),
    ],
)
def test_an_exam_with_a_channel_that_cannot_be_used_is_left_out_by_name(
    tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    root = make_two(tmp_path / "data")
    damage(root / "imagesTr" / "b_0001.nii.gz")
    found = read(root, "nnunet", CHANNELS)
    assert list(found.cohort["exam_id"]) == ["a"]
    assert message in read_wrong(found)["b"]


def test_another_number_of_channels_than_declared_is_refused(tmp_path: Path) -> None:
    root = make_two(tmp_path / "data")
    with pytest.raises(IngestError, match=r"dataset\.channels=\[T1,T2\]"):
        read(root, "nnunet", ["MRI"])


def test_layouts_of_one_file_an_image_say_that_they_have_one_channel(tmp_path: Path) -> None:
    root = make_decathlon(tmp_path / "data", ["a"])
    with pytest.raises(IngestError, match="one channel in the layout decathlon"):
        read(root, "decathlon", CHANNELS)
    loose = tmp_path / "loose"
    save(loose / "a.nii.gz", draw_image(0))
    save(loose / "a_seg.nii.gz", draw_label())
    with pytest.raises(IngestError, match=r"one channel in the layout folder.*<exam>_0000"):
        read(loose, "folder", CHANNELS)


def test_two_channels_are_planned_and_prepared(tmp_path: Path) -> None:
    project = Project.at(tmp_path / "project")
    data = make_nnunet(tmp_path / "data", [])
    labels = {"background": 0, **STRUCTURES}
    names = {"0": "T1", "1": "T2"}
    (data / "dataset.json").write_text(json.dumps({"channel_names": names, "labels": labels}))
    for seed in range(8):
        rng = np.random.default_rng(seed)
        label = np.zeros((16, 16, 16), np.uint8)
        label[4:12, 4:12, 4:12], label[6:9, 6:9, 6:9] = 1, 2
        for channel in range(2):
            image = (rng.normal(size=label.shape) + label).astype(np.float32)
            save(data / "imagesTr" / f"e{seed}_{channel:04d}.nii.gz", image, np.eye(4))
        save(data / "labelsTr" / f"e{seed}.nii.gz", label, np.eye(4))
    given = (
        "dataset=nnunet", f"dataset.root={data}", "dataset.channels=[T1,T2]", "attributes=none",
        "grid.regimes=[gold]", "tracking=off", "processes=1", "recipe.plan.stages=2",
    )  # fmt: skip
    few = ("split.folds=2", "split.test=0.3", "split.strata=[]", "split.balance=null")
    for stage, *more in (("cohort",), ("split", *few), ("plan",), ("preprocess",)):
        done = project.run(stage, *given, *more)
        assert done.status == 0, (stage, done.said[-2000:])
    arrays = sorted(project.folder.glob("artifacts/nnunet/arrays/3d_fullres/*.npy"))
    assert len(arrays) == 8
    assert np.load(arrays[0]).shape == (2, 16, 16, 16)
