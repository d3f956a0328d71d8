"""Short forms: what a person types without quotes, as the settings that it stands for."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from tworulers.cli.quoting import quote_text, write_list, write_mapping
from tworulers.schema.settings import Provenance

Form = Callable[[Sequence[str]], list[str]]
"""What is typed after one flag, all of its values, to overrides of settings."""

CUTS = ("median", "levels")
"""Words that say how the numbers of a column are cut; else it is a number of parts, or edges with slashes between."""


class FormError(ValueError):
    """A short form does not read as it has to; the message shows one that does."""


def take_predictions(values: Sequence[str]) -> list[str]:
    """Take `DIR`, or several models as `NAME=DIR` each.

    Raises
    ------
    FormError : several folders, of which one has no name.
    """
    if len(values) == 1 and ("=" not in values[0] or Path(values[0]).is_dir()):
        return [f"predictions.folder={quote_text(values[0])}"]
    models = {}
    for value in values:
        name, sign, folder = value.partition("=")
        if not (name and sign and folder):
            raise FormError(
                f"--predictions {value}: of several models each needs a name: --predictions v1=DIR --predictions v2=DIR"
            )
        models[name] = f"{{folder: {quote_text(folder)}}}"
    return [f"predictions.models={write_mapping(models)}"]


def take_references(values: Sequence[str]) -> list[str]:
    """Take `NAME=PROVENANCE:DIR`, once a reference.

    Raises
    ------
    FormError : a part is missing, or the provenance is none.
    """
    references = {}
    for value in values:
        name, sign, rest = value.partition("=")
        provenance, _, folder = rest.partition(":")
        if not (name and sign and folder):
            where = folder or next(
                (word for word in (rest, value) if word and ":" not in word), "DIR"
            )
            raise FormError(
                f"--reference {value}: expected a name, who drew the labels, and their folder: "
                f"--reference expert=gold:{where}"
            )
        _require_provenance("--reference", value, provenance)
        references[name] = f"{{folder: {quote_text(folder)}, provenance: {provenance}}}"
    return [f"predictions.references={write_mapping(references)}"]


def take_scores(values: Sequence[str]) -> list[str]:
    """Take `PROVENANCE:FILE`, or `MODEL=PROVENANCE:FILE`, once or twice.

    Raises
    ------
    FormError : more than two tables, or one without provenance.
    """
    if len(values) > 2:
        raise FormError(f"--scores: two tables are compared at a time, found {len(values)}")
    overrides = []
    for group, value in zip(("scores", "against"), values, strict=False):
        whose, sign, rest = value.partition("=")
        model, rest = (whose, rest) if sign and ":" not in whose else ("", value)
        provenance, _, file = rest.partition(":")
        if not file:
            raise FormError(
                f"--scores {value}: expected who drew the labels that the scores were made with, and the table: "
                f"--scores gold:{rest}"
            )
        _require_provenance("--scores", value, provenance)
        overrides += [f"{group}.file={quote_text(file)}", f"{group}.provenance={provenance}"]
        overrides += [f"{group}.model={quote_text(model)}"] if model else []
    return overrides


def take_exams_of_scores(values: Sequence[str]) -> list[str]:
    """Take the table of exams of one table of scores, or of two."""
    file = quote_text(values[-1])
    return [f"scores.cohort={file}", f"against.cohort={file}"]


def take_groupings(values: Sequence[str]) -> list[str]:
    """Take `sex,age:median,site`: names of groupings or columns, with how numbers are cut; or `none`.

    Raises
    ------
    FormError : a name is missing, or a cut is none.
    """
    names, bins = [], {}
    if list(values) == ["none"]:
        return ["attributes=none"]
    for part in _split(values):
        name, sign, cut = _part(part, ":")
        name = _plain(name)
        if not name:
            raise FormError(
                f"--by {part}: expected the name of a column, such as --by sex,age:median"
            )
        if name in names:
            raise FormError(f"--by {part}: {name} is given twice; give it once, with one cut")
        names.append(name)
        if sign:
            bins[name] = _read_cut(name, cut)
    overrides = [f"attributes.by={write_list(names)}"]
    return [*overrides, f"attributes.bins={write_mapping(bins)}"] if bins else overrides


def take_groups_of_risk(values: Sequence[str]) -> list[str]:
    """Take `sex=gender,ethnicity,age:50/65/80`: columns, with a name of their own or how numbers are cut."""
    groups, made = {}, {}
    for part in _split(values):
        name, sign, cut = _part(part, ":")
        title, _, column = map(_plain, _part(name, "="))
        column = column or title
        if not sign:
            groups[title] = quote_text(column)
            continue
        made[title] = (
            f"{{title: {quote_text(title)}, kind: column, column: {quote_text(column)}, bins: {_read_cut(title, cut)}}}"
        )
    overrides = [f"risk.groups={write_mapping(groups)}"] if groups else []
    return [*overrides, f"risk.groupings={write_mapping(made)}"] if made else overrides


def take_numbers(key: str, flag: str, example: str, whole: bool = False) -> Form:
    """Make the form of names with a number each, `dice=2,failures=10`."""

    def take(values: Sequence[str]) -> list[str]:
        numbers = {}
        for part in _split(values):
            name, _, number = map(_plain, _part(part, "="))
            try:
                (int if whole else float)(number)
            except ValueError as error:
                kind = "whole number" if whole else "number"
                raise FormError(
                    f"{flag} {part}: expected a name and a {kind}: {flag} {example}"
                ) from error
            numbers[name] = number
        return [f"{key}={write_mapping(numbers)}"]

    return take


def take_columns(flag: str, *keys: str) -> Form:
    """Make the form of our names of columns with the table's, `exam_id=case,sex=gender`."""

    def take(values: Sequence[str]) -> list[str]:
        columns = {}
        for part in _split(values):
            name, sign, column = map(_plain, _part(part, "="))
            if not (name and sign and column):
                raise FormError(f"{flag} {part}: expected {flag} exam_id=COLUMN")
            columns[name] = quote_text(column)
        return [f"{key}={write_mapping(columns)}" for key in keys]

    return take


def take_text(*keys: str) -> Form:
    """Make the form of one text, which is the value of the keys."""
    return lambda values: [f"{key}={quote_text(values[-1])}" for key in keys]


def take_texts(key: str) -> Form:
    """Make the form of texts with commas between."""
    return lambda values: [f"{key}={write_list([*map(_plain, _split(values))])}"]


def take_word(*overrides: str) -> Form:
    """Make the form of a flag without a value."""
    return lambda _: list(overrides)


def _split(values: Sequence[str]) -> list[str]:
    parts = (part.strip() for value in values for part in re.split(r"(?<!\\),", value))
    return [part for part in parts if part]


def _part(text: str, sign: str) -> tuple[str, str, str]:
    """Part a text at the first such sign that has no backslash before it, which is taken off the others."""
    first, *rest = re.split(rf"(?<!\\){sign}", text, maxsplit=1)
    return first, sign if rest else "", rest[0] if rest else ""


def _plain(text: str) -> str:
    """Take off the backslashes before signs that would part a text."""
    return re.sub(r"\\([,=:])", r"\1", text)


def _read_cut(name: str, cut: str) -> str:
    if cut in CUTS:
        return cut
    numbers = cut.split("/")
    try:
        values = [float(number) for number in numbers]
    except ValueError as error:
        raise FormError(
            f"--by {name}:{cut}: expected how the numbers are cut: {name}:median, {name}:3 (equal parts), "
            f"{name}:40/60 (edges), or {name}:levels (codes)"
        ) from error
    if len(numbers) == 1 and values[0] == int(values[0]) and values[0] < 10:
        return numbers[0]
    return f"[{','.join(numbers)}]"


def _require_provenance(flag: str, value: str, word: str) -> None:
    if word not in list(Provenance):
        raise FormError(
            f"{flag} {value}: {word!r} says not who drew the labels; expected one of {', '.join(Provenance)} before "
            "the colon (gold: experts, silver: a machine)"
        )
