"""A result of the pipeline that was made again by hand is told of until the pipeline's own is back in its place."""

import shutil
from pathlib import Path

import pytest
import yaml

from tworulers.runner.by_hand import NOTES, note_making, tell_by_hand
from tworulers.runner.verify.locked import hash_output

PLACE = "artifacts/phantom/audits/mix/gold"


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    """A result that the lock records, and that has since been made again with other settings."""
    folder = tmp_path / PLACE
    folder.mkdir(parents=True)
    (folder / "tests.json").write_text("{}")
    lock = {"stages": {"audit": {"outs": [{"path": PLACE, "md5": hash_output(folder)}]}}}
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump(lock))
    shutil.copytree(folder, tmp_path / "cached")
    (folder / "tests.json").write_text('{"alpha": 0.1}')
    return folder


def test_it_is_told_of_with_its_choices_until_it_is_gone(tmp_path: Path, audit: Path) -> None:
    note_making(audit, tmp_path, ["regime=mix", "audit.alpha=0.1"])
    (said,) = tell_by_hand(tmp_path)
    assert f"{PLACE} was made by hand (regime=mix audit.alpha=0.1)" in said
    assert list(tell_by_hand(tmp_path)) == [said]
    shutil.rmtree(audit)
    shutil.copytree(tmp_path / "cached", audit)
    assert list(tell_by_hand(tmp_path)) == []
    assert not list((tmp_path / NOTES).iterdir())


def test_what_dvc_had_made_is_none(
    tmp_path: Path, audit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note_making(audit, tmp_path, [])
    monkeypatch.setenv("DVC_STAGE", "audit")
    note_making(audit, tmp_path, [])
    assert list(tell_by_hand(tmp_path)) == []


def test_results_elsewhere_and_unrecorded_ones_are_none(tmp_path: Path, audit: Path) -> None:
    note_making(Path("/elsewhere"), tmp_path, [])
    assert not (tmp_path / NOTES).exists()
    note_making(audit.parent / "silver", tmp_path, [])
    assert list(tell_by_hand(tmp_path)) == []
