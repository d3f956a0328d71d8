"""What the networks' stages hand to each other, through the commands: axes, mirroring and fields of the plan.

Files are read as nnU-Net reads them, and label maps are written on the axes of the files.

Every exam differs in size, voxel and content along x, y and z, so that no two axes can be mistaken for each other.
"""

import gzip
import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from tworulers.io.images import write_image, write_label
from tworulers.io.records import write_json, write_table
from tworulers.recipe.interop import TrainedModel, export_trained_model, load_trained_model
from tworulers.recipe.plan_json import facts_from_json, plans_from_json
from tworulers.recipe.predict import ExamPredictor, PreparedImage, load_member
from tworulers.recipe.preprocess import preprocess_image
from tworulers.schema.settings import Recipe, Trainer

ROOT = Path(__file__).parents[2]
SHAPE, SPACING = (8, 24, 16), (3.0, 1.25, 1.5)
AFFINE = np.array([[0, -1.25, 0, 9], [0, 0, 1.5, -4], [-3.0, 0, 0, 2], [0, 0, 0, 1.0]])
EXAMS = ("one", "two", "three", "four")
BASE = Path("artifacts/phantom")
ASKED = (
    "grid.regimes=[gold]", "grid.folds=[0]", "grid.configurations=[3d_fullres]", "tracking=off",
    "recipe.plan.space_to_depth=1", "recipe.plan.stages=2", "recipe.epochs=2", "recipe.iterations=8",
    "recipe.validation_iterations=1", "recipe.cleanup=none", "processes=1",
)  # fmt: skip


def draw_exam(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """An image and its label (x, y, z): a wedge that grows along y, with a bar in its last slices."""
    rng = np.random.default_rng(seed)
    x, y, z = np.indices(SHAPE)
    label = ((z < y / 2) & (x > 1)).astype(np.uint8)
    label[6:, 4:20, 12:] = 2
    return (100 + 60.0 * label + rng.normal(0, 8, SHAPE)).astype(np.float32), label


def command(stage: str, *overrides: str) -> None:
    """Run a stage as `python -m` does, in this process."""
    sys.argv = [stage, *ASKED, *overrides]
    runpy.run_module(f"tworulers.stages.{stage}", run_name="__main__", alter_sys=True)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four exams taken through plan, preprocess, train and predict."""
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "conf", project / "conf")
    shutil.copy(ROOT / "dvc.yaml", project)
    for seed, exam in enumerate(EXAMS):
        image, label = draw_exam(seed)
        write_image(project / f"{exam}.nii.gz", image, AFFINE)
        write_label(project / f"{exam}_label.nii.gz", label, AFFINE)
    cohort = pd.DataFrame({"exam_id": EXAMS, "patient_id": EXAMS})
    cohort["image"] = cohort["exam_id"] + ".nii.gz"
    cohort["label"] = cohort["exam_id"] + "_label.nii.gz"
    unknown = ("sex", "age", "race", "ethnicity", "manufacturer", "field_strength_t")
    cohort = cohort.assign(provenance="gold", age_over_89=False, **dict.fromkeys(unknown))
    cohort = cohort.assign(spacing="3x1.25x1.5", shape="8x24x16")
    splits = cohort[["exam_id", "patient_id", "provenance"]].assign(regime="gold", stratum="all")
    splits["split"] = ["train", "train", "val", "test"]
    splits["fold"] = pd.array([1, 1, 0, None], dtype="Int64")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        patch.setattr(sys, "argv", [])
        write_table(cohort, BASE / "cohort" / "cohort.parquet")
        write_table(splits, BASE / "split" / "splits.parquet")
        command("plan")
        command("preprocess")
        command("train", "regime=gold")
        choice = {"members": ["3d_fullres"], "cleanup": [], "cleanup_reason": "none"}
        write_json(choice, BASE / "selection" / "gold" / "choice.json")
        command("predict", "regime=gold")
    return project


def read_as_peer(path: Path) -> np.ndarray:
    """The voxels as they lie in the file, x fastest: what SimpleITK shows as (z, y, x)."""
    image = nib.load(path)
    content = gzip.decompress(path.read_bytes())[int(image.dataobj.offset) :]
    return np.frombuffer(content, image.get_data_dtype()).reshape(SHAPE[::-1])


def test_the_plan_is_of_the_order_that_its_reader_gives(project: Path) -> None:
    plans = json.loads((project / BASE / "plan" / "plans.json").read_text())
    fingerprint = json.loads((project / BASE / "plan" / "fingerprint.json").read_text())
    assert plans["image_reader_writer"] == "SimpleITKIO"
    assert fingerprint["spacings"] == [list(SPACING[::-1])] * 3
    assert fingerprint["shapes_after_crop"] == [list(SHAPE[::-1])] * 3
    assert plans["transpose_forward"] == [2, 0, 1]
    full = plans["configurations"]["3d_fullres"]
    assert full["channels_last"], "a narrow volume network, in the layout that its plan keeps"
    assert "channels_last" not in plans["configurations"]["2d"]
    assert (full["spacing"], full["patch_size"]) == ([3.0, 1.5, 1.25], [8, 16, 24])


def test_prepared_images_are_the_files_voxels_in_the_plans_order(project: Path) -> None:
    stored = np.load(next((project / BASE).glob("**/3d_fullres/four.npy")))
    image = read_as_peer(project / "four.nii.gz").transpose(2, 0, 1)
    standard = (image - image.mean()) / image.std()
    np.testing.assert_allclose(stored[0], standard, atol=2e-3)


def test_an_exported_model_predicts_the_same_label_map_from_the_peers_arrays(project: Path) -> None:
    written = nib.load(next((project / BASE / "predictions" / "gold").glob("**/four.nii.gz")))
    assert written.shape == SHAPE
    np.testing.assert_allclose(written.affine, AFFINE, atol=1e-5)
    plan = project / BASE / "plan"
    plans = plans_from_json(json.loads((plan / "plans.json").read_text()))
    facts = facts_from_json(json.loads((plan / "dataset.json").read_text()))
    weights = next((project / BASE).glob("models/gold/3d_fullres/fold_0/final.pt"))
    fold = load_member(weights, plans.configuration("3d_fullres"), facts)
    model = TrainedModel(plans, facts, "3d_fullres", fold.mirror_axes, {"0": fold.network})
    exported = load_trained_model(export_trained_model(model, project / "exported"))
    prepared = preprocess_image(
        read_as_peer(project / "four.nii.gz")[None], SPACING[::-1], exported.plans, "3d_fullres"
    )
    predictor = ExamPredictor(
        exported.plans,
        exported.facts,
        {"3d_fullres": exported.members},
        Recipe(),
        Trainer(),
    )
    fused = next(predictor.predict_exams([PreparedImage("four", {"3d_fullres": prepared})]))
    label = read_as_peer(Path(written.get_filename()))
    assert label.any()
    assert (fused.label_map != label).mean() < 0.002, "but for the rounding of float16 arrays"


def test_a_network_that_learnt_without_mirroring_is_not_mirrored(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setattr(sys, "argv", [])
    (label,) = (project / BASE / "predictions" / "gold").glob("**/four.nii.gz")
    before = read_as_peer(label)
    label.unlink()
    command("predict", "regime=gold", "recipe.mirror=true")
    np.testing.assert_array_equal(read_as_peer(label), before)


def test_a_plan_that_asks_for_another_resampling_is_refused(
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    copy = Path(shutil.copytree(project, tmp_path / "project"))
    file = copy / BASE / "plan" / "plans.json"
    plans = json.loads(file.read_text())
    plans["configurations"]["3d_fullres"]["resampling_fn_data"] = "resample_torch_fornnunet"
    file.write_text(json.dumps(plans))
    monkeypatch.chdir(copy)
    monkeypatch.setattr(sys, "argv", [])
    with pytest.raises(SystemExit):
        command("preprocess")
    assert "resampling_fn_data is 'resample_torch_fornnunet'" in capsys.readouterr().err


def test_results_of_another_axis_order_are_refused(
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    copy = tmp_path / "project"
    shutil.copytree(project, copy)
    made_for = copy / BASE / "plan" / "recipe.json"
    made_for.write_text(json.dumps({"recipe": "tiny"}))
    monkeypatch.chdir(copy)
    monkeypatch.setattr(sys, "argv", [])
    with pytest.raises(SystemExit):
        command("preprocess")
    assert "planned by an earlier version" in capsys.readouterr().err


def results_of(project: Path, regime: str) -> np.ndarray:
    return read_as_peer(project / BASE / "predictions" / regime / "labels" / "four.nii.gz")


def test_a_model_goes_out_to_nnunet_by_command_and_comes_in_as_another_regime(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    command("export", "regime=gold", "export.folder=for_nnunet")
    (model,) = (project / "for_nnunet").glob("*/nnUNetTrainer__*__3d_fullres")
    assert (model / "fold_0" / "checkpoint_final.pth").is_file()
    assert load_trained_model(model).networks.keys() == {"0"}
    came = ("regime=gold", "regime.name=theirs", f"regime.models=[{model}]")
    command("predict", *came)
    ours, theirs = results_of(project, "gold"), results_of(project, "theirs")
    assert (ours != theirs).mean() < 0.002, "but for the rounding of float16 arrays"
    command("predict", "regime=gold", "regime.name=quick", came[2], "inference=fast")
    assert 0 < (results_of(project, "quick") != theirs).mean() < 0.2, "quicker, and not the same"
    command("score", *came, "ruler=gold")
    scores = pd.read_parquet(BASE / "scores" / "theirs" / "gold" / "scores.parquet")
    assert set(scores["exam_id"]) == {"four"}
    assert scores.query("metric == 'dice'")["value"].notna().all()
    with pytest.raises(SystemExit):
        command("export", "regime=gold", "export.folder=for_nnunet")
    assert "is there already and was left as it is" in capsys.readouterr().err


@pytest.fixture
def copied(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project for a test that changes its results, with the folder of its predictions."""
    copy = Path(shutil.copytree(project, tmp_path / "copied"))
    monkeypatch.chdir(copy)
    monkeypatch.setattr(sys, "argv", [])
    return copy / BASE / "predictions" / "gold"


def test_a_faster_inference_is_named_by_the_predictions_and_the_scores(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = "inference=fast: no mirror images, tiles at steps of 0.75 of their edges, bf16-mixed"
    scored = BASE / "scores" / "gold"

    def score(ruler: str) -> tuple[dict, dict]:
        command("score", "regime=gold", f"ruler={ruler}")
        folder = scored / ruler
        return tuple(json.loads((folder / f).read_text()) for f in ("summary.json", "run.json"))

    assert json.loads((copied / "inference.json").read_text()) == {"inference": ""}
    for content in score("silver"):
        assert not any("inference" in name for name in {**content, **content.get("tags", {})})
    command("predict", "regime=gold", "inference=fast")
    assert f"1 networks of gold ({told})" in capsys.readouterr().out
    assert json.loads((copied / "inference.json").read_text()) == {"inference": told}
    run = json.loads((copied / "run.json").read_text())
    assert run["tags"]["inference"] == told
    assert told in run["description"]
    facts, run = score("gold")
    assert facts["inference"] == run["tags"]["inference"] == told
    assert "inference_of_ruler" not in facts
    facts, run = score("silver")
    assert facts["inference_of_ruler"] == run["tags"]["inference_of_ruler"] == told


def test_maps_agree_with_the_label_map_and_the_confidence(copied: Path) -> None:
    label_file = copied / "labels" / "four.nii.gz"
    before = label_file.read_bytes()
    command("predict", "regime=gold", "inference.maps=[probability,uncertainty]")
    assert label_file.read_bytes() == before, "maps change no label"
    names = json.loads((BASE / "plan" / "dataset.json").read_text())["labels"]
    label = np.asarray(nib.load(label_file).dataobj)
    foreground = {}
    for name, value in names.items():
        if value:
            (file,) = (copied / "probability").glob(f"{name}*/four.nii.gz")
            image = nib.load(file)
            assert image.get_data_dtype() == np.uint8
            np.testing.assert_array_equal(image.affine, nib.load(label_file).affine)
            foreground[value] = np.asarray(image.dataobj)
    probabilities = np.stack([1 - sum(foreground.values()), *foreground.values()])
    step = 1 / 255
    best = np.take_along_axis(probabilities, label[None].astype(int), axis=0)[0]
    assert (best >= probabilities.max(axis=0) - 2 * step).all(), "no clean-up acts here"
    entropy = np.asarray(nib.load(copied / "uncertainty" / "four.nii.gz").dataobj)
    assert 0 <= entropy.min() < entropy.max() <= np.log(len(names)) + 1e-6
    sure = pd.read_parquet(copied / "confidence.parquet").iloc[0]
    assert (label > 0).any()
    means = entropy[label > 0].mean(), best[label > 0].mean()
    np.testing.assert_allclose(
        means, (sure["mean_entropy"], sure["mean_top_probability"]), atol=step
    )


WITHOUT_US = """
import runpy, sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"tworulers", "pytorch_lightning", "mlflow", "hydra", "pandas.plotting"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Block())
sys.path.insert(0, "")
runpy.run_module("monai.bundle", run_name="__main__", alter_sys=True)
"""
"""MONAI's command where nothing of ours is installed."""


@pytest.mark.slow
def test_a_regime_goes_out_as_a_bundle_that_monai_runs_without_us_and_comes_in_again(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    command("export", "regime=gold", "export.folder=bundle", "export.form=monai")
    bundle = project / "bundle"
    images = project / "images"
    images.mkdir()
    shutil.copy(project / "four.nii.gz", images / "four_0000.nii.gz")
    asked = (
        "run",
        "--config_file",
        "configs/inference.json",
        "--images",
        str(images),
        "--output",
        "out",
    )
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run(
        [sys.executable, "-c", WITHOUT_US, *asked],
        cwd=bundle,
        env=environment,
        check=True,
        capture_output=True,
    )
    ours = results_of(project, "gold")
    theirs = read_as_peer(bundle / "out" / "four.nii.gz")
    assert (ours != theirs).mean() < 0.002, "but for the rounding of float16 arrays"
    metadata = json.loads((bundle / "configs" / "metadata.json").read_text())
    assert metadata["network_data_format"]["outputs"]["pred"]["channel_def"]["0"] == "background"
    assert not [
        path
        for path in (bundle / "scripts").rglob("*.py")
        if "import tworulers" in path.read_text()
    ]
    command("predict", "regime=gold", "regime.name=bundled", "regime.models=[bundle]")
    assert np.array_equal(results_of(project, "bundled"), theirs)
    command(
        "predict", "regime=gold", "regime.name=quick", "regime.models=[bundle]", "inference=fast"
    )
    assert 0 < (results_of(project, "quick") != theirs).mean() < 0.2, "quicker, and not the same"


def test_every_fault_of_a_model_from_elsewhere_is_told_at_once(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    tiny = ROOT / "tests" / "golden" / "tiny_model"
    other = project / "Dataset001" / "nnUNetTrainer__nnUNetResEncUNetLPlans__3d_fullres"
    shutil.copytree(tiny, other)
    with pytest.raises(SystemExit):
        command("predict", "regime.name=theirs", "regime=gold", f"regime.models=[{other},nowhere]")
    said = capsys.readouterr().err
    assert "nowhere is no folder of a trained model: it lacks plans.json, dataset.json" in said
    with pytest.raises(SystemExit):
        command("predict", "regime=gold", f"regime.models=[{other}]", "regime.checkpoint=best.pth")
    assert "regime.checkpoint may be checkpoint_final.pth" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command("predict", "regime=gold", f"regime.models=[{other}]")
    said = capsys.readouterr().err
    assert "labels {'a': 1, 'b': 2}, dataset.structures are" in said
    assert not (project / BASE / "predictions" / "theirs" / "labels" / "one.nii.gz").exists()
