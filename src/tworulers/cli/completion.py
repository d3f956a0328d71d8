"""Completion in a shell: the script that asks, and the words that may come next."""

from collections.abc import Sequence
from pathlib import Path

from tworulers.cli.arguments import FAILS, TypedError
from tworulers.cli.commands import BY_NAME, STAGES, Command

COMMON = ("--again", "--fail-on", "--json", "--quiet", "--show", "--help")
SHELLS = {
    "bash": """\
_tworulers() {
    local IFS=$'\\n' current="${COMP_WORDS[COMP_CWORD]}"
    [[ $current == "=" ]] && current=""
    local found="$(tworulers completion --words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)"
    COMPREPLY=($(compgen -W "$found" -- "$current"))
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
    return 0
}
complete -o default -F _tworulers tworulers""",
    "zsh": """\
#compdef tworulers
_tworulers() {
    local -a found
    found=("${(@f)$(tworulers completion --words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n ${found[1]} ]]; then compadd -Q -- ${found:#*=}; compadd -Q -S '' -- ${(M)found:#*=}; else _files; fi
}
if [[ ${funcstack[1]} == _tworulers ]]; then _tworulers "$@"; else compdef _tworulers tworulers; fi""",
}


def write_completion(shell: str = "bash", *more: str) -> str:
    """Return the script that a shell reads.

    Raises
    ------
    TypedError : no such shell.
    """
    if shell not in SHELLS or more:
        raise TypedError(f"expected tworulers completion {' or '.join(SHELLS)}")
    return SHELLS[shell]


def complete(words: Sequence[str], conf: Sequence[Path]) -> list[str]:
    """List what the last word may become; nothing where it is a file's name.

    Parameters
    ----------
    words : after `tworulers`, the last one unfinished. A shell may hand on `ruler=g` in three words.
    conf : folders of configuration, whose groups hold the choices.
    """
    *before, last = list(words) or [""]
    if not before:
        return [name for name in BY_NAME if name.startswith(last)]
    command = BY_NAME.get(before[0])
    if command is None or command.name not in STAGES:
        return [shell for shell in SHELLS if before == ["completion"] and shell.startswith(last)]
    if last == "=" or before[-1] == "=":
        group = before[-1] if last == "=" else before[-2]
        return _list_choices(group, "" if last == "=" else last, conf)
    if before[-1] == "--fail-on":
        return [word for word in FAILS if word.startswith(last)]
    if _waits_for_value(command, before[-1]):
        return []
    if "=" in last:
        group, _, value = last.partition("=")
        return [f"{group}={choice}" for choice in _list_choices(group, value, conf)]
    flags = [*(option.flag for option in command.options), *COMMON]
    return [
        word
        for word in [*flags, *(f"{group}=" for group in command.choices)]
        if word.startswith(last)
    ]


def _waits_for_value(command: Command, word: str) -> bool:
    return any(option.flag == word and option.shown for option in command.options)


def _list_choices(group: str, value: str, conf: Sequence[Path]) -> list[str]:
    names = {path.stem for folder in conf for path in (folder / group).glob("*.yaml")}
    return sorted(name for name in names if name.startswith(value))
