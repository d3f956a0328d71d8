"""A stage as a person types it: a project folder of its own, arguments, exit status, and what was said."""

import io
import os
import runpy
import shutil
import sys
import traceback
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tworulers.cli.main import main

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Outcome:
    """How a command ended: exit status, and all it said with line breaks taken as blanks."""

    status: int
    said: str


@dataclass(frozen=True)
class Typed:
    """How `tworulers` ended: exit status, and what it printed where."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class Project:
    """A checkout's `conf/` and `dvc.yaml` in a folder of its own, in which commands are run."""

    folder: Path

    @classmethod
    def at(cls, folder: Path) -> "Project":
        """Make the project below a folder."""
        shutil.copytree(ROOT / "conf", folder / "conf")
        shutil.copy(ROOT / "dvc.yaml", folder)
        return cls(folder)

    def run(self, stage: str, *arguments: str, within: Path | None = None) -> Outcome:
        """Run a stage as `python -m tworulers.stages.<stage>` does, in this process.

        Parameters
        ----------
        stage, arguments : as typed.
        within : the working folder, where it is not the project's.
        """
        stream, here, argv = io.StringIO(), Path.cwd(), sys.argv
        os.chdir(within or self.folder)
        sys.argv = [f"{stage}.py", *arguments]
        status = 0
        try:
            with redirect_stdout(stream), redirect_stderr(stream), warnings.catch_warnings():
                warnings.filterwarnings(
                    "ignore", "'tworulers.* found in sys.modules", RuntimeWarning
                )
                runpy.run_module(f"tworulers.stages.{stage}", run_name="__main__")
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except Exception:
            traceback.print_exc(file=stream)
            status = 1
        finally:
            sys.argv = argv
            os.chdir(here)
        return Outcome(status, " ".join(stream.getvalue().split()))

    def type(self, *words: str) -> Typed:
        """Run `tworulers` with words after it, in this process."""
        out, err, here, argv = io.StringIO(), io.StringIO(), Path.cwd(), sys.argv
        os.chdir(self.folder)
        try:
            with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
                warnings.filterwarnings(
                    "ignore", "'tworulers.* found in sys.modules", RuntimeWarning
                )
                status = main(words)
        finally:
            sys.argv = argv
            os.chdir(here)
            os.environ.pop("TWORULERS_QUIET", None)
        return Typed(status, out.getvalue(), err.getvalue())

    def read(self, name: str) -> pd.DataFrame:
        """Read the one table of a name that the project's results hold."""
        (path,) = self.folder.rglob(name)
        return pd.read_parquet(path)
