"""Help that fits a screen: all commands, or one with its options and two examples."""

import shutil
import textwrap
from collections.abc import Iterator

from tworulers.cli.commands import COMMANDS, STAGES, Command, Option
from tworulers.schema.sentences import describe_key

ABOUT = (
    "Audits medical image segmentation for fairness, and tells verdicts about patients from verdicts that the "
    "reference labels made up."
)
WIDEST, NARROWEST = 110, 60
COMMON = (
    ("--again FILE", "the settings of a result's config.yaml; what else is typed goes before them"),
    ("--fail-on LIST", "end with status 3 where: differs, cannot_say, changed (with the ruler)"),
    ("--json", "print one JSON object: answers, verdict and paths, and nothing else"),
    ("--quiet", "print nothing but errors"),
    ("--show", "print the same command with settings in full, and run nothing"),
)
"""Options of every stage."""


def write_overview() -> str:
    """Write the help of the whole command, at most 40 lines of 80 characters."""
    lines = [*_wrap(ABOUT), "", "usage: tworulers COMMAND [options] [key=value ...]"]
    part = ""
    for command in COMMANDS:
        if command.part != part:
            part = command.part
            lines += [f"{part}:"]
        lines.append(f"  {command.name:11} {command.said}")
    lines += [
        "examples:",
        "  tworulers judge --predictions mine --reference expert=gold:drawn --by none",
        "  tworulers audit --scores gold:expert.csv --by sex,age:median",
        "tworulers COMMAND --help says its options; every setting is key=value as in conf/,",
        "several runs are key=a,b -m, and --cfg job prints all settings.",
    ]
    return "\n".join(lines)


def write_help(command: Command) -> str:
    """Write the help of one command, at most 60 lines of 80 characters."""
    settings = " [key=value ...]" if command.name in STAGES else " [...]"
    lines = [f"usage: tworulers {command.name}{' [options]' if command.options else ''}{settings}"]
    lines += ["", *_wrap(f"{command.said[0].upper()}{command.said[1:]}."), ""]
    listed = [(f"{one.flag} {one.shown}".rstrip(), describe_option(one)) for one in command.options]
    if command.name in STAGES:
        listed += COMMON
    width = max((len(flag) for flag, _ in listed), default=0) + 2
    for flag, said in listed:
        first, *rest = _wrap(said, 2 + width)
        lines += [f"  {flag:{width}}{first}", *(" " * (2 + width) + line for line in rest)]
    if command.choices:
        lines += _wrap(f"chosen by name: {', '.join(f'{name}=...' for name in command.choices)}")
    lines += ["", "examples:"]
    for example in command.examples:
        lines += _wrap_command(example)
    return "\n".join(lines)


def describe_option(option: Option) -> str:
    """Say what an option means: the sentence of its setting, and how its value is written."""
    sentence = describe_key(option.key).replace("`", "") if option.key else ""
    return "; ".join(filter(None, (sentence, option.said)))


def _wrap(text: str, indent: int = 0) -> list[str]:
    return textwrap.wrap(text, _measure() - indent, break_on_hyphens=False)


def _wrap_command(text: str) -> Iterator[str]:
    """Break a command as a shell takes it."""
    lines = textwrap.wrap(text, _measure() - 6, break_on_hyphens=False, break_long_words=False)
    for place, line in enumerate(lines):
        last = place == len(lines) - 1
        yield "".join(("  " if place == 0 else "    ", line, "" if last else " \\"))


def _measure() -> int:
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((80, 24)).columns))
