"""The command as a program of others uses it: one object, a status to wait for, silence; and Hydra's form beside it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command import Project

FEW = ("audit=quick", "audit.linear=false", "tracking=off", "audit.metrics=[dice]")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with scores by experts, who find that one site is worse, and by a machine."""
    project = Project.at(tmp_path_factory.mktemp("project"))
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"exam_id": [f"e{n:02}" for n in range(60)]})
    table = table.assign(sex=["F", "M"] * 30, site=["Bern"] * 30 + ["Como"] * 30)
    expert = rng.normal(0.85, 0.03, 60) - 0.1 * (table["site"] == "Como")
    for name, dice in (("expert", expert), ("machine", 0.9 + expert / 20)):
        scores = table.assign(dice_disc=dice.round(4))
        scores.to_csv(project.folder / f"{name}.csv", index=False)
    return project


def test_json_is_one_object_and_a_status_can_be_waited_for(project: Project) -> None:
    done = project.type("audit", "--scores", "gold:expert.csv", "--by", "sex,site", "--json",
               "--fail-on", "differs", *FEW)  # fmt: skip
    assert (done.status, done.err) == (3, "")
    told = json.loads(done.out, parse_constant=lambda word: pytest.fail(word))
    assert (told["exit_status"], told["failed_on"], told["errors"]) == (3, ["differs"], [])
    (audit,) = told["audits"]
    assert (audit["provenance"], audit["exams"], audit["judged"]) == ("gold", 60, True)
    rows = {row["grouping"]: row["answers"] for row in audit["groupings"]}
    assert rows["site"]["differs"] == 1
    assert rows["sex"] == {
        "differs": 0,
        "differs_within_margin": 0,
        "within_margin": 0,
        "cannot_say": 1,
    }
    assert (Path(audit["path"]) / "tests.parquet").is_file()
    assert told["found"] == {"differs": True, "cannot_say": True, "changed": False}


def test_quiet_says_nothing_but_errors(project: Project) -> None:
    words = (
        "audit",
        "--scores",
        "gold:expert.csv",
        "--by",
        "sex",
        "--quiet",
        "--fail-on",
        "differs",
    )
    done = project.type(*words, *FEW)
    assert (done.status, done.out, done.err) == (0, "", "")
    lost = project.type("audit", "--scores", "gold:nowhere.csv", "--by", "sex", "--quiet", *FEW)
    assert (lost.status, lost.out) == (1, "")
    assert "nowhere.csv" in lost.err


def test_a_refusal_is_an_object_too(project: Project) -> None:
    done = project.type("audit", "--scores", "gold:nowhere.csv", "--by", "sex", "--json", *FEW)
    told = json.loads(done.out)
    assert (done.status, told["exit_status"], told["audits"]) == (1, 1, [])
    assert "nowhere.csv" in told["errors"][0]


def test_two_tables_are_compared_and_settings_stand_beside_short_forms(project: Project) -> None:
    done = project.type("compare", "--scores", "gold:expert.csv", "--scores", "silver:machine.csv", "--by",
               "sex,site", "--json", "--fail-on", "differs", *FEW)  # fmt: skip
    told = json.loads(done.out)
    (comparison,) = told["comparisons"]
    assert (comparison["base_ruler"], comparison["other_ruler"]) == ("gold", "silver")
    assert (told["found"]["differs"], done.status) == (True, 3)
