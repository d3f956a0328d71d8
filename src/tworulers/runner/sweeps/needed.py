"""The audits that a comparison or a report beside the pipeline rests on, made with its own settings."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig

from tworulers.io.paths import Layout, list_configuration
from tworulers.io.records import made_by
from tworulers.runner.checks.overrides import quote_value
from tworulers.runner.graph.table import TABLE, Wiring
from tworulers.schema.result_files import SUMMARY
from tworulers.schema.settings import Settings

READERS = ("compare", "report")
"""Stages that read all audits of a folder."""


def list_needed(
    stage: str, settings: Settings, layout: Layout, overrides: Sequence[str]
) -> Iterator[tuple[str, DictConfig]]:
    """List what has to run first, each stage with its configuration: nothing where the folder holds audits.

    Every regime and ruler of the grid is audited that the pipeline has scores of, with the choices of the run.

    Parameters
    ----------
    stage : what is going to run.
    settings, layout : of that run.
    overrides : its choices, as Hydra keeps them.

    Raises
    ------
    ValueError : there are no scores to audit.
    """
    beside = settings.paths.name == "sweep" and settings.scores.file is None
    if stage not in READERS or not beside or any(layout.audits.glob(f"*/*/{SUMMARY}")):
        return
    grid = settings.grid
    sides = [
        (regime, ruler)
        for regime in grid.regimes
        for ruler in grid.rulers
        if layout.score_table(regime, ruler).is_file()
    ]
    if not sides:
        raise ValueError(
            f"no scores below {layout.show(layout.inputs / 'scores')} of regimes {', '.join(grid.regimes)} and "
            f"rulers {', '.join(grid.rulers)}, which the audits of this run would be of; {made_by('score')} makes them"
        )
    kept = [one for one in overrides if _name(one) not in ("regime", "ruler", "paths.outputs")]
    kept.append(f"paths.outputs={quote_value(settings.paths.outputs)}")
    for regime, ruler in sides:
        yield "audit", compose_run([*kept, f"regime={regime}", f"ruler={ruler}"], layout.root)
    if stage == "report":
        yield "compare", compose_run(kept, layout.root)


def compose_run(overrides: Sequence[str], root: Path) -> DictConfig:
    """Compose the configuration of a run within another, whose own Hydra is put back."""
    state = GlobalHydra.instance()
    outer = state.hydra
    state.clear()
    try:
        with initialize_config_dir(version_base="1.3", config_dir=str(list_configuration(root)[0])):
            composed: DictConfig = compose("config", list(overrides))
    finally:
        state.hydra = outer
    return composed


def load_stage(name: str) -> tuple[Any, Wiring]:
    """Find a stage by its name: its function, and what the wiring says of it."""
    module = import_module(f"tworulers.stages.{name}")
    return getattr(module, name), TABLE[name]


def _name(override: str) -> str:
    return override.partition("=")[0].lstrip("+~")
