"""Choices on a command line mean what they look like, or are refused with the form that works."""

from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from tworulers.runner.checks.overrides import check_overrides, check_sweep, check_texts, place_sweep


def test_all_faults_come_at_once_and_flags_are_left_alone() -> None:
    given = ["--cfg", "job", "a.b=x=1", "+c='x=1'", "d=1,2", "~e", "f={a: 1}"]
    with pytest.raises(ValueError, match=r"a\.b=x=1; quote.*\"a\.b='x=1'\"\n  d=1,2 names several"):
        check_overrides(given)


def test_numbers_stay_numbers_and_texts_stay_texts() -> None:
    config = OmegaConf.create({"rate": 1e-3, "ids": ["007", "1000.0"], "name": "1000.0", "n": "12"})
    check_texts(["rate=1e-3", "n=12", "name='1e3'", "ids=[007,'1e3']"], config)
    with pytest.raises(ValueError, match=r"quote it: \"name='1e3'\""):
        check_texts(["name=1e3"], config)
    with pytest.raises(ValueError, match="quote each text in it"):
        check_texts(["ids=[007,1e3]"], config)


GRID = {
    "regimes": ["gold", "mix"],
    "rulers": ["gold", "silver"],
    "configurations": ["2d"],
    "dataset": "phantom",
    "folds": [0, 1, 2, 3, 4],
}


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit.alpha=0.1,0.2"],
        ["-m", "regime=gold,mix", "ruler=silver"],
        ["-m", "paths=sweep", "audit.alpha=0.1,0.2"],
        ["-m", "paths=sweep", "paths.outputs=a,b", "audit.alpha=0.1"],
        ["-m", "paths=sweep", "paths.outputs=a", "regime=gold,mix"],
    ],
)
def test_a_sweep_with_a_folder_for_each_run_passes(arguments: list[str]) -> None:
    check_sweep(arguments, GRID)


@pytest.mark.parametrize(
    "arguments",
    [
        ["-m", "audit.alpha=0.1,0.2"],
        ["-m", "regime=gold,silver"],
        ["-m", "paths=sweep", "paths.outputs=a", "audit.alpha=0.1,0.2"],
        ["-m", "paths=sweep", "paths.outputs=a,b", "audit.alpha=0.1,0.2"],
        ["-m", "paths=sweep", "hydra.sweep.dir=a", "audit.alpha=0.1,0.2"],
    ],
)
def test_a_sweep_whose_runs_would_meet_is_refused(arguments: list[str]) -> None:
    with pytest.raises(ValueError, match="paths=sweep"):
        check_sweep(arguments, GRID)


def test_a_sweeps_folder_is_given_before_the_first_choice_whatever_its_name() -> None:
    folder = Path("/a b/it's, (one)/x=y")
    given = place_sweep(["-m", "seed=0,1", "--info"], folder)
    assert [given[0], *given[2:]] == ["-m", "seed=0,1", "--info"]
    assert OverridesParser.create().parse_override(given[1]).value() == str(folder)
