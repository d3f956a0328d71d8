"""A trained regime as a MONAI bundle: weights, configuration, metadata, and the code that predicts with them."""

import ast
import re
import shutil
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, made_by, read_json, require, write_json
from tworulers.monai.inference import DATASET, HOW, MODELS, PLANS
from tworulers.recipe.plan import IGNORE
from tworulers.recipe.task import FINAL
from tworulers.schema.settings import Settings
from tworulers.training.folds import fold_folders
from tworulers.training.plans import read_plans

OURS, THEIRS = "tworulers", "scripts"
"""The package that the code comes from, and what it is called within a bundle."""

ENTRY = "tworulers.monai.inference"
NEEDED = ("monai", "torch", "numpy", "scipy", "nibabel", "connected-components-3d")
COMMANDED_BY = "fire"
"""What MONAI's own command runs on."""

VERSION = "1.0.0"
INFERENCE = {
    "imports": ["$from scripts.monai.inference import predict_folder"],
    "bundle_root": ".",
    "images": "$@bundle_root + '/images'",
    "output": "$@bundle_root + '/predictions'",
    "device": "cpu",
    "run": ["$predict_folder(@bundle_root, @images, @output, @device)"],
}
"""What `python -m monai.bundle run` does; every value may be given on its command line."""


def write_bundle(settings: Settings, layout: Layout, folder: Path) -> Path:
    """Write what a regime predicts with as a bundle, whole or not at all.

    Parameters
    ----------
    settings, layout : the regime, and where its folds and its selection lie.
    folder : the bundle; one that an earlier export left there is replaced.

    Raises
    ------
    FileNotFoundError : the regime is not trained, or no configuration of it was selected.
    ForeignFolderError : something else stands there.
    """
    regime = settings.regime
    choice = read_json(require(layout.choice(regime.name), made_by("select")), "select")
    how = {
        "members": choice["members"],
        "mirror": settings.recipe.mirror,
        "tile_overlap": settings.recipe.tile_overlap,
        "accumulate": settings.recipe.accumulate,
        "cleanup": choice["cleanup"],
        "cleanup_reason": choice["cleanup_reason"],
    }
    with folder_written_beside(folder) as beside:
        models = beside / MODELS
        for name in choice["members"]:
            (models / name).mkdir(parents=True)
            for fold in fold_folders(require(layout.model(regime.name, name), made_by("train"))):
                weights = require(fold / FINAL, made_by("train"))
                shutil.copyfile(weights, models / name / f"{fold.name}.pt")
        shutil.copyfile(layout.plans, models / PLANS)
        shutil.copyfile(layout.planned_dataset, models / DATASET)
        write_json(how, models / HOW)
        write_json(INFERENCE, beside / "configs" / "inference.json")
        write_json(describe_bundle(settings, layout), beside / "configs" / "metadata.json")
        write_scripts(beside / THEIRS)
        (beside / "docs").mkdir()
        (beside / "docs" / "README.md").write_text(tell_use(settings), encoding="utf-8")
    return folder


def describe_bundle(settings: Settings, layout: Layout) -> dict[str, object]:
    """Describe a bundle as MONAI's metadata do: versions, task, and what goes in and comes out."""
    plans, facts = read_plans(layout.plans, layout.planned_dataset)
    names = {
        str(value): name
        for name, value in sorted(facts.labels.items(), key=lambda one: one[1])
        if name != IGNORE
    }
    channels = {str(index): name for index, name in enumerate(facts.channel_names)}
    image = {"type": "image", "format": "magnitude", "modality": "MR", "is_patch_data": False}
    shape = {"spatial_shape": ["*", "*", "*"], "dtype": "float32", "value_range": []}
    return {
        "version": VERSION,
        "changelog": {VERSION: f"written by {OURS} {version(OURS)}"},
        "monai_version": version("monai"),
        "pytorch_version": version("torch").partition("+")[0],
        "numpy_version": version("numpy"),
        "required_packages_version": {name: version(name) for name in NEEDED[3:]},
        "name": f"{settings.dataset.name} {settings.regime.name}",
        "task": f"Segmentation of {', '.join(settings.dataset.structures or names.values())}",
        "description": f"Residual-encoder U-Nets of nnU-Net's recipe, plans {plans.plans_name}, trained on "
        f"{settings.regime.title or settings.regime.name}.",
        "authors": f"made with {OURS}",
        "copyright": "of whoever trained the networks",
        "network_data_format": {
            "inputs": {
                "image": {**image, **shape, "num_channels": len(channels), "channel_def": channels}
            },
            "outputs": {
                "pred": {
                    **{"type": "image", "format": "segmentation", "is_patch_data": False},
                    **{"spatial_shape": ["*", "*", "*"], "dtype": "uint8", "num_channels": 1},
                    **{"value_range": [0, facts.n_classes - 1], "channel_def": names},
                }
            },
        },
    }


def write_scripts(folder: Path) -> None:
    """Copy the code that predicts, with all of ours that it imports, under the bundle's own name for it."""
    source = Path(require_origin(OURS)).parent
    for path in list_modules(ENTRY, source):
        target = folder / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        target.write_text(re.sub(rf"\b{OURS}\.(?=[a-z])", f"{THEIRS}.", text), encoding="utf-8")
    for package in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        (package / "__init__.py").write_text('"""Part of a bundle."""\n', encoding="utf-8")


def list_modules(entry: str, source: Path) -> list[Path]:
    """List the files of ours that a module runs on, itself included; packages around them do nothing."""
    pending, files = [entry], set()
    while pending:
        name = pending.pop()
        path = source.joinpath(*name.split(".")[1:]).with_suffix(".py")
        if path in files or not path.is_file():
            continue
        files.add(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{OURS}."):
                pending += [str(node.module), *(f"{node.module}.{one.name}" for one in node.names)]
    return sorted(files)


def require_origin(package: str) -> str:
    """Return the file that a package begins with."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return spec.origin


def tell_use(settings: Settings) -> str:
    """Write how the bundle is run, and what it was trained on."""
    return f"""# {settings.dataset.name}: {settings.regime.name}

Trained on {settings.regime.title or settings.regime.name}. Run from this folder, in an environment with
{", ".join(NEEDED)}:

    python -m monai.bundle run --config_file configs/inference.json --images DIR --output DIR

Images are `<exam>_0000.nii.gz`, further channels `_0001` and so on; label maps are `<exam>.nii.gz`. `--device gpu`
predicts on a GPU.
"""
