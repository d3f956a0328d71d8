"""Several writers at once and writers killed: a small form of `scripts/campaign tracking`."""

from pathlib import Path

import pytest
from tracking.campaign import find_faults, kill_publishing, make_results, publish_at_once

pytestmark = pytest.mark.slow


def test_six_writers_of_the_same_results_lose_and_repeat_none(tmp_path: Path) -> None:
    project = tmp_path / "project"
    make_results(project, 4)
    assert publish_at_once(project, 6) == []
    assert find_faults(project, 4) == []


@pytest.mark.parametrize("after", [2.5, 5.0])
def test_a_publish_killed_early_is_made_up_for_by_the_next(after: float, tmp_path: Path) -> None:
    project = tmp_path / "project"
    make_results(project, 4)
    kill_publishing(project, after)
    assert publish_at_once(project, 1) == []
    assert find_faults(project, 4) == []
