"""Where Hydra looks for files of the configuration: in a project's own folder, then in the package's."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from hydra._internal.hydra import Hydra
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf


class _Beneath(SearchPathPlugin):  # type: ignore[misc]
    """Adds folders that are looked in after the main one."""

    folders: ClassVar[list[Path]] = []

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add them."""
        for folder in self.folders:
            search_path.append("tworulers", f"file://{folder}")


def look_beneath(folders: Sequence[Path]) -> None:
    """Let whatever is composed from now on find files of further folders where the main one has none of their name."""
    _Beneath.folders = [*folders]
    Plugins.instance().register(_Beneath)


_ask_mode = Hydra.get_mode


def tell_mode(arguments: Sequence[str], folders: Sequence[Path]) -> None:
    """Spare Hydra the composition in which it only looks for `hydra.mode`, where nothing that may set it does.

    Parameters
    ----------
    arguments : of the command, without its own name.
    folders : of the configuration; of their files `config.yaml` alone may say how a command is run.
    """
    mains = [folder / "config.yaml" for folder in folders]
    texts = [*arguments, *(file.read_text() for file in mains if file.is_file())]
    unset = not any(re.search(r"\bmode\b", text) for text in texts)
    Hydra.get_mode = (lambda *_, **__: None) if unset else _ask_mode


def read_grid(folders: Sequence[Path]) -> Any:
    """Read the lists that the pipeline is expanded over, from the first folder that has them."""
    files = (folder / "grid.yaml" for folder in folders)
    return OmegaConf.select(OmegaConf.load(next(file for file in files if file.is_file())), "grid")
