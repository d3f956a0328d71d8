"""A stage sees the settings that it declares, and nothing else; it changes none."""

import pickle
from dataclasses import asdict, replace

import pytest

from tworulers.runner.graph.table import TABLE
from tworulers.schema.settings import Audit, Settings
from tworulers.schema.view import (
    UndeclaredSettingError,
    change_settings,
    list_readable,
    view_settings,
)

NAMES = ("audit", "dataset.name", "recipe.mirror", "recipe.plan.stages", "seed")


@pytest.fixture
def view() -> Settings:
    return view_settings(Settings(seed=3), "predict", NAMES)


def test_what_is_declared_is_told_as_it_is(view: Settings) -> None:
    assert view.seed == 3
    assert view.recipe.mirror is True
    assert view.recipe.plan.stages is None
    assert view.audit == Audit()
    assert isinstance(view, Settings)
    assert isinstance(view.audit, Audit)
    assert repr(view.recipe) == "Recipe(plan=PlanOverrides(stages=None), mirror=True)"
    assert view == view_settings(Settings(seed=3), "predict", NAMES)
    assert view != view_settings(Settings(seed=4), "predict", NAMES)
    assert list_readable(view.recipe).keys() == {"mirror", "plan"}


def test_anything_else_is_refused_by_stage_and_name(view: Settings) -> None:
    with pytest.raises(UndeclaredSettingError, match=r"predict reads processes, which its row in"):
        _ = view.processes
    with pytest.raises(UndeclaredSettingError, match=r"predict reads recipe\.epochs"):
        _ = view.recipe.epochs
    with pytest.raises(UndeclaredSettingError, match=r"predict reads recipe\.plan\.spacing"):
        _ = view.recipe.plan.spacing
    with pytest.raises(UndeclaredSettingError):
        getattr(view, "processes", 2)
    with pytest.raises(UndeclaredSettingError):
        asdict(view)


def test_nothing_is_written_to(view: Settings) -> None:
    with pytest.raises(UndeclaredSettingError, match="predict writes to seed"):
        view.seed = 4
    with pytest.raises(UndeclaredSettingError, match=r"predict writes to audit\.alpha"):
        view.audit.alpha = 0.1


def test_a_view_travels_to_other_processes_as_one(view: Settings) -> None:
    there = pickle.loads(pickle.dumps(view.recipe))
    assert there.mirror is True
    with pytest.raises(UndeclaredSettingError, match=r"predict reads recipe\.epochs"):
        _ = there.epochs


def test_changed_settings_stay_a_view(view: Settings) -> None:
    changed = change_settings(view, audit=replace(view.audit, alpha=0.1))
    assert (changed.audit.alpha, view.audit.alpha) == (0.1, 0.05)
    with pytest.raises(UndeclaredSettingError):
        _ = changed.processes
    assert change_settings(Settings(), seed=7).processes == 2


def test_every_row_of_the_wiring_names_settings_that_there_are() -> None:
    for stage, wiring in TABLE.items():
        view = view_settings(Settings(), stage, wiring.seen)
        for name in wiring.seen:
            found = view
            for part in name.split("."):
                found = getattr(found, part)
