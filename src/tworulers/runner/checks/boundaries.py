"""What a configuration may name: results are filed below the project, under names that lead nowhere else."""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from tworulers.schema.file_names import escape_controls, find_meeting_names, find_name_fault
from tworulers.schema.settings import Paths, Settings
from tworulers.schema.sources import UNSET


def check_names(settings: Settings) -> None:
    """Refuse names that results would be filed under elsewhere, or together; all of them in one message.

    Raises
    ------
    ValueError : with each such name, its key, and what is wrong with it.
    """
    faults = [
        f"{key} {escape_controls(name)!r} {fault}"
        for key, name in _list_names(settings)
        if (fault := find_name_fault(name))
    ]
    given = settings.predictions
    lists = {"predictions.references": [*given.references], "predictions.models": [*given.models]}
    lists |= {"grid.regimes": settings.grid.regimes, "grid.rulers": settings.grid.rulers}
    lists |= {"grid.configurations": settings.grid.configurations}
    faults += [
        f"{key} has {' and '.join(map(repr, group))}, which are one name where capital letters do not count"
        for key, names in lists.items()
        for group in find_meeting_names(names)
    ]
    if faults:
        raise ValueError(
            f"nothing can be filed under these names: {'; '.join(faults)}. Use letters, digits, spaces, - and _"
        )


def check_homes(paths: Paths, overrides: Sequence[str], root: Path) -> None:
    """Refuse to write results outside the project, unless the command line says so itself.

    Parameters
    ----------
    paths : where results go.
    overrides : of the command line.
    root : the project root.

    Raises
    ------
    ValueError : a file of the configuration leads out of the project.
    """
    typed = {override.partition("=")[0].lstrip("+") for override in overrides}
    if "paths.artifacts" in typed and paths.outputs == paths.artifacts:
        return
    for key, value in (("paths.artifacts", paths.artifacts), ("paths.outputs", paths.outputs)):
        place = PurePath(value)
        if (place.is_absolute() or ".." in place.parts) and key not in typed:
            raise ValueError(
                f"{key} is {escape_controls(value)!r}, outside {root}; a file may only name a folder below the "
                f"project. If results are to go there, say so on the command line: {key}=..."
            )


def _list_names(settings: Settings) -> Iterator[tuple[str, str]]:
    """List what results are filed under, by key; what is not set is filed nowhere."""
    given = {
        "dataset.name": settings.dataset.name,
        "regime.name": settings.regime.name,
        "ruler.name": settings.ruler.name,
        "configuration.name": settings.configuration.name,
        "attributes.name": settings.attributes.name,
        "recipe.name": settings.recipe.name,
        "predictions.name": settings.predictions.name,
        "risk.name": settings.risk.name,
    }
    yield from ((key, name) for key, name in given.items() if name not in ("", UNSET))
    for name in settings.predictions.references:
        yield "the reference", name
    for name in settings.predictions.models:
        yield "the model", name
    for key in ("regimes", "rulers", "configurations"):
        for name in getattr(settings.grid, key):
            yield f"grid.{key}", name
