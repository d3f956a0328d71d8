"""`dvc.yaml`, `conf/` and the code say the same: every output is said twice, and this is what keeps the two equal."""

import importlib.util
import re
import shlex
import shutil
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
from tworulers.runner.graph.draw import draw_graph
from tworulers.runner.graph.wiring import list_steps as wired
from tworulers.runner.graph.write import require_current, save_graph
from tworulers.runner.settings import load_settings
from tworulers.schema.settings import Settings

ROOT = Path(__file__).parents[2]

OUTS: dict[str, Callable[[Settings, Layout], list[Path]]] = {
    "outside": lambda _, layout: [layout.inventory],
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
    "publish": lambda _, layout: [layout.published],
}


@dataclass(frozen=True)
class Step:
    name: str
    module: str
    overrides: list[str]
    deps: list[str]
    outs: list[str]
    params: dict[str, list[str]]


def list_steps(root: Path = ROOT) -> list[Step]:
    steps = []
    for stage in Repo(str(root)).index.stages:
        words = shlex.split(stage.cmd)
        if words[-1] == "tworulers.runner.graph.code":
            continue
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
        if dep.startswith("artifacts/code/"):
            assert Path(dep).stem == step.module.rpartition(".")[2]
        elif dep.startswith("artifacts/"):
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
    assert {grid["teacher"], grid["widest"]} <= set(grid["regimes"])
    assert grid["base_ruler"] in grid["rulers"]
    for name, group in ((grid["recipe"], "recipe"), (grid["trainer"], "trainer")):
        assert (ROOT / "conf" / group / f"{name}.yaml").is_file()
    for key, group in (
        ("regimes", "regime"),
        ("configurations", "configuration"),
        ("rulers", "ruler"),
    ):
        for name in grid[key]:
            assert (ROOT / "conf" / group / f"{name}.yaml").is_file()


def list_edges(steps: list[Step]) -> set[tuple[str, str]]:
    """List each ruler that is scored once another regime has predicted, with that regime."""
    return {
        (ruler, Path(dep).parts[-2])
        for step in steps
        if step.module.endswith(".score")
        for ruler in (step.overrides[2].removeprefix("ruler="),)
        for dep in step.deps
        if dep.endswith("/labels")
    }


def test_the_silver_ruler_is_the_one_edge_from_the_gold_model_to_a_score() -> None:
    assert list_edges(STEPS) == {("silver", "gold")}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the configuration, the sources beside it, known to DVC."""
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    (tmp_path / "src").symlink_to(ROOT / "src")
    Repo.init(str(tmp_path), no_scm=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def set_grid(project: Path, **changes: Any) -> None:
    path = project / "conf" / "grid.yaml"
    content = yaml.safe_load(path.read_text())
    content["grid"] |= changes
    path.write_text(yaml.safe_dump(content))


CLINIC = "name: clinic\nkind: folder\nprovenance: silver\nfolder: clinic\n"


def test_any_ruler_stands_in_the_graph_with_the_edges_of_its_kind(project: Path) -> None:
    rulers = ["dataset", "gold", "silver", "silver_model", "truth", "clinic"]
    (project / "conf/ruler/clinic.yaml").write_text(CLINIC)
    set_grid(project, rulers=rulers, regimes=["gold", "mix", "silver"])
    save_graph(project)
    steps = list_steps(project)
    assert list_edges(steps) == {("silver", "gold"), ("silver_model", "silver")}
    names = {step.name for step in steps}
    for regime in ("gold", "mix", "silver"):
        assert {f"audit@phantom-{regime}-{ruler}" for ruler in rulers} <= names
        assert {
            f"score@phantom-{regime}-{ruler}" for ruler in ("dataset", "gold", "truth", "clinic")
        } <= names
        assert {
            f"score_{name}@phantom-{regime}-{name}" for name in ("silver", "silver_model")
        } <= names
    taught = {step.name for step in steps if step.module.endswith(".train") and "@" in step.name}
    assert {"train@phantom-mix-2d", "train@phantom-silver-2d"} <= taught
    clinic = next(step for step in steps if step.name == "score@phantom-gold-clinic")
    assert "artifacts/phantom/inventory.json" in clinic.deps  # holds what lies in the folder


def test_the_picture_has_the_edges_that_dvc_has() -> None:
    drawn = re.findall(r"^  (\w+) --> (\w+)$", draw_graph(wired(ROOT)), re.MULTILINE)
    after: dict[str, set[str]] = {}
    for first, second in reversed(drawn):
        after.setdefault(first, set()).add(second)
    reached = {name: reach(name, after) for name in after}
    graph = Repo(str(ROOT)).index.graph
    edges = {
        (maker.name.split("@")[0], step.name.split("@")[0])
        for step, maker in graph.edges
        if maker.name != "code"
    }
    assert edges <= {(first, one) for first, found in reached.items() for one in found}
    assert set(drawn) <= edges
    assert len(drawn) >= len({step.name for step in wired(ROOT)}) - 1


def reach(name: str, after: dict[str, set[str]]) -> set[str]:
    return {one for second in after.get(name, ()) for one in {second, *reach(second, after)}}


def test_base_teacher_and_widest_are_those_of_the_grid(project: Path) -> None:
    (project / "conf/regime/experts.yaml").write_text("name: experts\nprovenances: [gold]\n")
    set_grid(project, teacher="experts", regimes=["experts", "gold", "mix"], rulers=["gold"])
    save_graph(project)
    names = {step.name.split("@")[0]: step for step in list_steps(project)}
    assert {"train_experts", "train_from_experts", "train"} <= set(names)
    assert "artifacts/phantom/models/experts" in names["annotate"].deps
    set_grid(project, teacher="mix")
    with pytest.raises(ValueError, match="grid.teacher is mix, .* would learn from the labels"):
        save_graph(project)


def test_networks_trained_elsewhere_predict_and_are_not_trained(project: Path) -> None:
    (project / "conf/regime/theirs.yaml").write_text(
        "name: theirs\nprovenances: [gold]\nmodels: [nnUNet_results/theirs__3d_fullres]\n"
    )
    set_grid(project, regimes=["gold", "theirs", "mix"])
    save_graph(project)
    steps = {step.name for step in list_steps(project)}
    of_theirs = {name.split("@")[0] for name in steps if "theirs" in name}
    assert of_theirs == {"predict_given", "score", "score_silver", "audit"}
    (predicts,) = (step for step in list_steps(project) if step.name.startswith("predict_given"))
    assert (
        "artifacts/phantom/inventory.json" in predicts.deps
    )  # holds what lies in the model's folder
    assert not any("models" in dep or "selection" in dep or "plan" in dep for dep in predicts.deps)
    set_grid(project, teacher="theirs")
    with pytest.raises(ValueError, match="grid.teacher is theirs, whose networks were trained"):
        save_graph(project)


def test_a_graph_of_other_lists_is_refused_by_its_first_step(project: Path) -> None:
    set_grid(project, rulers=["gold", "silver"])
    save_graph(project)
    require_current(project)
    set_grid(project, rulers=["gold", "silver", "truth"])
    with pytest.raises(
        ValueError, match=r"other lists or .* \(see .*score.*\); run ./scripts/write"
    ):
        require_current(project)


def test_a_ruler_of_predictions_that_nobody_makes_is_refused(project: Path) -> None:
    set_grid(project, rulers=["gold", "silver_model"])
    with pytest.raises(ValueError, match=r"does not list: silver_model \(silver\)"):
        save_graph(project)


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
