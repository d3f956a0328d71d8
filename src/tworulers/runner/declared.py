"""Structures, and the value of unannotated voxels, that the configuration leaves to the `dataset.json` of the data."""

import os
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from tworulers.ingest.dataset_json import read_dataset_json
from tworulers.ingest.faults import IngestError, refuse

STRUCTURES, IGNORED = "dataset.structures", "dataset.ignore"


def declare_structures(config: DictConfig, reads: tuple[str, ...]) -> None:
    """Take the structures from the data's `dataset.json` where none are configured, for stages that read them.

    Any layout may have such a file.

    Parameters
    ----------
    config : the composed configuration, in which the structures are filled in.
    reads : the settings that the stage reads.

    Raises
    ------
    ValueError : no such file, or one that cannot be used; says what to set.
    """
    if _is_read(IGNORED, reads):
        declare_ignored(config)
    if not _is_read(STRUCTURES, reads):
        return
    source = OmegaConf.select(config, "dataset.source", throw_on_missing=False)
    if source is None or OmegaConf.select(config, STRUCTURES):
        return
    given = OmegaConf.select(config, "dataset.root")
    root = None if given is None else Path(os.path.expandvars(given)).expanduser()
    if root is not None and not root.is_dir():
        raise ValueError(
            f"dataset.root is {given}, which is {'no folder' if root.exists() else 'not there'}; set dataset.root to "
            "the folder of the data"
        )
    if root is None or not (root / "dataset.json").is_file():
        raise ValueError(
            f"structures are not named: there is no dataset.json in dataset.root, {given or 'which is not set'}; set "
            "dataset.root to the folder of the data, or name them with dataset.structures={<name>: <value>, ...}"
        )
    declared = read_dataset_json(root)
    refuse(*declared.faults)
    OmegaConf.update(config, STRUCTURES, declared.structures, force_add=True)


def declare_ignored(config: DictConfig) -> None:
    """Take the value of unannotated voxels from the data's `dataset.json`, unless it is given or replaced by another.

    A file that cannot be read is left to whoever needs it.
    """
    given = OmegaConf.select(config, "dataset.root")
    if given is None or OmegaConf.select(config, IGNORED) is not None:
        return
    root = Path(os.path.expandvars(given)).expanduser()
    if not (root / "dataset.json").is_file():
        return
    try:
        declared = read_dataset_json(root).ignore
    except IngestError:
        return
    replaced = OmegaConf.select(config, "dataset.reading.label_map") or {}
    if declared is not None and declared not in replaced:
        OmegaConf.update(config, IGNORED, declared, force_add=True)


def _is_read(setting: str, reads: tuple[str, ...]) -> bool:
    return any(name == setting or setting.startswith(f"{name}.") for name in reads)
