"""A folder is deleted only where something says that it is ours."""

import json
from pathlib import Path

import pytest

from tworulers.io.owned import (
    ForeignFolderError,
    mark_folder,
    remove_folder,
    remove_part,
    require_ours,
)


def fill(folder: Path, **files: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(json.dumps(content))
    return folder


RECORD = {"stage": "audit", "name": "audit", "sibling_tag": None}


def test_marked_and_empty_folders_are_ours(tmp_path: Path) -> None:
    marked = fill(tmp_path / "marked", thesis_txt="")
    mark_folder(marked)
    nested = fill(tmp_path / "nested" / "rulers" / "gold_silver", run_json=RECORD)
    mark_folder(nested)
    empty = fill(tmp_path / "empty")
    for folder in (marked, nested.parents[1], empty, tmp_path / "absent"):
        remove_folder(folder)
        assert not folder.exists()


def test_anything_else_is_left_alone(tmp_path: Path) -> None:
    mark_folder(fill(tmp_path / "ours"))
    (tmp_path / "link").symlink_to(tmp_path / "ours")
    (tmp_path / "file").write_text("by hand")
    others = [
        fill(tmp_path / "conf", config_yaml={"model": "resnet18"}),
        fill(tmp_path / "runs", run_json={"stage": "other tool"}),
        fill(tmp_path / "mixed", thesis_txt=""),
        tmp_path / "link",
        tmp_path / "file",
    ]
    mark_folder(fill(tmp_path / "mixed" / "part", run_json=RECORD))
    before = sorted(tmp_path.rglob("*"))
    for folder in others:
        with pytest.raises(ForeignFolderError, match="nothing was changed"):
            require_ours(folder)
        with pytest.raises(ForeignFolderError, match="nothing was changed"):
            remove_folder(folder)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_part_goes_with_the_folder_that_it_is_part_of(tmp_path: Path) -> None:
    part = fill(tmp_path / "source" / "images", a_nii="")
    with pytest.raises(ForeignFolderError):
        remove_part(part)
    mark_folder(tmp_path / "source")
    (tmp_path / "source" / "link").symlink_to(part)
    with pytest.raises(ForeignFolderError):
        remove_part(tmp_path / "source" / "link")
    remove_part(part)
    remove_part(part)
    assert not part.exists()
