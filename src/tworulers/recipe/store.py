"""Prepared exams on disk: memory-mapped arrays, written whole or not at all.

An image is `<exam_id>.npy` with its geometry in `<exam_id>.npz`; a label likewise, with sampled
locations and, for validation, the label on the exam's own grid. Nothing is pickled.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.format import write_array

from tworulers.recipe.axes import ORDER
from tworulers.recipe.preprocess import FloatArray, Geometry, PreparedLabel
from tworulers.schema.atomic import written_beside
from tworulers.schema.damage import DAMAGE, reading

Array = npt.NDArray[Any]

SUM = "sha256"
"""The digest of an array's file, kept in the file beside it, whose own parts carry checksums."""

LEVEL = 1
"""How hard files are packed: maps of probabilities in a fifth of the time that zlib's own choice takes, 5 % larger."""


ANNOTATED = "annotated"


@dataclass(frozen=True)
class StoredExam:
    """An exam whose arrays are mapped anew at each access.

    A map holds a file descriptor as long as it lives, and a fold has more exams than a process may
    hold descriptors: take what is needed out of it and let it go.
    """

    exam_id: str
    images: Path
    labels: Path

    @property
    def image(self) -> Array:
        """(C, z, y, x), memory-mapped."""
        return open_image(self.images, self.exam_id)

    @property
    def label(self) -> Array:
        """(z, y, x) int8, memory-mapped."""
        return _map_array(self.labels / f"{self.exam_id}.npy", self.exam_id, "train")

    @cached_property
    def locations(self) -> Mapping[int, Array]:
        """Sampled voxels of each structure."""
        path = self.labels / f"{self.exam_id}.npz"
        with reading(path, "train", self.exam_id), np.load(path) as stored:
            return {int(k): stored[k] for k in stored.files if k.lstrip("-").isdigit()}

    @cached_property
    def annotated(self) -> Array | None:
        """Sampled voxels of all that somebody annotated; None where every voxel counts as annotated."""
        path = self.labels / f"{self.exam_id}.npz"
        with reading(path, "train", self.exam_id), np.load(path) as stored:
            return stored[ANNOTATED] if ANNOTATED in stored.files else None

    @property
    def original(self) -> npt.NDArray[np.uint8]:
        """The label on the exam's own grid."""
        path = self.labels / f"{self.exam_id}.npz"
        with reading(path, "train", self.exam_id), np.load(path) as stored:
            array: npt.NDArray[np.uint8] = stored["original"]
        return array


def is_stored(folder: Path, exam_id: str) -> bool:
    """Tell whether an exam's image or label is there whole; the file beside its array is written last."""
    return (folder / f"{exam_id}.npz").is_file()


def list_image_files(folder: Path, exam_id: str) -> tuple[Path, Path]:
    """List the files of an exam's image: its array and its geometry."""
    return folder / f"{exam_id}.npy", folder / f"{exam_id}.npz"


def store_image(
    folder: Path, exam_id: str, image: FloatArray, geometry: Geometry, dtype: str
) -> None:
    """Write an exam's prepared image as `dtype` and its geometry."""
    written = _save(folder / f"{exam_id}.npy", image.astype(dtype))
    inside = np.zeros(0, np.uint8) if geometry.inside is None else np.packbits(geometry.inside)
    _save_many(
        folder / f"{exam_id}.npz",
        {
            "axes": np.asarray(ORDER),
            "spacing": np.asarray(geometry.spacing),
            "target": np.asarray(geometry.target),
            "full_shape": np.asarray(geometry.full_shape),
            "box": np.asarray(geometry.box),
            "shape": np.asarray(geometry.shape),
            "transpose_forward": np.asarray(geometry.transpose_forward),
            "inside": inside,
            SUM: np.asarray(written),
        },
    )


def open_image(folder: Path, exam_id: str) -> Array:
    """Map an exam's prepared image (C, z, y, x)."""
    path = folder / f"{exam_id}.npy"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: the exam is not preprocessed.")
    return _map_array(path, exam_id, "preprocess")


def load_geometry(folder: Path, exam_id: str) -> Geometry:
    """Read how an exam's image was cut and resampled.

    Raises
    ------
    FileNotFoundError
        The exam is not prepared.
    ValueError
        It was prepared in another axis order.
    """
    path = folder / f"{exam_id}.npz"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: the exam is not preprocessed.")
    with reading(path, "preprocess", exam_id), np.load(path) as stored:
        axes = str(stored["axes"]) if "axes" in stored else ""
    if axes != ORDER:
        raise ValueError(
            f"{path} was prepared by an earlier version, along the file's axes and not as "
            f"{', '.join(ORDER)}: plan, preprocess and train again."
        )
    with reading(path, "preprocess", exam_id), np.load(path) as stored:
        box = tuple((int(low), int(high)) for low, high in stored["box"])
        cropped = tuple(high - low for low, high in box)
        packed, inside = stored["inside"], None
        if packed.size:
            voxels = int(np.prod(cropped))
            inside = np.unpackbits(packed, count=voxels).astype(bool).reshape(cropped)
        return Geometry(
            spacing=tuple(float(s) for s in stored["spacing"]),
            target=tuple(float(s) for s in stored["target"]),
            full_shape=tuple(int(n) for n in stored["full_shape"]),
            box=box,
            shape=tuple(int(n) for n in stored["shape"]),
            transpose_forward=tuple(int(a) for a in stored["transpose_forward"]),
            inside=inside,
        )


def store_label(folder: Path, exam_id: str, prepared: PreparedLabel, original: Array) -> None:
    """Write an exam's prepared label, its locations, and the label on its own grid."""
    written = _save(folder / f"{exam_id}.npy", prepared.array)
    small = max(prepared.array.shape) < np.iinfo(np.int16).max
    index = np.int16 if small else np.int32
    locations = {str(value): voxels.astype(index) for value, voxels in prepared.locations.items()}
    if prepared.annotated is not None:
        locations[ANNOTATED] = prepared.annotated.astype(index)
    kept = {**locations, "original": original.astype(np.uint8), SUM: np.asarray(written)}
    _save_many(folder / f"{exam_id}.npz", kept)


def store_probabilities(folder: Path, exam_id: str, probabilities: FloatArray) -> None:
    """Write foreground probabilities (K, a0, a1, a2, background first) in steps of 1/255."""
    steps = np.rint(probabilities[1:] * 255).astype(np.uint8)
    _save_many(folder / f"{exam_id}.npz", {"foreground": steps})


def load_probabilities(folder: Path, exam_id: str) -> FloatArray:
    """Read probabilities (K, a0, a1, a2), background first, back from their steps."""
    path = folder / f"{exam_id}.npz"
    with reading(path, "train", exam_id), np.load(path) as stored:
        foreground = stored["foreground"].astype(np.float32) / 255
    background = np.clip(1 - foreground.sum(axis=0, keepdims=True), 0, 1)
    return np.concatenate([background, foreground])


def load_sum(folder: Path, exam_id: str) -> str:
    """Read the SHA-256 that an exam's array was written with; nothing where none was kept yet."""
    path = folder / f"{exam_id}.npz"
    with reading(path, "preprocess", exam_id), np.load(path) as stored:
        return str(stored[SUM]) if SUM in stored else ""


def is_whole(folder: Path, exam_id: str) -> bool:
    """Tell whether an exam's files are there and hold what was written: that is read."""
    if not is_stored(folder, exam_id):
        return False
    try:
        with np.load(folder / f"{exam_id}.npz") as stored:
            arrays = {name: stored[name] for name in stored.files}
        found = _digest(folder / f"{exam_id}.npy")
    except DAMAGE:
        return False
    return str(arrays.get(SUM, found)) == found


def _map_array(path: Path, exam_id: str, maker: str) -> Array:
    with reading(path, maker, exam_id):
        array: Array = np.load(path, mmap_mode="r")
    return array


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _save(path: Path, array: Array) -> str:
    """Write an array, and return the SHA-256 of its file."""
    with written_beside(path) as temporary:
        with temporary.open("wb") as stream:
            np.save(stream, array, allow_pickle=False)
        return _digest(temporary)


def _save_many(path: Path, arrays: Mapping[str, Array]) -> None:
    with (
        written_beside(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as packed,
    ):
        for name, array in arrays.items():
            with packed.open(f"{name}.npy", "w", force_zip64=True) as stream:
                write_array(stream, np.asanyarray(array), allow_pickle=False)
