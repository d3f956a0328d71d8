"""Where a command is started does not matter: paths lead where the person means, and messages say where things lie."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command import Project, Typed

QUICK = ("--fast", "tracking=off", "audit.metrics=[dice]", "audit.linear=false")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder within a project, with a table of scores."""
    project = Project.at(tmp_path / "project")
    folder = project.folder / "data" / "mine"
    folder.mkdir(parents=True)
    draw = np.random.default_rng(0)
    table = pd.DataFrame({"exam_id": [f"e{i}" for i in range(16)], "sex": ["F", "M"] * 8})
    table["dice_a/b"] = draw.uniform(0.6, 0.9, 16).round(3)
    table.to_csv(folder / "s.csv", index=False)
    return folder


def audit(where: Path, *words: str) -> Typed:
    return Project(where).type("audit", *words, *QUICK)


def test_what_is_typed_counts_from_where_the_person_stands_and_runs_again_from_elsewhere(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = audit(mine, "--scores", "gold:s.csv", "--by", "sex")
    assert done.status == 0, done.err
    (page,) = re.findall(r"report: (\S+)$", done.out, re.M)
    assert (mine / page).is_file()
    (config,) = (mine.parents[1] / "artifacts").rglob("config.yaml")
    (tmp_path / "elsewhere").mkdir()
    again = audit(tmp_path / "elsewhere", "--again", str(config))
    assert again.status == 0, again.err
    first, second = (
        pd.read_parquet(next(place.rglob("tests.parquet")))
        for place in (mine.parents[1] / "artifacts", tmp_path / "elsewhere")
    )
    pd.testing.assert_frame_equal(first, second)
    monkeypatch.setenv("MINE", str(mine))
    opened = audit(
        tmp_path / "elsewhere", "--scores", "gold:${MINE}/s.csv", "--by", "sex", "--out", "a b"
    )
    assert opened.status == 0, opened.err
    assert list((tmp_path / "elsewhere" / "a b").rglob("tests.parquet"))


def test_outputs_are_tried_before_the_work(mine: Path) -> None:
    (mine / "taken").touch()
    done = audit(mine, "--scores", "gold:nothing.csv", "--by", "sex", "--out", "taken")
    assert done.status == 1
    assert "cannot be written to taken: taken is a file" in done.err
    assert "--out" in done.err
