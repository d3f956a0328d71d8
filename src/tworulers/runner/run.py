"""How a stage becomes a command: composes the configuration, runs the stage, keeps and publishes its record."""

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from tworulers.io.holding import Held, holding_results
from tworulers.io.image_error import ImageError
from tworulers.io.makers import name_maker
from tworulers.io.paths import (
    Layout,
    list_configuration,
    project_root,
    require_writable,
)
from tworulers.io.pool import working_with
from tworulers.io.resume import tell_difference
from tworulers.io.sweeps import claim_sweep
from tworulers.progress import say
from tworulers.runner.arguments import complete_arguments
from tworulers.runner.by_hand import note_making
from tworulers.runner.checks.boundaries import check_homes, check_names
from tworulers.runner.checks.composed import check_composed
from tworulers.runner.checks.numbers import check_numbers
from tworulers.runner.checks.overrides import (
    check_overrides,
    check_sweep,
    check_texts,
    is_sweep,
    place_sweep,
)
from tworulers.runner.checks.refused import tell_refusals
from tworulers.runner.cost import timing
from tworulers.runner.declared import declare_structures
from tworulers.runner.environment import limit_environment
from tworulers.runner.extras import require_extras
from tworulers.runner.faults import STOPPING, say_error
from tworulers.runner.graph.table import TABLE, Wiring
from tworulers.runner.interruption import telling_interruption
from tworulers.runner.outcome import OUTCOMES, Outcome
from tworulers.runner.search import look_beneath, read_grid, tell_mode
from tworulers.runner.settings import (
    flatten,
    load_settings,
    open_paths,
    pick_settings,
    read_kept,
)
from tworulers.runner.sweeps.asked import Asked, list_asked, name_choices, place_beside
from tworulers.runner.sweeps.closing import end_sweep
from tworulers.runner.sweeps.ended import run_and_keep
from tworulers.runner.sweeps.job import begin_job, find_sweep, show_in_sweep
from tworulers.runner.sweeps.needed import list_needed, load_stage
from tworulers.runner.tracking import RunRecord, write_record
from tworulers.runner.tracking.inputs import digest_inputs
from tworulers.runner.tracking.record import SHARED, mark_swept
from tworulers.runner.tracking.showing import is_wanted
from tworulers.runner.tracking.store import require_address
from tworulers.runner.typed_names import restore_names
from tworulers.schema.atomic import written_beside
from tworulers.schema.own_files import load_own_files
from tworulers.schema.settings import Settings
from tworulers.schema.view import view_settings

Stage = Callable[[Settings, Layout], tuple[Path, RunRecord] | None]
"""A stage reads and writes files below the layout and returns its result folder with what MLflow shows of it."""

MASKS = {"owner": 0o077, "group": 0o027, "all": 0o022}
"""What is taken from the rights of new files, by who may read them."""


MOST_TOLD = 5
"""Settings that are told of a result that was replaced by one of others."""


@telling_interruption()
def run_stage(stage: Stage, wiring: Wiring | None = None) -> None:
    """Run a stage as a command, with Hydra's overrides and multirun.

    Parameters
    ----------
    stage : what to run.
    wiring : the settings it reads, which are all that it is told; of the table where none is given. They are the
        parameters of its MLflow run, the `config.yaml` of its result, and what DVC watches.

    A fault of the input or configuration, and one that takes more memory or depth than there is, ends in one message
    and exit status 1; anything else keeps its traceback. Ctrl-C ends in one line that says how to go on.
    """
    ConfigStore.instance().store(name="schema", node=Settings)
    limit_environment()
    try:
        root = project_root()
        load_own_files(root)
    except (OSError, ValueError) as error:
        say_error(error)
        sys.exit(1)

    name, made_in = Path(stage.__code__.co_filename).stem, os.getpid()
    wired = wiring or TABLE[name]

    def job(config: DictConfig) -> None:
        def run() -> tuple[str, str] | None:
            with holding_results(root) as held:
                return _run_job(stage, wired, place_outputs(config, root), root, held, asked.keys)

        if (sweep := find_sweep()) is not None:
            if os.getpid() != made_in:
                _begin_elsewhere(root)
            begin_job(sweep, asked, config)
            run_and_keep(run, sweep.folder, sweep.number)
            return
        try:
            run()
        except STOPPING as error:
            if os.environ.get("HYDRA_FULL_ERROR") == "1":
                traceback.print_exc()
            say_error(error)
            sys.exit(1)

    # Hydra names a job after the module of its function.
    job.__module__ = f"{__package__}.{name}"
    try:
        conf, *beneath = list_configuration(root)
        look_beneath(beneath)
        asked, folder = _read_arguments(name, root, [conf, *beneath])
    except ValueError as error:
        say_error(error)
        sys.exit(1)
    done = True
    try:
        hydra.main(version_base="1.3", config_path=str(conf), config_name="config")(job)()
    finally:
        if folder is not None:
            done = end_sweep(folder, asked, root)
    if not done:
        sys.exit(1)


def _begin_elsewhere(root: Path) -> None:
    """Make a process that a launcher began ready for a run, as the command's own is."""
    load_own_files(root)
    look_beneath(list_configuration(root)[1:])


def _read_arguments(name: str, root: Path, folders: Sequence[Path]) -> tuple[Asked, Path | None]:
    """Check what was typed and complete it for Hydra; return what is swept over, and the folder made for a sweep."""
    tell_refusals()
    sys.argv[1:] = complete_arguments(sys.argv[1:])
    require_extras(name, sys.argv[1:])
    check_composed(sys.argv[1:], *folders)
    check_overrides(sys.argv[1:])
    tell_mode(sys.argv[1:], folders)
    grid = read_grid(folders)
    sys.argv[1:] = place_beside(sys.argv[1:], grid)
    check_sweep(sys.argv[1:], grid)
    asked = list_asked(sys.argv[1:])
    if not is_sweep(sys.argv[1:]):
        return asked, None
    folder = claim_sweep(root, name)
    sys.argv[1:] = place_sweep(sys.argv[1:], folder)
    return asked, folder


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


def limit_readers(readable_by: str) -> None:
    """Let everything this process writes from now on be read by its owner alone, unless more is asked for.

    Raises
    ------
    ValueError : `readable_by` is none of `owner`, `group`, `all`.
    """
    if readable_by not in MASKS:
        raise ValueError(f"paths.readable_by={readable_by}: expected one of {', '.join(MASKS)}")
    os.umask(MASKS[readable_by])


def _run_job(
    stage: Stage,
    wiring: Wiring,
    config: DictConfig,
    root: Path,
    held: Held,
    swept: tuple[str, ...],
) -> tuple[str, str] | None:
    """Run a stage, and before it what it lacks; return the folder of its result and the one of all results."""
    reads = wiring.reads
    restore_names(config)
    declare_structures(config, reads)
    settings = load_settings(config)
    overrides = list(HydraConfig.get().overrides.task)
    _check_settings(settings, config, reads, overrides, root)
    limit_readers(settings.paths.readable_by)
    layout = Layout.of(settings, root)
    trains = any(name.startswith("trainer") for name in reads)
    name = Path(stage.__code__.co_filename).stem
    for lacking, composed in list_needed(name, settings, layout, overrides):
        _run_job(*load_stage(lacking), composed, root, held, swept)
    told = settings.tracking.enabled
    home = layout.relative(layout.outputs) if told else ""
    with (
        timing(root, name, settings.cost, settings.trainer if trains else None, home) as made,
        working_with(settings.workers, root),
    ):
        try:
            outcome = stage(view_settings(settings, name, wiring.seen), layout)
        except ImageError as error:
            raise name_maker(error, layout) from error
        if outcome is None:
            return None
        folder, record = outcome
        stood = held.before.get(folder.resolve())
        _keep_record(
            replace(record, inputs=digest_inputs(name, folder, settings, layout)),
            folder,
            pick_settings(config, reads),
            settings,
            layout,
            stood,
        )
        if choices := name_choices(overrides, swept):
            own = settings.paths.outputs if settings.paths.name == "sweep" else ""
            mark_swept(folder, choices, own)
        if told:
            made.append(layout.relative(folder))
    OUTCOMES.append(Outcome(name, folder, root))
    if wiring.outputs and settings.paths.name == "repro":
        note_making(folder, root, overrides)
    if is_wanted(settings.tracking, overrides) and "DVC_STAGE" not in os.environ:
        show_in_sweep(folder, layout, settings.tracking)
    return layout.relative(folder), layout.relative(layout.outputs)


def _check_settings(
    settings: Settings, config: DictConfig, reads: tuple[str, ...], overrides: list[str], root: Path
) -> None:
    """Refuse what cannot be meant, and open the paths; nothing has been read or written by then."""
    check_texts(overrides, config)
    # A group that was chosen is typed, what its file says is not.
    typed = [one.partition("=") for one in overrides]
    values = [key.lstrip("+") for key, _, value in typed if "." in key or not value.isidentifier()]
    open_paths(settings, values, root, config)
    check_names(settings)
    check_numbers(settings, reads)
    check_homes(settings.paths, overrides, root)
    require_writable(root / settings.paths.outputs)
    if settings.tracking.enabled:
        require_address(settings.tracking)


def _keep_record(
    record: RunRecord, folder: Path, read: Any, settings: Settings, layout: Layout, before: Any
) -> None:
    """Write beside a result the settings it was made by and its record; tell where it replaced one of others."""
    params = dict(flatten(read))
    tags = {"dataset": settings.dataset.name, **record.tags}
    if settings.paths.name == "sweep":
        tags["sweep"] = settings.paths.outputs
    if settings.report.shared:
        tags[SHARED] = "yes"
    stood = None if before is None else read_kept(before)
    replaced = "" if stood is None else tell_difference(dict(flatten(stood)), params, MOST_TOLD)
    if replaced and "DVC_STAGE" not in os.environ:
        say(
            f"{layout.show(folder)} replaced a result of other settings: {replaced}; its config.yaml has those of now, "
            "and paths=sweep keeps both"
        )
    with written_beside(folder / "config.yaml") as temporary:
        OmegaConf.save(OmegaConf.create(read), temporary)
    write_record(replace(record, params={**params, **record.params}, tags=tags), folder)
