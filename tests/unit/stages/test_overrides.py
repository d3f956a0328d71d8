"""Choices on a command line mean what they look like, or are refused with the form that works."""

import pytest
from omegaconf import OmegaConf

from tworulers.stages._overrides import check_overrides, check_texts


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
