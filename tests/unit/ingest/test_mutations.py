"""Good tables and label maps, changed as they are on their way: never another number without a word."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

from mutations.campaign import run_commands, run_trials

SHARE = 25
"""Changes that the fast tests try; ./scripts/campaign mutations tries 2,000."""


def test_a_share_of_the_changes_passes() -> None:
    assert [(change, wrong) for change, wrong, _ in run_trials(0, SHARE) if wrong] == []


@pytest.mark.slow
def test_a_larger_share_of_the_changes_passes() -> None:
    assert [(change, wrong) for change, wrong, _ in run_trials(SHARE, 250) if wrong] == []
    assert run_commands(0, 2) == []
