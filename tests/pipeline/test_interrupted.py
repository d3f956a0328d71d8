"""Stages that are interrupted, and run again with something changed: the result is that of a run that never stopped."""

import json
import os
import runpy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pandas as pd
import pytest
import torch

from tworulers.recipe import parallel, store
from tworulers.recipe.train import train_fold
from tworulers.stages import _phantom, _predicting

ROOT = Path(__file__).parents[2]
HERE = ("tracking=off", "processes=1")
COHORT = (
    "dataset.phantom.patients=14",
    "dataset.phantom.exams=16",
    "dataset.phantom.gold_patients=8",
    "dataset.phantom.shape=[16,32,32]",
    "dataset.phantom.spacing=[4.0,4.6,2.8]",
)
NETWORK = (
    "grid.configurations=[3d_fullres]",
    "grid.folds=[0]",
    "recipe.plan.stages=2",
    "recipe.epochs=1",
    "recipe.iterations=2",
    "recipe.validation_iterations=1",
    # A network that has learnt nothing yet: its label maps are noise, which every change of a setting shows in.
    "recipe.cautious_start=false",
    "recipe.cleanup=none",
    "recipe.select=false",
    "trainer.predict_batch=1",
)
BASE = Path("artifacts/phantom")


class InterruptionError(OSError):
    """What stops a stage in these tests."""


def command(stage: str, *overrides: str) -> int:
    """Run a stage as its command does, in this process; return its exit status."""
    before = sys.argv
    sys.argv = [stage, *overrides, *HERE]
    try:
        runpy.run_module(f"tworulers.stages.{stage}", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        sys.argv = before
    return 0


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a dozen exams, prepared, and one fold of an untaught gold model."""
    project = tmp_path_factory.mktemp("line")
    shutil.copytree(ROOT / "conf", project / "conf")
    shutil.copy(ROOT / "dvc.yaml", project)
    before = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        patch.setattr(parallel, "run_folds", train_here)
        assert command("cohort", *COHORT) == 0
        assert command("split", "split.folds=2", "split.test=0.3", "split.strata=[]") == 0
        assert command("plan", *NETWORK) == 0
        assert command("preprocess", *NETWORK) == 0
        assert command("train", "regime=gold", *NETWORK) == 0
        assert command("select", "regime=gold", *NETWORK) == 0
    assert Path.cwd() == before
    return project


@pytest.fixture
def project(line: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that project for each test, as the working folder; folds train in this process."""
    shutil.copytree(line, tmp_path / "project", symlinks=True)
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setattr(parallel, "run_folds", train_here)
    return tmp_path / "project"


def train_here(tasks: Any, *_: Any) -> None:
    for task in tasks:
        train_fold(task)


def stop_after(
    count: int,
    owner: Any,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    *overrides: str,
    status: int = 1,
) -> None:
    """Run a stage that is interrupted when it has done `count` pieces of work and begins another."""
    stage, *given = overrides
    work, done = getattr(owner, name), []

    def interrupted(*args: Any, **more: Any) -> Any:
        if len(done) == count:
            raise InterruptionError("interrupted")
        done.append(1)
        return work(*args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, interrupted)
        assert command(stage, *given) == status


def read_tree(folder: Path) -> dict[str, Any]:
    """Read what a result says, without what two equal results may differ in."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.name.endswith(".nii.gz"):
            image = nibabel.load(path)
            found[name] = (np.asarray(image.dataobj).tobytes(), image.affine.tobytes())
        elif path.suffix == ".parquet":
            frame = pd.read_parquet(path)
            found[name] = frame.drop(columns="seconds", errors="ignore").to_json()
        elif path.suffix == ".npz":
            found[name] = {key: value.tobytes() for key, value in np.load(path).items()}
        elif path.name == "final.pt":
            weights = torch.load(path, weights_only=True)["network_weights"]
            found[name] = {key: value.numpy().tobytes() for key, value in weights.items()}
        elif path.suffix == ".npy":
            found[name] = path.read_bytes()
    assert found
    return found


def change_file(path: Path, change: Callable[[Path], None]) -> None:
    """Change a file so that neither its size nor its time tells."""
    before = path.stat()
    change(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def negate_array(path: Path) -> None:
    np.save(path, -np.load(path))


def change_patch(path: Path) -> None:
    content = json.loads(path.read_text())
    patch = content["configurations"]["3d_fullres"]["patch_size"]
    content["configurations"]["3d_fullres"]["patch_size"] = [side // 2 for side in patch]
    path.write_text(json.dumps(content))


def change_weights(path: Path) -> None:
    content = torch.load(path, weights_only=True)
    for value in content["network_weights"].values():
        value.neg_()
    torch.save(content, path)


def change_nothing(project: Path) -> None:
    """Leave the files as they are: the settings change."""


def change_arrays(project: Path) -> None:
    for path in (project / BASE / "arrays" / "3d_fullres").glob("*.npy"):
        change_file(path, negate_array)


CHANGES: dict[str, tuple[tuple[str, ...], Callable[[Path], None]]] = {
    "recipe": (("recipe.mirror=true",), change_nothing),
    "trainer": (("trainer.precision=bf16-mixed",), change_nothing),
    "plans": ((), lambda project: change_patch(project / BASE / "plan" / "plans.json")),
    "arrays": ((), change_arrays),
    "weights": (
        (),
        lambda project: change_weights(
            project / BASE / "models" / "gold" / "3d_fullres" / "fold_0" / "final.pt"
        ),
    ),
}


def compare_with_clean(project: Path, result: Path, *overrides: str) -> None:
    """Run again what was interrupted, then from nothing, and hold the two against each other."""
    assert command(*overrides) == 0
    resumed = read_tree(result)
    shutil.rmtree(result)
    assert not list((project / BASE / "scratch").rglob("stamp.json"))
    assert command(*overrides) == 0
    clean = read_tree(result)
    assert {name for name in clean if clean[name] != resumed[name]} == set()
    assert set(resumed) == set(clean)


@pytest.mark.parametrize(
    "changed",
    [
        "recipe",
        *(pytest.param(name, marks=pytest.mark.slow) for name in CHANGES if name != "recipe"),
    ],
)
def test_an_interrupted_prediction_is_all_of_one_making(
    changed: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overrides, change = CHANGES[changed]
    stop_after(2, _predicting, "_predict_chunk", monkeypatch, "predict", "regime=gold", *NETWORK)
    begun = project / BASE / "scratch" / "predict" / "gold" / "result"
    first = read_tree(begun)
    assert len(first) == 2
    change(project)
    result = project / BASE / "predictions" / "gold"
    compare_with_clean(project, result, "predict", "regime=gold", *NETWORK, *overrides)
    clean = read_tree(result)
    assert any(clean[name] != first[name] for name in first)


@pytest.mark.slow
@pytest.mark.parametrize("changed", ["recipe", "weights"])
def test_interrupted_machine_labels_are_all_of_one_making(
    changed: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overrides, change = CHANGES[changed]
    asked = ("annotate", "regime=gold", *NETWORK)
    stop_after(3, _predicting, "_predict_chunk", monkeypatch, *asked)
    assert len(read_tree(project / BASE / "scratch" / "annotate" / "gold" / "result")) == 3
    change(project)
    compare_with_clean(project, project / BASE / "annotations", *asked, *overrides)


def change_images(project: Path) -> None:
    """Replace every image by its mirror image, which takes as many bytes."""
    for path in (project / BASE / "source" / "images").glob("*.nii.gz"):
        image = nibabel.load(path)
        turned = nibabel.Nifti1Image(np.asarray(image.dataobj)[::-1], image.affine, image.header)
        before = path.stat()
        nibabel.save(turned, path)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def change_spacing(project: Path) -> None:
    path = project / BASE / "plan" / "plans.json"
    content = json.loads(path.read_text())
    spacing = content["configurations"]["3d_fullres"]["spacing"]
    content["configurations"]["3d_fullres"]["spacing"] = [side * 1.25 for side in spacing]
    path.write_text(json.dumps(content))


PREPARING: dict[str, tuple[tuple[str, ...], Callable[[Path], None]]] = {
    "recipe": (("recipe.store_dtype=float32",), change_nothing),
    "plans": ((), change_spacing),
    "images": ((), change_images),
}


@pytest.mark.slow
@pytest.mark.parametrize("changed", PREPARING)
def test_interrupted_preparation_is_all_of_one_making(
    changed: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overrides, change = PREPARING[changed]
    stop_after(5, store, "store_image", monkeypatch, "preprocess", *NETWORK)
    change(project)
    result = project / BASE / "arrays" / "3d_fullres"
    compare_with_clean(project, result, "preprocess", *NETWORK, *overrides)


def change_labels(project: Path) -> None:
    """Take one structure out of every expert label."""
    for path in (project / BASE / "source" / "labels").glob("*.nii.gz"):
        image = nibabel.load(path)
        array = np.asarray(image.dataobj)
        nibabel.save(
            nibabel.Nifti1Image(np.where(array == 2, 0, array), image.affine, image.header), path
        )


TRAINING: dict[str, tuple[tuple[str, ...], Callable[[Path], None]]] = {
    "recipe": (("recipe.learning_rate=0.02",), change_nothing),
    "trainer": (("trainer.precision=bf16-mixed",), change_nothing),
    "seed": (("seed=1",), change_nothing),
    "arrays": ((), change_arrays),
    "labels": ((), change_labels),
}


@pytest.mark.slow
@pytest.mark.parametrize("changed", TRAINING)
def test_interrupted_training_is_all_of_one_making(
    changed: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overrides, change = TRAINING[changed]
    asked = ("train", "regime=gold", *NETWORK, "grid.folds=[0,1]")
    stop_after(1, sys.modules[__name__], "train_fold", monkeypatch, *asked)
    first = read_tree(project / BASE / "scratch" / "gold" / "3d_fullres" / "result")
    change(project)
    result = project / BASE / "models" / "gold" / "3d_fullres"
    compare_with_clean(project, result, *asked, *overrides)
    clean = read_tree(result)
    assert clean["fold_0/final.pt"] != first["fold_0/final.pt"]


@pytest.mark.slow
def test_an_interrupted_phantom_is_all_of_one_making(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = project / BASE / "source"
    shutil.rmtree(source)
    stop_after(5, _phantom, "make_exam", monkeypatch, "cohort", *COHORT)
    assert 0 < len(list((source / "images").iterdir())) < 16
    compare_with_clean(project, source, "cohort", *COHORT, "dataset.phantom.seed=1")


def test_an_unchanged_prediction_goes_on_where_it_stopped(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("predict", "regime=gold", *NETWORK)
    stop_after(3, _predicting, "_predict_chunk", monkeypatch, *asked)
    # How the work is dealt out changes nothing: one exam is left to do, and a second one is not begun.
    asked = (*asked, "trainer.checkpoint_every=7", "trainer.workers=1")
    stop_after(1, _predicting, "_predict_chunk", monkeypatch, *asked, status=0)
    exams = pd.read_parquet(project / BASE / "predictions" / "gold" / "confidence.parquet")
    assert len(exams) == 4


def test_a_fold_is_never_lost_to_another_one(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = project / BASE / "models" / "gold" / "3d_fullres"
    first = read_tree(model)
    asked = ("train", "regime=gold", *NETWORK)
    assert command(*asked, "grid.folds=[1]", "recipe.learning_rate=0.02") == 1
    refused = capsys.readouterr().err
    assert "holds fold_0, which grid.folds=[1] would delete" in refused
    assert "recipe.learning_rate was 0.01, now 0.02" in refused
    assert read_tree(model) == first
    assert command(*asked, "grid.folds=[1]") == 0
    assert "kept beside them, trained before in the same way: fold_0" in capsys.readouterr().out
    both = read_tree(model)
    assert {name: both[name] for name in first} == first
    assert "fold_1/final.pt" in both
    record = json.loads((model / "run.json").read_text())
    assert {name.partition("/")[0] for name in record["series"]} == {"fold_0", "fold_1"}
