"""Commands that are no stage: the scripts of a checkout, the pages of MLflow, and completion."""

import os
import subprocess
import sys
from collections.abc import Callable

from tworulers.cli.arguments import TypedError
from tworulers.cli.completion import complete, write_completion
from tworulers.io.paths import list_configuration, project_root


def call_script(name: str) -> Callable[[list[str]], int]:
    """Make a command of a script of the checkout that the working folder is in."""

    def call(arguments: list[str]) -> int:
        script = project_root() / "scripts" / name
        if not script.is_file():
            raise TypedError(
                f"tworulers {name} works on a checkout's pipeline, and {script.parent.parent} is none: it has no "
                f"scripts/{name}"
            )
        return subprocess.run([str(script), *arguments], check=False).returncode

    return call


def open_pages(arguments: list[str]) -> int:
    """Open MLflow on the results of the project; a checkout's own script knows more."""
    root = project_root()
    if (root / "scripts" / "ui").is_file():
        return call_script("ui")(arguments)
    store = root / "mlruns" / "mlflow.db"
    if not store.is_file():
        raise TypedError(
            f"there are no runs in {store.parent}; audit something first, with pip install 'tworulers[track]'"
        )
    words = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", f"sqlite:///{store}"]
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    return subprocess.run([*words, *arguments], env=environment, check=False).returncode


def verify(arguments: list[str]) -> int:
    """Compare two results."""
    # Shells ask for completions through this module, and wait.
    from tworulers.runner.verify.command import main

    return main(arguments)


def print_completion(arguments: list[str]) -> int:
    """Print a shell's script, or, asked by one, the words that may come next."""
    if arguments[:1] == ["--words"]:
        print("\n".join(complete(arguments[1:], list_configuration(project_root()))))
        return 0
    print(write_completion(*arguments))
    return 0


PROGRAMS: dict[str, Callable[[list[str]], int]] = {
    "reproduce": call_script("reproduce"),
    "status": call_script("status"),
    "verify": verify,
    "ui": open_pages,
    "completion": print_completion,
}
"""What each command that is no stage calls with its arguments."""
