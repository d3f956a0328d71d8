"""What was typed after a command, as flags with their values, settings, and what Hydra is told."""

import re
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from tworulers.cli.again import read_again
from tworulers.cli.commands import Command
from tworulers.cli.forms import FormError
from tworulers.cli.quoting import quote_text

FAILS = ("differs", "cannot_say", "changed")
"""What may end a command with a status of its own."""

OF_HYDRA = frozenset(
    {"-m", "--multirun", "-r", "--run", "-c", "--cfg", "--resolve", "-p", "--package", "-i", "--info",
     "-sc", "--shell-completion", "--hydra-help", "-cp", "--config-path", "-cn", "--config-name", "-cd",
     "--config-dir", "--experimental-rerun"}
)  # fmt: skip
WITH_VALUE = frozenset({"-c", "--cfg", "-p", "--package", "-i", "--info"})
"""Hydra's own flags, and those after which a word of theirs may stand."""

SETTING = re.compile(r"[+~]{0,2}[\w./@-]+=|~")


class TypedError(ValueError):
    """Something was typed that no command takes."""


@dataclass(frozen=True)
class Typed:
    """What was typed.

    Attributes
    ----------
    overrides : of settings, those of short forms first, and Hydra's flags.
    fail_on : what ends the command with a status of its own.
    json, quiet, show, help : whether these were asked for.
    """

    overrides: tuple[str, ...]
    fail_on: tuple[str, ...] = ()
    json: bool = False
    quiet: bool = False
    show: bool = False
    help: bool = False


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise TypedError(message)


def read_arguments(command: Command, arguments: Sequence[str]) -> Typed:
    """Take apart what was typed after the name of a stage.

    Raises
    ------
    TypedError : no option is called so, or a word stands alone.
    FormError : the value of an option does not read as it has to.
    """
    parser = _Parser(add_help=False, allow_abbrev=False)
    for name in ("--json", "--quiet", "--show"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--fail-on", action="append", default=[])
    parser.add_argument("--again")
    for option in command.options:
        if option.shown:
            parser.add_argument(option.flag, action="append", dest=option.flag)
        else:
            parser.add_argument(option.flag, action="append_const", const="", dest=option.flag)
    given, rest = parser.parse_known_args(list(arguments))
    if given.help:
        return Typed((), help=True)
    _require_known(rest, [option.flag for option in command.options])
    fail_on = tuple(word for value in given.fail_on for word in value.split(","))
    if wrong := [word for word in fail_on if word not in FAILS]:
        raise TypedError(f"--fail-on {wrong[0]}: expected some of {','.join(FAILS)}")
    before = [] if given.again is None else read_again(given.again)
    overrides = [
        override
        for option in command.options
        if (values := getattr(given, option.flag)) is not None
        for override in option.form(values)
    ]
    overrides += name_results(command, overrides, rest)
    chosen = any(one.startswith("attributes=") for one in [*overrides, *rest])
    overrides = [*(one for one in before if one != "attributes=none" or not chosen), *overrides]
    # Hydra takes its settings in one piece, before or after its flags.
    settings, flags = _part_flags(rest)
    return Typed((*overrides, *settings, *flags), fail_on, given.json, given.quiet, given.show)


def name_results(command: Command, overrides: Sequence[str], rest: Sequence[str]) -> list[str]:
    """File predictions under the name of their folder where nothing else was said."""
    given = [*overrides, *rest]
    if command.name != "judge" or any(one.startswith("predictions.name=") for one in given):
        return []
    folder = next((one for one in overrides if one.startswith("predictions.folder=")), None)
    if folder is None:
        models = any(one.startswith("predictions.models=") for one in overrides)
        return ["predictions.name=models"] if models else []
    name = re.sub(r"[^\w.-]", "_", Path(folder.partition("=")[2].strip("'")).resolve().name)
    return [f"predictions.name={quote_text(name.lstrip('.-') or 'predictions')}"]


def _part_flags(rest: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part settings from Hydra's flags, each with the word that belongs to it."""
    settings, flags, before = list[str](), list[str](), ""
    for word in rest:
        of_flag = word.startswith("-") or (before in WITH_VALUE and not SETTING.match(word))
        (flags if of_flag else settings).append(word)
        before = word
    return settings, flags


def _require_known(rest: Sequence[str], flags: Sequence[str]) -> None:
    """Refuse flags that nobody takes, and words that stand alone."""
    before = ""
    for word in rest:
        flag = word.partition("=")[0]
        if word.startswith("-"):
            if flag not in OF_HYDRA:
                close = get_close_matches(
                    flag, [*flags, "--fail-on", "--json", "--quiet", "--show"], 1
                )
                hint = f"; did you mean {close[0]}?" if close else "; --help lists them"
                raise TypedError(f"there is no option {flag}{hint}")
        elif not SETTING.match(word) and before not in WITH_VALUE:
            raise TypedError(
                f"{word!r} stands alone: settings are written key=value, and options begin with --"
            )
        before = word


__all__ = ["FAILS", "FormError", "Typed", "TypedError", "read_arguments"]
