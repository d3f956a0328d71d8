"""Structures that the configuration leaves to the `dataset.json` of the data."""

import os
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from tworulers.ingest.dataset_json import read_dataset_json
from tworulers.ingest.faults import refuse

STRUCTURES = "dataset.structures"


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
    if not any(name == STRUCTURES or STRUCTURES.startswith(f"{name}.") for name in reads):
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
