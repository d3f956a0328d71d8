"""Stages that are interrupted, and run again with something changed: the result is that of a run that never stopped."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pandas as pd
import pytest
import small_line
import torch
from small_line import BASE, COHORT, NETWORK, command, read_tree

from tworulers.io.resume import WITHOUT_EFFECT
from tworulers.phantom import files as phantom_files
from tworulers.recipe.store import load_geometry, store_image
from tworulers.runner.graph import code
from tworulers.schema.settings import Settings
from tworulers.training import arrays, ensemble


@pytest.fixture
def project(small_line: Path) -> Path:
    return small_line


class InterruptionError(OSError):
    """What stops a stage in these tests."""


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


def change_file(path: Path, change: Callable[[Path], None]) -> None:
    """Change a file so that neither its size nor its time tells."""
    before = path.stat()
    change(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def negate_array(path: Path) -> None:
    """Change a prepared image as one prepared otherwise would be, with the digest that is kept of it."""
    geometry, beside = load_geometry(path.parent, path.stem), path.with_suffix(".npz")
    before, array = beside.stat(), -np.load(path)
    store_image(path.parent, path.stem, array, geometry, array.dtype.name)
    os.utime(beside, ns=(before.st_atime_ns, before.st_mtime_ns))


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
    "recipe": (("recipe.mirror=false",), change_nothing),
    "trainer": (("trainer.precision=bf16-mixed",), change_nothing),
    "inference": (("inference.precision=bf16-mixed",), change_nothing),
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
    stop_after(2, ensemble, "_predict_chunk", monkeypatch, "predict", "regime=gold", *NETWORK)
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
    stop_after(3, ensemble, "_predict_chunk", monkeypatch, *asked)
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
    stop_after(5, arrays, "store_image", monkeypatch, "preprocess", *NETWORK)
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
    stop_after(1, small_line, "train_fold", monkeypatch, *asked)
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
    stop_after(5, phantom_files, "make_exam", monkeypatch, "cohort", *COHORT)
    assert 0 < len(list((source / "images").iterdir())) < 16
    compare_with_clean(project, source, "cohort", *COHORT, "dataset.phantom.seed=1")


def list_changes() -> list[str]:
    """Change every number and switch of recipe and trainer, one at a time, to another that can be computed with."""
    settings, changes = Settings(), []
    for group in ("recipe", "trainer"):
        for field in fields(getattr(settings, group)):
            value = getattr(getattr(settings, group), field.name)
            if field.name in WITHOUT_EFFECT[group] or field.name == "devices":
                continue
            if isinstance(value, bool):
                changes.append(f"{group}.{field.name}={str(not value).lower()}")
            elif isinstance(value, int):
                changes.append(f"{group}.{field.name}=3")
            elif isinstance(value, float):
                changes.append(f"{group}.{field.name}={value / 2}")
    return changes


STOPPED = {
    "predict": (2, ensemble, "_predict_chunk", "predictions/gold", ("predict", "regime=gold")),
    "train": (
        *(1, small_line, "train_fold", "models/gold/3d_fullres"),
        ("train", "regime=gold", "grid.folds=[0,1]"),
    ),
}


@pytest.mark.slow
@pytest.mark.skipif("TWORULERS_ALL_KEYS" not in os.environ, reason="./scripts/campaign resume")
@pytest.mark.parametrize("change", list_changes())
@pytest.mark.parametrize("stage", STOPPED)
def test_any_setting_may_change_before_work_goes_on(
    stage: str, change: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, owner, name, result, (command_name, *given) = STOPPED[stage]
    asked = (command_name, *NETWORK, *given)
    stop_after(count, owner, name, monkeypatch, *asked)
    compare_with_clean(project, project / BASE / result, *asked, change)


MADE_BY: dict[str, tuple[str, int, Any, str, tuple[str, ...]]] = {
    "predict": ("recipe/fuse.py", *(2, ensemble, "_predict_chunk"), ("regime=gold",)),
    "annotate": ("recipe/fuse.py", *(3, ensemble, "_predict_chunk"), ("regime=gold",)),
    "train": (
        "recipe/loss.py",
        *(1, small_line, "train_fold"),
        ("regime=gold", "grid.folds=[0,1]"),
    ),
    "preprocess": ("recipe/resample.py", *(5, arrays, "store_image"), ()),
}
"""A file of the code behind each stage, and where the stage is stopped."""


@pytest.mark.parametrize(
    "stage",
    [
        "predict",
        *(pytest.param(one, marks=pytest.mark.slow) for one in MADE_BY if one != "predict"),
    ],
)
def test_work_interrupted_under_other_code_is_begun_anew(
    stage: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, count, owner, name, given = MADE_BY[stage]
    asked = (stage, *NETWORK, *given)
    shutil.copytree(small_line.ROOT / "src" / "tworulers", project / "src" / "tworulers")
    monkeypatch.setattr(code, "INSTALLED", project / "src")
    stop_after(count, owner, name, monkeypatch, *asked)
    for line, said in (("# A comment.", ""), ("OTHER = 1", f"begun anew: other code in {file}")):
        with (project / "src" / "tworulers" / file).open("a") as stream:
            stream.write(f"{line}\n")
        capsys.readouterr()
        stop_after(count if said else 0, owner, name, monkeypatch, *asked)
        told = capsys.readouterr().out
        assert said in told
        assert ("begun anew" in told) == bool(said)


def test_an_unchanged_prediction_goes_on_where_it_stopped(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("predict", "regime=gold", *NETWORK)
    stop_after(3, ensemble, "_predict_chunk", monkeypatch, *asked)
    # How the work is dealt out changes nothing: one exam is left to do, and a second one is not begun.
    asked = (*asked, "trainer.checkpoint_every=7", "trainer.workers=1")
    stop_after(1, ensemble, "_predict_chunk", monkeypatch, *asked, status=0)
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
