"""When and by what a result was made, as MLflow shows it: start, end, commit, and the digest of its settings."""

from dataclasses import dataclass
from pathlib import Path

from tworulers.io.digests import digest_file
from tworulers.runner.cost import find_spent

SETTINGS = "config.yaml"
"""The file of a result that holds the settings it was made by."""


@dataclass(frozen=True)
class Circumstances:
    """`start` and `end` (ms since 1970) of the run that made a result, None where no record of it is left; and tags."""

    start: int | None
    end: int | None
    tags: dict[str, str]


def find_circumstances(root: Path, place: str) -> Circumstances:
    """Find when a result was made, by which commit and which settings.

    Parameters
    ----------
    root : the project's.
    place : the result's folder below it. One that is part of another was made with that.
    """
    spent = find_spent(root, place)
    settings = next(
        (
            one
            for folder in (Path(place), *Path(place).parents)
            if (one := root / folder / SETTINGS).is_file()
        ),
        None,
    )
    tags = {} if settings is None else {"settings": digest_file(settings)[:16]}
    if spent is None:
        return Circumstances(None, None, tags)
    if spent.commit:
        tags["mlflow.source.git.commit"] = spent.commit
    start = round(1000 * spent.began)
    return Circumstances(start, start + round(1000 * spent.seconds), tags)
