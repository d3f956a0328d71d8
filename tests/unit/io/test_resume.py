"""Folders of results that survive a kill, and are begun anew where anything that decides them has changed."""

from pathlib import Path
from typing import Any

import pytest

from tworulers.io.owned import MARK, ForeignFolderError
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside
from tworulers.io.resume import (
    WITHOUT_EFFECT,
    digest,
    digest_content,
    list_settings,
    resumable_folder,
    tell_difference,
)
from tworulers.schema.running import Inference
from tworulers.schema.settings import Recipe, Settings, Trainer


class Killed(Exception):  # noqa: N818
    pass


def begin(tmp_path: Path, made_from: dict[str, Any]) -> list[str]:
    """Do one part of the work, be killed, and tell what was there before."""
    found: list[str] = []

    def work() -> None:
        result, scratch = tmp_path / "result", tmp_path / "scratch"
        with resumable_folder(result, scratch, made_from) as folder:
            found.extend(sorted(path.name for path in folder.iterdir() if path.name != MARK))
            (folder / "one").write_text("done")
            raise Killed

    with pytest.raises(Killed):
        work()
    return found


def test_killed_work_goes_on_and_takes_its_place_when_done(tmp_path: Path) -> None:
    with folder_written_beside(tmp_path / "result") as folder:
        (folder / "old").touch()
    assert begin(tmp_path, {"seed": 0}) == []
    assert (tmp_path / "result" / "old").exists()
    assert begin(tmp_path, {"seed": 0}) == ["one"]
    with resumable_folder(tmp_path / "result", tmp_path / "scratch", {"seed": 0}) as folder:
        (folder / "two").touch()
    assert {path.name for path in (tmp_path / "result").iterdir()} == {MARK, "one", "two"}
    assert not (tmp_path / "scratch").exists()


def test_work_from_something_else_is_begun_anew_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(tmp_path, {"recipe.mirror": False, "weights": digest("a")})
    assert capsys.readouterr().out == ""
    assert begin(tmp_path, {"recipe.mirror": True, "weights": digest("b")}) == []
    said = capsys.readouterr().out
    assert "begun anew: recipe.mirror was False, now True, other weights" in said


def test_other_files_are_named_and_the_further_ones_counted() -> None:
    before: dict[str, Any] = {"code": {f"{name}.py": digest(name) for name in "abcdef"}}
    one = {"code": {**before["code"], "c.py": digest("z")}}
    assert tell_difference(before, one) == "other code in c.py"
    other = {"code": {"new.py": digest("y"), **dict.fromkeys(before["code"], digest("x"))}}
    assert tell_difference(before, other) == "other code in a.py, b.py, c.py and 4 more"
    assert tell_difference({}, one) == "other code"
    assert tell_difference(before, before) == ""
    many = {**dict.fromkeys("abcdefg", 1), "a": "x" * 99}
    said = tell_difference({}, many, 5)
    assert said.startswith(f"a was None, now {'x' * 40}..., b was None, now 1, ")
    assert said.endswith("e was None, now 1 and 2 more")


def test_work_with_a_broken_stamp_is_begun_anew(tmp_path: Path) -> None:
    begin(tmp_path, {"seed": 0})
    (tmp_path / "scratch" / "stamp.json").write_text('{"seed": 0, "rec')
    assert begin(tmp_path, {"seed": 0}) == []


@pytest.mark.parametrize("place", ["result", "scratch"])
def test_a_folder_of_somebody_else_is_no_place_for_work(tmp_path: Path, place: str) -> None:
    (tmp_path / place).mkdir()
    (tmp_path / place / "thesis").write_text("by hand")
    with (
        pytest.raises(ForeignFolderError, match="nothing was changed"),
        resumable_folder(tmp_path / "result", tmp_path / "scratch", {"seed": 0}),
    ):
        pass
    assert [path.name for path in tmp_path.rglob("*")] == [place, "thesis"]


def test_all_settings_of_networks_but_the_named_ones_are_listed() -> None:
    found = list_settings(Settings(), "recipe", "trainer", "inference")
    left_out = {f"{group}.{key}" for group, keys in WITHOUT_EFFECT.items() for key in keys}
    groups = {"recipe": Recipe(), "trainer": Trainer(), "inference": Inference()}
    every = {f"{name}.{key}" for name, group in groups.items() for key in vars(group)}
    assert set(found) == every - left_out
    assert left_out <= every


def test_files_are_told_apart_by_their_bytes_alone(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    layout = Layout(tmp_path, tmp_path, tmp_path)

    def tell(paths: dict[str, Path]) -> str:
        return digest_content(paths, "nobody", layout)

    first.write_bytes(b"one")
    second.write_bytes(b"one")
    before = tell({"exam": first})
    assert tell({"exam": second}) == before
    second.write_bytes(b"two")
    assert tell({"exam": second}) != before
    assert tell({"other": first}) != before
    with pytest.raises(FileNotFoundError, match="gone is missing; nobody provides it"):
        tell({"exam": tmp_path / "gone"})
