"""`dvc.yaml`, `conf/` and the code say the same: every output is said twice, and this is what keeps the two equal."""

import importlib.util
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from dvc.repo import Repo
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore

from tworulers.io.paths import Layout
from tworulers.schema import Settings
from tworulers.stages._run import load_settings

ROOT = Path(__file__).parents[2]

OUTS: dict[str, Callable[[Settings, Layout], list[Path]]] = {
    "inventory": lambda _, layout: [layout.inventory],
    "cohort": lambda _, layout: [layout.source, layout.cohort, layout.files],
    "split": lambda _, layout: [layout.split],
    "plan": lambda _, layout: [layout.plan],
    "preprocess": lambda s, layout: [layout.arrays(s.configuration.name)],
    "train": lambda s, layout: [layout.model(s.regime.name, s.configuration.name)],
    "annotate": lambda _, layout: [layout.annotations],
    "select": lambda s, layout: [layout.selection(s.regime.name)],
    "predict": lambda s, layout: [layout.predictions(s.regime.name)],
    "score": lambda s, layout: [layout.scores(s.regime.name, s.ruler.name)],
    "audit": lambda s, layout: [layout.audit(s.regime.name, s.ruler.name)],
    "compare": lambda _, layout: [layout.outputs / "comparisons"],
    "report": lambda _, layout: [layout.report],
    "publish": lambda *_: [],
}


@dataclass(frozen=True)
class Step:
    name: str
    module: str
    overrides: list[str]
    deps: list[str]
    outs: list[str]
    params: dict[str, list[str]]


def list_steps() -> list[Step]:
    steps = []
    for stage in Repo(str(ROOT)).index.stages:
        words = shlex.split(stage.cmd)
        assert words[:2] == ["python", "-m"], stage.cmd
        plain = [dep for dep in stage.deps if type(dep).__name__ != "ParamsDependency"]
        watched = {
            dep.def_path: list(dep.params)
            for dep in stage.deps
            if type(dep).__name__ == "ParamsDependency"
        }
        steps.append(
            Step(
                stage.addressing,
                words[2],
                words[3:],
                [dep.def_path for dep in plain],
                [out.def_path for out in stage.outs],
                watched,
            )
        )
    return steps


STEPS = list_steps()


def compose_settings(overrides: list[str]) -> Settings:
    ConfigStore.instance().store(name="schema", node=Settings)
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return load_settings(compose("config", overrides))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_a_stage_writes_where_dvc_expects_it(step: Step) -> None:
    settings = compose_settings(step.overrides)
    stage = step.module.rsplit(".", 1)[1]
    expected = OUTS[stage](settings, Layout.of(settings, ROOT))
    assert sorted(step.outs) == sorted(path.relative_to(ROOT).as_posix() for path in expected)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_a_stage_depends_on_code_and_values_that_exist(step: Step) -> None:
    assert importlib.util.find_spec(step.module) is not None
    made = {out for other in STEPS for out in other.outs}
    for dep in step.deps:
        if dep.startswith("artifacts/"):
            folder = Path(dep)
            assert any(
                folder.is_relative_to(out) or Path(out).is_relative_to(folder) for out in made
            ), dep
        else:
            assert (ROOT / dep).exists(), dep
    for file, keys in step.params.items():
        content: Any = yaml.safe_load((ROOT / file).read_text())
        for key in keys:
            value = content
            for part in key.split("."):
                value = value[int(part)] if isinstance(value, list) else value[part]


def test_the_grid_is_made_of_choices_and_its_parts_fit() -> None:
    grid = yaml.safe_load((ROOT / "conf" / "grid.yaml").read_text())["grid"]
    assert set(grid["machine_taught"]) == set(grid["regimes"]) - {"gold"}
    assert set(grid["rulers"]) == {*grid["label_rulers"], "silver"}
    for key, group in (
        ("regimes", "regime"),
        ("configurations", "configuration"),
        ("rulers", "ruler"),
    ):
        for name in grid[key]:
            assert (ROOT / "conf" / group / f"{name}.yaml").is_file()


def test_the_silver_ruler_is_the_one_edge_from_the_gold_model_to_a_score() -> None:
    edges = {
        step.overrides[-1]
        for step in STEPS
        if step.module.endswith(".score")
        and any("predictions/gold" in dep for dep in step.deps)
        and "regime=gold" not in step.overrides
    }
    assert edges == {"ruler=silver"}


def test_no_stage_before_the_scores_may_read_the_truth() -> None:
    for module in ("split", "plan", "preprocess", "train", "annotate", "select", "predict"):
        assert "truth" not in (ROOT / "src" / "tworulers" / "stages" / f"{module}.py").read_text()


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "conf").glob("*/*.yaml")),
    ids=lambda path: path.relative_to(ROOT / "conf").as_posix(),
)
def test_every_choice_composes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt key or a wrong type in any group file fails here."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://localhost:5000")
    given = ["dataset.root=/data", "split.file=/data/splits.json", "++dataset.structures={a: 1}"]
    group, name = path.parent.name, path.stem
    ConfigStore.instance().store(name="schema", node=Settings)
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose("config", [f"{group}={name}", *given])
    assert isinstance(load_settings(config), Settings)
