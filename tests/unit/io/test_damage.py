"""What was written is read back as it was or not at all: many changed bytes, at seeded places, in all kinds of file."""

from collections.abc import Callable
from pathlib import Path

import nibabel
import numpy as np
import pandas as pd
import pytest
import torch

from tworulers.io.images import ImageError, read_image
from tworulers.io.records import read_json, read_table, write_json, write_table
from tworulers.io.resume import read_stamp
from tworulers.recipe.archive import load_archive
from tworulers.recipe.checkpoints import find_checkpoint
from tworulers.recipe.preprocess import Geometry
from tworulers.recipe.store import is_whole, load_geometry, load_sum, open_image, store_image
from tworulers.schema.damage import DamagedError

CHANGES = 60
GEOMETRY = Geometry(
    (1.0,) * 3, (1.0,) * 3, (4, 5, 6), ((0, 4), (0, 5), (0, 6)), (4, 5, 6), (0, 1, 2)
)


def write_frame(folder: Path) -> Path:
    frame = pd.DataFrame({"exam_id": [f"e{n}" for n in range(40)], "value": np.arange(40.0)})
    write_table(frame.assign(why=None), folder / "table.parquet")
    return folder / "table.parquet"


def write_weights(folder: Path) -> Path:
    with (folder / "final.pt").open("wb") as stream:
        torch.save({"weights": torch.arange(50.0), "epoch": 3}, stream)
    return folder / "final.pt"


def write_volume(folder: Path) -> Path:
    voxels = np.random.default_rng(0).integers(0, 9, (6, 6, 6)).astype(np.int16)
    nibabel.save(nibabel.Nifti1Image(voxels, np.eye(4)), folder / "e1.nii.gz")
    return folder / "e1.nii.gz"


def write_geometry(folder: Path) -> Path:
    store_image(folder, "e1", np.zeros((1, 4, 5, 6), np.float32), GEOMETRY, "float32")
    return folder / "e1.npz"


def write_document(folder: Path) -> Path:
    write_json({"a": 1, "b": [1, 2, {"c": None}]}, folder / "made.json")
    return folder / "made.json"


Kind = tuple[Callable[[Path], Path], Callable[[Path], object]]
KINDS: dict[str, Kind] = {
    "table": (write_frame, lambda path: read_table(path, "score").to_json()),
    "weights": (write_weights, lambda path: load_archive(path)["weights"].tolist()),
    "volume": (write_volume, lambda path: read_image(path).array.tolist()),
    "geometry": (write_geometry, lambda path: load_geometry(path.parent, "e1")),
    "document": (write_document, lambda path: read_json(path, "plan")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_short_or_emptied_is_named(kind: str, tmp_path: Path) -> None:
    write, read = KINDS[kind]
    path = write(tmp_path)
    content = path.read_bytes()
    assert read(path) is not None
    for size in (0, 1, len(content) // 3, len(content) // 2, len(content) - 2):
        path.write_bytes(content[:size])
        with pytest.raises((DamagedError, ImageError), match=path.name):
            read(path)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "document"])
def test_a_changed_byte_is_seen_or_changes_nothing(kind: str, tmp_path: Path) -> None:
    write, read = KINDS[kind]
    path = write(tmp_path)
    content, before = path.read_bytes(), read(path)
    seen = 0
    for place in np.random.default_rng(0).integers(0, len(content), CHANGES):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
        found, said = read_or_hear(read, path)
        assert found == before or path.name in said
        seen += bool(said)
    assert seen > CHANGES / 4


def read_or_hear(read: Callable[[Path], object], path: Path) -> tuple[object, str]:
    """What a file holds, or what is said of it."""
    try:
        return read(path), ""
    except ValueError as error:
        return None, str(error)


def test_a_changed_array_is_seen_by_its_digest(tmp_path: Path) -> None:
    write_geometry(tmp_path)
    assert is_whole(tmp_path, "e1")
    path = tmp_path / "e1.npy"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"\x01")
    assert load_sum(tmp_path, "e1") != ""
    assert not is_whole(tmp_path, "e1")
    path.write_bytes(content[:-8])
    with pytest.raises(DamagedError, match=r"exam e1: .*e1.npy is damaged .*stages.preprocess"):
        open_image(tmp_path, "e1")


def test_the_older_checkpoint_is_used_and_that_is_said(tmp_path: Path) -> None:
    told: list[str] = []
    assert find_checkpoint(tmp_path, told.append) is None
    for name in ("last.ckpt", "earlier.ckpt"):
        torch.save({"name": name, "weights": torch.arange(100.0)}, tmp_path / name)
    assert find_checkpoint(tmp_path, told.append) == tmp_path / "last.ckpt"
    assert told == []
    content = (tmp_path / "last.ckpt").read_bytes()
    for damaged in (b"", content[:-200], content.replace(b"last.ckpt", b"last.cpkt", 1)):
        told.clear()
        (tmp_path / "last.ckpt").write_bytes(damaged)
        assert find_checkpoint(tmp_path, told.append) == tmp_path / "earlier.ckpt"
        assert "last.ckpt is damaged" in told[0]
        assert "going on from the one before it, earlier.ckpt" in told[0]
    (tmp_path / "earlier.ckpt").write_bytes(b"PK")
    with pytest.raises(DamagedError, match=r"last.ckpt .* and .*earlier.ckpt .*: delete both"):
        find_checkpoint(tmp_path, told.append)
    (tmp_path / "last.ckpt").unlink()
    with pytest.raises(DamagedError, match="earlier.ckpt is damaged"):
        find_checkpoint(tmp_path, told.append)


def test_a_damaged_stamp_is_none(tmp_path: Path) -> None:
    for content in (b"", b'{"a": ', b"\xff\xfe", b"[1]"):
        (tmp_path / "stamp.json").write_bytes(content)
        assert read_stamp(tmp_path / "stamp.json") is None
