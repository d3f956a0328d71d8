"""Numbers are checked when settings are composed: one list, with key, expected and found."""

from pathlib import Path

import pytest

from command import Project
from tworulers.metrics.registry import METRICS
from tworulers.runner.checks.numbers import check_numbers
from tworulers.schema.bounds import BOUNDS, BY_METRIC, Bound, list_faults, list_numbers
from tworulers.schema.settings import Audit, Settings
from tworulers.schema.sources import Dataset

ROOT = Path(__file__).parents[3]


def list_settings(settings: object, prefix: str = "") -> set[str]:
    """Every setting whose declared type holds a number."""
    from dataclasses import fields, is_dataclass
    from typing import get_type_hints

    hints, found = get_type_hints(type(settings)), set()
    for field in fields(settings):  # type: ignore[arg-type]
        value = getattr(settings, field.name)
        if is_dataclass(value):
            found |= list_settings(value, f"{prefix}{field.name}.")
        elif any(kind in str(hints[field.name]) for kind in ("int", "float")):
            found.add(f"{prefix}{field.name}")
    return found


def test_every_number_has_bounds_and_no_bound_is_of_nothing() -> None:
    numbers = list_settings(Settings())
    assert numbers - set(BOUNDS) - set(BY_METRIC) == set()
    assert set(BOUNDS) - numbers == set()


def test_what_is_shipped_lies_within() -> None:
    assert list_faults(Settings(), METRICS) == []


@pytest.mark.parametrize("name", sorted({name for name, _, _ in list_numbers(Settings())}))
def test_nothing_endless_passes(name: str) -> None:
    settings = Settings()
    place = settings
    *groups, last = name.split(".")
    for group in groups:
        place = getattr(place, group)
    before = getattr(place, last)
    for value in (float("nan"), float("inf"), -float("inf")):
        many = before if isinstance(before, (list, dict)) else None
        changed = (
            [value] if isinstance(many, list) else dict.fromkeys(many, value) if many else value
        )
        setattr(place, last, changed)
        assert any(name in fault for fault in list_faults(settings, METRICS))


def test_all_faults_are_in_one_list() -> None:
    settings = Settings(processes=-2, seed=-1)
    settings.audit = Audit(
        alpha=2.0, thresholds={"dice": 1.2, "hd95": -1.0}, sweep={"dice": [0.5, 7.0]}
    )
    settings.recipe.plan.batch_size = {"2d": 0}
    settings.dataset = Dataset(gold_share=0.0)
    with pytest.raises(ValueError, match="nothing can be computed") as raised:
        check_numbers(settings, ("audit",))
    assert str(raised.value).splitlines()[1:] == [
        "  dataset.gold_share: expected a number above 0 and at most 1, found 0",
        "  recipe.plan.batch_size.2d: expected a number at least 1, found 0",
        "  audit.thresholds.dice: expected a number at least 0 and at most 1, found 1.2",
        "  audit.thresholds.hd95: expected a number at least 0, found -1",
        "  audit.sweep.dice.1: expected a number at least 0 and at most 1, found 7",
        "  audit.alpha: expected a number above 0 and below 1, found 2",
        "  processes: expected a number at least 1, found -2",
        "  seed: expected a number at least 0, found -1",
    ]


def test_a_stage_that_reads_none_of_them_refuses_them_too(tmp_path: Path) -> None:
    project = Project.at(tmp_path / "project")
    found = project.run("split", "recipe.epochs=0", "audit.alpha=nan", "tracking=off")
    assert found.status == 1
    assert "recipe.epochs: expected a number at least 1, found 0" in found.said
    assert "audit.alpha: expected a number above 0 and below 1, found nan" in found.said
    assert "Traceback" not in found.said


def test_a_bound_says_what_it_holds() -> None:
    assert Bound().tell() == "a finite number"
    assert not Bound().holds(float("nan"))
    assert Bound(0, 1, above=True).tell() == "a number above 0 and at most 1"
