"""From what was typed to an exit status: 0 done, 1 refused, 2 not understood, 3 what `--fail-on` waits for."""

import runpy
import shlex
import sys
from collections.abc import Sequence
from difflib import get_close_matches

from tworulers import __version__
from tworulers.cli.arguments import TypedError, read_arguments
from tworulers.cli.commands import BY_NAME, STAGES, Command
from tworulers.cli.forms import FormError
from tworulers.cli.help import write_help, write_overview

REFUSED, NOT_UNDERSTOOD, FOUND = 1, 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    Parameters
    ----------
    arguments : after the command's own name; those of this process where none are given.
    """
    name, *rest = [*(sys.argv[1:] if arguments is None else arguments)] or ["--help"]
    if name in ("-h", "--help", "help") and not rest:
        print(write_overview())
        return 0
    if name == "help":
        name, rest = rest[0], ["--help"]
    if name == "--version":
        print(f"tworulers {__version__}")
        return 0
    try:
        if name not in BY_NAME:
            close = get_close_matches(name, BY_NAME, 1)
            hint = f"did you mean tworulers {close[0]}?" if close else "tworulers --help lists them"
            raise TypedError(f"there is no command {name!r}; {hint}")
        command = BY_NAME[name]
        return run_stage(command, rest) if name in STAGES else run_program(command, rest)
    except (TypedError, FormError, FileNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return NOT_UNDERSTOOD


def run_stage(command: Command, arguments: Sequence[str]) -> int:
    """Run a stage with short forms and settings, as `python -m tworulers.stages.<name>` does."""
    typed = read_arguments(command, arguments)
    if typed.help:
        print(write_help(command))
        return 0
    if typed.show:
        words = ["python", "-m", f"tworulers.stages.{command.name}", *typed.overrides]
        print(shlex.join(words))
        return 0
    from tworulers.cli.outcome import answer, tell_status

    if typed.json or typed.quiet or typed.fail_on:
        return answer(command.name, typed, lambda: call_stage(command.name, typed.overrides))
    return tell_status(lambda: call_stage(command.name, typed.overrides))


def call_stage(name: str, overrides: Sequence[str]) -> None:
    """Run the module of a stage as this process's program."""
    sys.argv = [f"tworulers {name}", *overrides]
    runpy.run_module(f"tworulers.stages.{name}", run_name="__main__", alter_sys=True)


def run_program(command: Command, arguments: Sequence[str]) -> int:
    """Run what is no stage."""
    if arguments[:1] in (["-h"], ["--help"]) and command.name != "verify":
        print(write_help(command))
        return 0
    from tworulers.cli.programs import PROGRAMS

    return PROGRAMS[command.name](list(arguments))
