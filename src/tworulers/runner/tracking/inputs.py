"""What a result was made from: each input by its name in the pipeline, with the digest of its content."""

from contextlib import suppress
from pathlib import Path

from tworulers.io.digests import digest_file, digest_files, list_files
from tworulers.io.paths import Layout
from tworulers.io.resume import DIGEST, STAMP, digest, read_stamp
from tworulers.runner.graph.wiring import Step, list_steps
from tworulers.schema.settings import Settings

GIVEN = (
    "scores.file",
    "scores.cohort",
    "against.file",
    "against.cohort",
    "label maps",
    "predictions.cohort",
)
"""What a stamp says of files that a person named; a result made of them has none of the pipeline's inputs."""

READ_IN_PART = {"report": "models"}
"""Inputs that a stage reads little of and that are large: they are not digested for its sake."""

SHORT = 16


def digest_inputs(stage: str, folder: Path, settings: Settings, layout: Layout) -> dict[str, str]:
    """Digest what a finished result was made from.

    Parameters
    ----------
    stage, folder : what ran, and the result that it left.
    settings, layout : what it ran with.

    Returns
    -------
    Short digests by place below the dataset's folder, or by setting for files that a person named.
    """
    stamp = read_stamp(folder / STAMP) or {}
    given = {name: str(stamp[name]) for name in GIVEN if name in stamp}
    if given:
        return {name: one.removeprefix(DIGEST)[:SHORT] for name, one in given.items()}
    places = {name: _find(layout, name) for name in _list_places(stage, settings, layout.root)}
    return {name: _digest(place, layout) for name, place in places.items() if place.exists()}


def _list_places(stage: str, settings: Settings, root: Path) -> list[str]:
    """List what the graph says that a stage reads, below the dataset's folder."""
    regime, ruler = settings.regime.name, settings.ruler.name
    names = {"regime": regime, "ruler": ruler, "configuration": settings.configuration.name}
    steps: list[Step] = []
    # A grid that cannot be read is no fault of a result made by hand.
    with suppress(ValueError, OSError):
        steps = [step for step in list_steps(root) if step.stage == stage]
    fitting = [step for step in steps if all(_takes(step, one, names[one]) for one in names)]
    chosen = (fitting or steps)[:1]
    deps = dict.fromkeys(dep.format(**names) for step in chosen for dep in step.inputs)
    return [dep for dep in deps if dep != READ_IN_PART.get(stage)]


def _takes(step: Step, choice: str, name: str) -> bool:
    """Tell whether a step is one of those that make the results of a choice."""
    over = step.matrix.get(choice, step.given.get(choice, name))
    return over in (name, f"{choice}s") if isinstance(over, str) else name in over


def _find(layout: Layout, name: str) -> Path:
    own = layout.outputs / name
    return own if own.exists() else layout.inputs / name


def _digest(place: Path, layout: Layout) -> str:
    if place.is_file():
        return digest_file(place)[:SHORT]
    files = list_files(place)
    if layout.inputs == layout.outputs:
        digests = digest_files(files, layout.digests)
    else:
        # A run beside the pipeline leaves nothing there but its result.
        digests = {path: digest_file(path) for path in files}
    content = {path.relative_to(place).as_posix(): one for path, one in digests.items()}
    return digest(content).removeprefix(DIGEST)[:SHORT]
