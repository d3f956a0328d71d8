"""Partly annotated exams go through the whole line, as an nnU-Net folder declares them, and out to nnU-Net again."""

import json
import shutil
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from small_line import NETWORK, ROOT, command, train_here

from tworulers.recipe import parallel

BASE = Path("artifacts/nnunet")
IGNORED = 3
PARTLY = (1, 3, 4, 7, 9)
ASKED = (
    *(one for one in NETWORK if one != "recipe.cleanup=none"),
    "dataset=nnunet", "grid.regimes=[gold]", "regime=gold", "attributes=none",
    "recipe.cleanup=rule", "recipe.select=true", "recipe.plan.space_to_depth=1",
)  # fmt: skip


def write_exams(root: Path) -> None:
    """Ten exams of two structures, of which a quarter to the side is not annotated in five."""
    labels = {"background": 0, "ball": 1, "core": 2, "ignore": IGNORED}
    content = {"channel_names": {"0": "T1"}, "labels": labels, "file_ending": ".nii.gz"}
    for folder in ("imagesTr", "labelsTr"):
        (root / folder).mkdir(parents=True)
    (root / "dataset.json").write_text(json.dumps({**content, "numTraining": 10}))
    for seed in range(10):
        rng = np.random.default_rng(seed)
        offset = (np.indices((16, 24, 24)).T - rng.uniform(9, 13, 3)).T
        radius = np.sqrt((offset**2).sum(0))
        label = (radius < 7).astype(np.uint8) + (radius < 3)
        image = (100 + 60.0 * label + rng.normal(0, 10, label.shape)).astype(np.float32)
        if seed in PARTLY:
            label[:, :, 18:] = IGNORED
        for name, array in (("imagesTr/e{}_0000", image), ("labelsTr/e{}", label)):
            nib.save(nib.Nifti1Image(array, np.eye(4)), root / f"{name.format(seed)}.nii.gz")


@pytest.mark.slow
def test_partly_annotated_exams_are_planned_learnt_predicted_and_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("conf", "dvc.yaml"):
        copy = shutil.copytree if name == "conf" else shutil.copy
        copy(ROOT / name, tmp_path / name)
    write_exams(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parallel, "run_folds", train_here)
    monkeypatch.setenv("TWORULERS_NNUNET", str(tmp_path / "data"))
    assert command("check", "dataset=nnunet", "attributes=none") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "value 3 marks" in told
    assert "of 5 of 10 label maps as not annotated" in told
    few = ("split.folds=2", "split.test=0.3", "split.strata=[]", "split.balance=null")
    for stage, *more in (
        ("cohort",),
        ("split", *few),
        ("plan",),
        ("preprocess",),
        ("train",),
        ("select",),
        ("predict",),
        ("score", "ruler=gold"),
        ("export", "export.folder=exported"),
    ):
        assert command(stage, *ASKED, *more) == 0, (stage, capsys.readouterr().err)
    planned = json.loads((BASE / "plan" / "dataset.json").read_text())
    assert planned["labels"] == {"background": 0, "ball": 1, "core": 2, "ignore": IGNORED}
    (written,) = Path("exported").glob("*/*/dataset.json")
    assert json.loads(written.read_text())["labels"]["ignore"] == IGNORED
    scores = pd.read_parquet(BASE / "scores" / "gold" / "gold" / "scores.parquet")
    seen = scores[scores["metric"] == "image_voxels"].groupby("exam_id")["value"].first()
    assert dict(seen) == {e: 16 * 24 * (18 if int(e[1:]) in PARTLY else 24) for e in seen.index}
    assert len(set(seen)) == 2
    for exam in seen.index:
        label = nib.load(BASE / "predictions" / "gold" / "labels" / f"{exam}.nii.gz")
        assert set(np.unique(np.asarray(label.dataobj))) <= {0, 1, 2}
