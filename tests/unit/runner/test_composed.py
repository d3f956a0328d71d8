"""No composed file and no argument makes a command run anything but a stage."""

import ast
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf
from omegaconf.errors import InterpolationResolutionError

from tworulers.runner.checks.composed import CodeInConfigurationError, check_composed
from tworulers.runner.environment import limit_environment

ROOT = Path(__file__).parents[3]
JOBLIB = "hydra_plugins.hydra_joblib_launcher.joblib_launcher.JoblibLauncher"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """A configuration of two groups, as small as one can be."""
    conf = tmp_path / "conf"
    for group, names in {"experiment": ["sound"], "color": ["red", "blue"]}.items():
        for name in names:
            write(conf, f"{group}/{name}", {"shade": 1})
    defaults = [{"color": "red"}, {"optional experiment": None}, "_self_"]
    write(conf, "config", {"defaults": defaults, "hydra": {"job": {"chdir": False}}})
    return conf


def write(conf: Path, name: str, content: dict[str, Any], package: str = "") -> None:
    path = conf / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    header = f"# @package {package}\n" if package else ""
    path.write_text(header + yaml.safe_dump(content, sort_keys=False))


def refusal(conf: Path, *arguments: str) -> str:
    with pytest.raises(CodeInConfigurationError) as error:
        check_composed(arguments, conf)
    return str(error.value)


@pytest.mark.parametrize(
    ("package", "content"),
    [
        ("_global_", {"hydra": {"callbacks": {"x": {"_target_": "os.system"}}}}),
        ("_global_", {"hydra": {"callbacks": "${x}"}}),
        ("hydra.callbacks", {"x": {"_target_": "os.system"}}),
        ("hydra", {"job": {"env_set": {"LD_PRELOAD": "x.so"}}}),
        ("_global_", {"hydra": {"run": {"dir": "/elsewhere"}}}),
        ("_global_", {"hydra": {"job_logging": {"handlers": {"x": {"()": "os.system"}}}}}),
        ("_global_", {"hydra": {"launcher": {"_target_": f"{JOBLIB}.launch"}}}),
        ("_global_", {"hydra": {"launcher": {"_target_": "hydra_plugins.x._core.os.system"}}}),
        ("_global_", {"hydra": {"launcher": {"setup": ["rm -r x"]}}}),
        ("_global_", {"hydra": {"launcher": {"partition": "a\n#SBATCH --wrap=x"}}}),
        ("_global_", {"hydra": {"sweeper": {"params": {"experiment": "sound"}}}}),
        ("_global_", {"deep": [{"nested": {"_target_": "tworulers.stages.judge.judge"}}]}),
    ],
)
def test_files_that_would_run_something_are_refused(
    conf: Path, package: str, content: dict[str, Any]
) -> None:
    write(conf, "experiment/theirs", content, package)
    assert "conf/experiment/theirs.yaml: " in refusal(conf, "experiment=theirs")
    check_composed(["experiment=sound"], conf)


def test_a_file_may_choose_hydras_own_launchers_in_words_and_numbers(conf: Path) -> None:
    launcher = {"_target_": JOBLIB, "n_jobs": 4, "backend": "loky"}
    content = {"hydra": {"launcher": launcher, "sweeper": {"max_batch_size": 2}}}
    write(conf, "experiment/theirs", content, "_global_")
    check_composed(["experiment=theirs", "hydra/launcher=joblib"], conf)


def test_every_run_of_a_sweep_is_looked_at(conf: Path) -> None:
    for color, mood in product(("red", "blue"), ("calm", "odd")):
        write(conf, f"mood/{mood}", {"a": 1})
        write(conf, f"hue/{color}_{mood}", {"a": 1})
    write(conf, "hue/blue_odd", {"_target_": "os.system"})
    write(
        conf,
        "config",
        {"defaults": [{"color": "red"}, {"mood": "calm"}, {"hue": "${color}_${mood}"}, "_self_"]},
    )
    check_composed(["-m", "color=red,blue", "mood=calm", "hue.a=1,2"], conf)
    check_composed(["-m", "color=red", "mood=odd,calm"], conf)
    said = refusal(conf, "-m", "color=red,blue", "mood=calm,odd")
    assert "conf/hue/blue_odd.yaml: hue._target_" in said


def test_a_file_that_is_no_yaml_is_named(conf: Path) -> None:
    (conf / "experiment" / "theirs.yaml").write_text("a: [1, 2\nb: {")
    with pytest.raises(ValueError, match=r"no YAML:(?s:.*)experiment/theirs\.yaml"):
        check_composed(["experiment=theirs"], conf)


@pytest.mark.parametrize(
    "argument",
    [
        "+hydra.callbacks.x._target_=os.system",
        "+hydra/callbacks=x",
        "+color@hydra.callbacks=red",
        "hydra={callbacks: {}}",
        "+shade={_target_: os.system}",
        "hydra.launcher._target_=os.system",
        "hydra.sweeper.params={experiment: sound}",
        "--config-dir=/elsewhere",
        "-cd",
        "--experimental-rerun=x.pickle",
        "--e",
        "--ex=x.pickle",
        "--experimental",
        "--co=/elsewhere",
        "--config-p",
        "--config-n=x",
        "hydra.searchpath=[file:///elsewhere]",
        "++hydra.searchpath=[pkg://json]",
        "+color@hydra.searchpath=red",
    ],
)
def test_arguments_that_would_run_something_are_refused(conf: Path, argument: str) -> None:
    assert argument.partition("=")[0] in refusal(conf, argument)


@pytest.mark.parametrize(
    "hydra", [{"searchpath": ["file://ELSEWHERE"]}, {"searchpath": "${x.searchpath}"}, "${x}"]
)
def test_no_folder_is_added_to_compose_from(conf: Path, hydra: Any) -> None:
    elsewhere = conf.parent / "elsewhere"
    write(elsewhere, "experiment/foreign", {"hydra": {"callbacks": {"x": {"_target_": "a.b"}}}})
    defaults = [{"optional experiment": None}, "_self_"]
    content = {"defaults": defaults, "hydra": hydra, "x": {"searchpath": ["file://ELSEWHERE"]}}
    text = yaml.safe_dump(content, sort_keys=False)
    (conf / "config.yaml").write_text(text.replace("ELSEWHERE", str(elsewhere)))
    said = refusal(conf, "experiment=foreign")
    assert "conf/config.yaml: hydra" in said
    assert "experiment/foreign.yaml is no file of conf/" in said


def test_the_value_of_a_flag_hides_no_file(conf: Path) -> None:
    write(conf, "experiment/theirs", {"deep": {"_target_": "os.system"}})
    assert "theirs.yaml: " in refusal(conf, "-p", "a b", "experiment=theirs")


def test_flags_of_other_meaning_pass(conf: Path) -> None:
    for flags in (["--cfg", "job"], ["-c", "job"], ["--resolve"], ["--help"], ["--"], ["-m"]):
        check_composed([*flags, "experiment=sound"], conf)


def test_the_configuration_and_the_launchers_of_this_project_pass() -> None:
    conf = ROOT / "conf"
    experiments = ",".join(sorted(path.stem for path in (conf / "experiment").glob("*.yaml")))
    check_composed(["-m", f"experiment={experiments}", "tracking=local,server"], conf)
    check_composed(["-m", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "seed=1,2"], conf)
    check_composed(["hydra/launcher=submitit_slurm", "hydra.launcher.setup=[module load x]"], conf)


def test_variables_of_ours_alone_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    limit_environment()
    monkeypatch.setenv("TWORULERS_NNUNET", "/data")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://user:password@host")
    texts = {
        "a": "${oc.env:TWORULERS_NNUNET}",
        "b": "${oc.env:TWORULERS_X,null}",
        "c": "${oc.env:TWORULERS_X,7}",
    }
    assert OmegaConf.to_container(OmegaConf.create(texts), resolve=True) == {
        "a": "/data",
        "b": None,
        "c": "7",
    }
    for text in (
        "${oc.env:MLFLOW_TRACKING_URI}",
        "${ oc.env : HOME }",
        "${${part}.env:HOME}",
        "${oc.env:${name}}",
        "${oc.decode:${oc.env:HOME}}",
        "${oc.env:TWORULERS_X}",
    ):
        config = OmegaConf.create({"title": text, "part": "oc", "name": "HOME"})
        with pytest.raises(InterpolationResolutionError, match="environment variable"):
            OmegaConf.resolve(config)


LOOK_UP = {
    "runner/graph/outside.py": "one stage, by a name that stands in its source",
    "__init__.py": "its own names, when they are asked for",
    "cli/main.py": "the stages that its list names",
    "cli/outcome.py": "nothing: it calls what it is handed",
    "metrics/registry.py": "the files of a package of ours",
    "runner/sweeps/needed.py": "the two stages that it names",
    "schema/own_files.py": "the project's own folder, which no setting names",
}
"""The modules that look up code by a name, with what they look for."""


def test_no_module_looks_up_code_by_a_name_that_it_is_given() -> None:
    """A configuration must not lead to code: see `own/` for what a user adds."""
    lookups = {
        "import_module",
        "__import__",
        "eval",
        "exec",
        "entry_points",
        "instantiate",
        "get_class",
        "get_method",
    }
    lookups |= {"spec_from_file_location", "run_path", "run_module", "get_object", "call"}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                known = path.relative_to(ROOT / "src/tworulers").as_posix() in LOOK_UP
                assert known or name not in lookups or (name == "eval" and not node.args), (
                    f"{path}:{node.lineno} calls {name}"
                )
