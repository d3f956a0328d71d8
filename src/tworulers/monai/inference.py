"""How a bundle predicts: its networks on every exam of a folder. A bundle carries this file and what it imports."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np

from tworulers.recipe.axes import reverse_axes
from tworulers.recipe.clean import CleanUp
from tworulers.recipe.plan import DatasetFacts, Plans
from tworulers.recipe.plan_json import facts_from_json, plans_from_json
from tworulers.recipe.predict import ExamPredictor, PreparedImage, load_member
from tworulers.recipe.preprocess import preprocess_image
from tworulers.schema.settings import Recipe, Trainer

MODELS, PLANS, DATASET, HOW = "models", "plans.json", "dataset.json", "prediction.json"
ENDING = ".nii.gz"


def predict_folder(root: str, images: str, output: str, device: str = "cpu") -> list[str]:
    """Write the label map of every exam of a folder.

    Parameters
    ----------
    root : the bundle.
    images : folder of `<exam>_0000.nii.gz`, further channels as `_0001` and so on.
    output : folder of the label maps, `<exam>.nii.gz`, made where it is not there.
    device : `cpu` or `gpu`.

    Returns
    -------
    The exams that were predicted.

    Raises
    ------
    ValueError : no exam is there, or one lacks a channel; all are listed.
    """
    _, facts = read_plans(Path(root))
    exams = find_exams(Path(images), len(facts.channel_names))
    how = read_json(Path(root) / MODELS / HOW)
    predictor = load_predictor(Path(root), Trainer(accelerator=device))
    cleanup = CleanUp(tuple(map(tuple, how["cleanup"])), how["cleanup_reason"])
    Path(output).mkdir(parents=True, exist_ok=True)
    prepared = (
        PreparedImage(exam, prepare_exam(Path(root), *read_channels(files)))
        for exam, files in exams.items()
    )
    for exam, fused in zip(exams, predictor.predict_exams(prepared), strict=True):
        first = nib.load(exams[exam][0])
        label = reverse_axes(cleanup.apply(fused.label_map)).astype(np.uint8)
        nib.save(nib.Nifti1Image(label, first.affine), Path(output) / f"{exam}{ENDING}")
    return list(exams)


def load_predictor(
    root: Path, trainer: Trainer, how: Mapping[str, Any] | None = None
) -> ExamPredictor:
    """Load all networks of a bundle, tiled and mirrored as it says unless told otherwise."""
    plans, facts = read_plans(root)
    how = how or read_json(root / MODELS / HOW)
    networks = {
        name: [
            load_member(file, plans.configuration(name), facts) for file in list_weights(root, name)
        ]
        for name in how["members"]
    }
    recipe = Recipe(
        mirror=how["mirror"], tile_overlap=how["tile_overlap"], accumulate=how["accumulate"]
    )
    return ExamPredictor(plans, facts, networks, recipe, trainer)


def prepare_exam(
    root: Path, image: np.ndarray[Any, Any], spacing: tuple[float, ...]
) -> dict[str, Any]:
    """Prepare an image (C, z, y, x) for every configuration that predicts."""
    plans, _ = read_plans(root)
    members = read_json(root / MODELS / HOW)["members"]
    return {name: preprocess_image(image, spacing, plans, name) for name in members}


def list_weights(root: Path, configuration: str) -> list[Path]:
    """List the weights of a configuration's folds."""
    return sorted((root / MODELS / configuration).glob("fold_*.pt"))


def read_plans(root: Path) -> tuple[Plans, DatasetFacts]:
    """Read the plans of a bundle, and which channels and labels they are for."""
    plans = plans_from_json(read_json(root / MODELS / PLANS))
    return plans, facts_from_json(read_json(root / MODELS / DATASET))


def find_exams(folder: Path, channels: int) -> dict[str, list[Path]]:
    """Find the files of every exam of a folder, channel by channel."""
    first = sorted(folder.glob(f"*_0000{ENDING}"))
    exams = {
        path.name.removesuffix(f"_0000{ENDING}"): [
            path.with_name(path.name.replace(f"_0000{ENDING}", f"_{channel:04d}{ENDING}"))
            for channel in range(channels)
        ]
        for path in first
    }
    lacking = [str(file) for files in exams.values() for file in files if not file.is_file()]
    if not exams or lacking:
        raise ValueError(
            f"expected {channels} files an exam in {folder}, <exam>_0000{ENDING} and so on; "
            + (f"there is no {', '.join(lacking)}" if lacking else "there is none")
        )
    return exams


def read_channels(files: list[Path]) -> tuple[np.ndarray[Any, Any], tuple[float, ...]]:
    """Read an exam's channels as (C, z, y, x), with its voxel edges in mm in that order."""
    opened = [nib.load(file) for file in files]
    volumes = [np.asarray(one.dataobj, np.float32) for one in opened]
    edges = np.linalg.norm(opened[0].affine[:3, :3], axis=0)
    return reverse_axes(np.stack(volumes)), tuple(float(edge) for edge in edges[::-1])


def read_json(path: Path) -> Any:
    """Read a JSON file of a bundle."""
    return json.loads(path.read_text(encoding="utf-8"))
