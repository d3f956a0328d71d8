"""What a project adds in one file each: the Python files of its folder `own/`, and the lists they add to."""

import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TypeVar

FOLDER = "own"
"""Stands beside `conf/`. A configuration names no code, so no setting leads to other files."""

Thing = TypeVar("Thing")


class Registry(dict[str, Thing]):
    """Things of one sort by name: those of the package, and what a project's own files add."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def register(self, name: str) -> Callable[[Thing], Thing]:
        """Return a decorator that adds a function or class under a name.

        Raises
        ------
        ValueError : another module has added one of that name.
        """

        def add(thing: Thing) -> Thing:
            there = getattr(self.get(name), "__module__", None)
            if there not in (None, thing.__module__):
                raise ValueError(
                    f"{self.what} {name!r} is defined in {there} and in {thing.__module__}; rename one"
                )
            self[name] = thing
            return thing

        return add

    def find(self, name: str) -> Thing:
        """Return what is called so.

        Raises
        ------
        ValueError : nothing is; the message lists what there is.
        """
        if name not in self:
            raise ValueError(
                f"{self.what} {name!r} is unknown; there are {', '.join(sorted(self))}"
            )
        return self[name]


def list_own_files(root: Path) -> list[Path]:
    """List the Python files of a project's own, by name."""
    return sorted((root / FOLDER).glob("*.py"))


def load_own_files(root: Path) -> None:
    """Run the Python files of a project's own, which add to the registries that they import.

    Parameters
    ----------
    root : the folder that holds `conf/`.

    Raises
    ------
    ValueError : a file cannot be run; the message names it and what went wrong.
    """
    for path in list_own_files(root):
        spec = spec_from_file_location(f"{FOLDER}_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[spec.name] = module
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            kind = type(error).__name__
            raise ValueError(f"{FOLDER}/{path.name} cannot be run: {kind}: {error}") from error
