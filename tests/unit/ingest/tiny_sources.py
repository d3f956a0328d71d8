"""Small data sources in every layout, made by numpy and nibabel alone, for tests of ingestion."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

import nibabel as nib
import numpy as np

SHAPE = (8, 10, 6)
AFFINE = np.diag([0.5, 0.5, 4.0, 1.0]) + np.array(
    [[0, 0, 0, -10], [0, 0, 0, 20], [0, 0, 0, 30], [0] * 4]
)
STRUCTURES = {"vertebra": 1, "disc": 2}


def draw_label() -> np.ndarray:
    """72 voxels of structure 1 and 32 of structure 2."""
    label = np.zeros(SHAPE, np.uint8)
    label[1:5, 1:7, 1:4] = 1
    label[1:5, 7:9, 1:5] = 2
    return label


def draw_image(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(100, 20, SHAPE).astype(np.int16)


def save(
    path: Path,
    array: np.ndarray,
    affine: np.ndarray = AFFINE,
    slope: float | None = None,
    inter: float = 0.0,
) -> Path:
    """Write a NIfTI file, its stored values scaled by a slope where one is given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = nib.Nifti1Image(array, affine, dtype=array.dtype)
    if slope is not None:
        image.header.set_slope_inter(slope, inter)
        stored = ((array - inter) / slope).astype(np.int16)
        image = nib.Nifti1Image(stored, affine, image.header)
        image.header.set_data_dtype(np.int16)
        content = bytearray(image.to_bytes())
        content[112:120] = np.array([slope, inter], "<f4").tobytes()
        (path.write_bytes(gzip.compress(bytes(content), mtime=0)))
        return path
    nib.save(image, path)
    return path


def make_nnunet(root: Path, exams: Iterable[str], labels: dict[str, int] | None = None) -> Path:
    """Write a sound nnU-Net folder; every exam has its own image."""
    names = list(exams)
    declared = {"background": 0, **(labels or STRUCTURES)}
    content = {"channel_names": {"0": "T2"}, "labels": declared, "file_ending": ".nii.gz"}
    root.mkdir(parents=True, exist_ok=True)
    (root / "dataset.json").write_text(json.dumps({**content, "numTraining": len(names)}))
    for seed, exam in enumerate(names):
        save(root / "imagesTr" / f"{exam}_0000.nii.gz", draw_image(seed))
        save(root / "labelsTr" / f"{exam}.nii.gz", np.roll(draw_label(), seed % 3, axis=2))
    return root


def make_decathlon(root: Path, exams: Iterable[str]) -> Path:
    """Write a sound Decathlon folder."""
    names = list(exams)
    training = [
        {"image": f"./imagesTr/{exam}.nii.gz", "label": f"./labelsTr/{exam}.nii.gz"}
        for exam in names
    ]
    labels = {"0": "background", **{str(value): name for name, value in STRUCTURES.items()}}
    content = {"modality": {"0": "MRI"}, "labels": labels, "numTraining": len(names)}
    root.mkdir(parents=True, exist_ok=True)
    (root / "dataset.json").write_text(json.dumps({**content, "training": training}))
    for seed, exam in enumerate(names):
        save(root / "imagesTr" / f"{exam}.nii.gz", draw_image(seed))
        save(root / "labelsTr" / f"{exam}.nii.gz", draw_label())
    return root
