"""How a stage becomes a command: composes the configuration, runs the stage, keeps and publishes its record."""

import os
import sys
import traceback
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, TypeVar

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from tworulers.file_names import check_name, escape_controls
from tworulers.io.console import say
from tworulers.io.holding import Held, holding_results
from tworulers.io.paths import Layout, project_root
from tworulers.io.records import written_beside
from tworulers.io.sweeps import claim_sweep, tidy_sweep
from tworulers.schema import Settings
from tworulers.stages._arguments import complete_arguments
from tworulers.stages._boundaries import check_homes, check_names
from tworulers.stages._composed import check_composed
from tworulers.stages._declared import declare_structures
from tworulers.stages._environment import limit_environment
from tworulers.stages._home import expand_home
from tworulers.stages._overrides import (
    check_overrides,
    check_sweep,
    check_texts,
    is_sweep,
    place_sweep,
)
from tworulers.stages._readers import limit_readers
from tworulers.stages._showing import show_result
from tworulers.tracking import SHARED, RunRecord, require_address, write_record

Stage = Callable[[Settings, Layout], tuple[Path, RunRecord] | None]
"""A stage reads and writes files below the layout and returns its result folder with what MLflow shows of it."""

STOPPING = (
    ValueError,
    OSError,
    MemoryError,
    RecursionError,
    BrokenProcessPool,
    OmegaConfBaseException,
)
"""What ends a stage in one message: faults of input and configuration, and what asks for too much."""


def run_stage(stage: Stage, reads: tuple[str, ...]) -> None:
    """Run a stage as a command, with Hydra's overrides and multirun.

    Parameters
    ----------
    stage : what to run.
    reads : the settings it reads, as dotted names of values or whole groups. They are the parameters of its MLflow
        run, the `config.yaml` of its result, and what DVC watches (`./scripts/write_graph` puts them in `dvc.yaml`).

    A fault of the input or configuration, and one that takes more memory or depth than there is, ends in one message
    and exit status 1; anything else keeps its traceback.
    """
    ConfigStore.instance().store(name="schema", node=Settings)
    limit_environment()
    try:
        root = project_root()
    except OSError as error:
        say_error(error)
        sys.exit(1)

    name = Path(stage.__code__.co_filename).stem

    def job(config: DictConfig) -> None:
        try:
            with holding_results(root) as held:
                _run_job(stage, reads, place_outputs(config, root), root, held)
        except STOPPING as error:
            if os.environ.get("HYDRA_FULL_ERROR") == "1":
                traceback.print_exc()
            say_error(error)
            sys.exit(1)

    # Hydra names a job after the module of its function.
    job.__module__ = f"{__package__}.{name}"
    folder = None
    sys.argv[1:] = complete_arguments(sys.argv[1:])
    try:
        check_composed(sys.argv[1:], root / "conf")
        check_overrides(sys.argv[1:])
        check_sweep(
            sys.argv[1:], OmegaConf.select(OmegaConf.load(root / "conf" / "grid.yaml"), "grid")
        )
        if is_sweep(sys.argv[1:]):
            folder = claim_sweep(root, name)
            sys.argv[1:] = place_sweep(sys.argv[1:], folder)
    except ValueError as error:
        say_error(error)
        sys.exit(1)
    try:
        hydra.main(version_base="1.3", config_path=str(root / "conf"), config_name="config")(job)()
    finally:
        if folder is not None:
            tidy_sweep(folder)


def place_outputs(config: DictConfig, root: Path) -> DictConfig:
    """Give a run that writes beside the pipeline a folder of its own, unless it names one."""
    if config.paths.name != "sweep" or config.paths.outputs:
        return config
    hydra_config = HydraConfig.get()
    if hydra_config.mode == RunMode.MULTIRUN:
        folder = Path(hydra_config.sweep.dir) / str(hydra_config.job.num)
    else:
        folder = claim_sweep(root, hydra_config.job.name) / "0"
    with open_dict(config):
        config.paths.outputs = folder.relative_to(root).as_posix()
    return config


def say_error(error: Exception) -> None:
    """Print an error as one message for a person."""
    if isinstance(error, MemoryError):
        text = f"memory ran out: {str(error) or 'no more could be taken'}; give smaller files or a larger machine"
    elif isinstance(error, RecursionError):
        text = f"a file or setting is nested too deeply: {error}"
    elif isinstance(error, BrokenProcessPool):
        text = "a worker process was ended, most often for want of memory; give processes=1"
    elif isinstance(error, MissingMandatoryValue):
        text = f"{error.full_key} is not set; give it on the command line as {error.full_key}=..."
    else:
        text = str(error).split("\n    full_key:")[0]
    print(f"error: {escape_controls(text)}", file=sys.stderr, flush=True)


def load_settings(config: DictConfig) -> Settings:
    """Turn a composed configuration into plain dataclasses."""
    limit_environment()
    OmegaConf.resolve(config)
    missing = sorted(OmegaConf.missing_keys(config))
    if missing:
        raise UnsetValueError(missing)
    settings = OmegaConf.to_object(config)
    assert isinstance(settings, Settings)
    return settings


class UnsetValueError(ValueError):
    """Configuration values that have to be given are not."""

    def __init__(self, keys: list[str]) -> None:
        assignments = " ".join(f"{key}=..." for key in keys)
        super().__init__(
            f"configuration value not set: {', '.join(keys)}; give it on the command line: {assignments}"
        )


def _run_job(
    stage: Stage, reads: tuple[str, ...], config: DictConfig, root: Path, held: Held
) -> None:
    declare_structures(config, reads)
    settings = load_settings(config)
    overrides = list(HydraConfig.get().overrides.task)
    check_texts(overrides, config)
    expand_home(settings)
    check_names(settings)
    check_homes(settings.paths, overrides, root)
    limit_readers(settings.paths.readable_by)
    if settings.tracking.enabled:
        require_address(settings.tracking)
    layout = Layout.of(settings, root)
    outcome = stage(settings, layout)
    if outcome is None:
        return
    folder, record = outcome
    read = pick_settings(config, reads)
    params = dict(_flatten(read))
    tags = {"dataset": settings.dataset.name, **record.tags}
    if settings.paths.name == "sweep":
        tags["sweep"] = settings.paths.outputs
    if settings.report.shared:
        tags[SHARED] = "yes"
    record = RunRecord(**{**_fields(record), "params": {**params, **record.params}, "tags": tags})
    replaced = tell_replaced(held.before.get(folder.resolve()), read)
    if replaced and "DVC_STAGE" not in os.environ:
        say(
            f"{layout.relative(folder)} replaced a result of other settings: {replaced}; paths=sweep keeps both"
        )
    with written_beside(folder / "config.yaml") as temporary:
        OmegaConf.save(OmegaConf.create(read), temporary)
    write_record(record, folder)
    if settings.tracking.enabled and "DVC_STAGE" not in os.environ:
        show_result(folder, layout, settings.tracking)


def tell_replaced(before: str | None, read: dict[str, Any]) -> str:
    """Say in which settings the result that stood there before was made differently; nothing where in none."""
    if before is None:
        return ""
    stood = OmegaConf.to_container(OmegaConf.create(before))
    was, now = dict(_flatten(stood)), dict(_flatten(read))  # type: ignore[arg-type]
    return ", ".join(
        f"{name} was {was.get(name)}, now {now.get(name)}"
        for name in dict.fromkeys([*was, *now])
        if was.get(name) != now.get(name)
    )


def pick_settings(config: DictConfig, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the named part of a resolved configuration, nested as it is there.

    Parameters
    ----------
    config : every setting.
    names : dotted names of values or whole groups.
    """
    whole = OmegaConf.to_container(config)
    picked: dict[str, Any] = {}
    for name in names:
        *parents, last = name.split(".")
        value, place = whole, picked
        for parent in parents:
            value, place = value[parent], place.setdefault(parent, {})  # type: ignore[index,call-overload]
        place[last] = value[last]  # type: ignore[index,call-overload]
    return picked


def _flatten(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value:
            flat += _flatten(value, f"{name}.")
        elif value not in (None, "", [], {}):
            flat.append((name, value))
    return flat


def _fields(record: RunRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


Group = TypeVar("Group")


def load_choice(root: Path, group: str, name: str, schema: type[Group]) -> Group:
    """Read one choice of a configuration group, for stages that need several choices at once.

    Raises
    ------
    ValueError : there is no such choice; the message lists those there are.
    """
    path = root / "conf" / group / f"{check_name(name, group)}.yaml"
    if not path.is_file():
        choices = sorted(choice.stem for choice in path.parent.glob("*.yaml"))
        raise ValueError(f"no {group} is called {name!r}; conf/{group} has {choices}")
    loaded = OmegaConf.to_object(
        OmegaConf.merge(OmegaConf.structured(schema), OmegaConf.load(path))
    )
    assert isinstance(loaded, schema)
    return loaded
