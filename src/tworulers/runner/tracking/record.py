"""What MLflow shows of one stage result, as a file beside the result."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tworulers.runner.graph.table import TABLE
from tworulers.schema.atomic import written_beside
from tworulers.schema.damage import made_by

RECORD = "run.json"
"""The file in a result folder that says what MLflow shows of it."""

JUDGED = "judged"
MAKERS = {
    **{out.split("/")[0]: stage for stage, one in TABLE.items() for out in one.outputs},
    **{JUDGED: "judge", "tables": "audit", "risk": "risk"},
}
"""Stage by the folder that its results lie in."""

AGAIN = "run the stage that made it again"

SHARED = "shared"
"""The tag of a result that was made to be passed on, and of which nothing but its page may leave."""


@dataclass(frozen=True)
class RunRecord:
    """What MLflow shows of one stage result.

    `name` sorts and compares well (`audit · mix by silver`); `metrics` are finite or not, the non-finite ones are
    named in a tag; `series` are lists over steps; `sibling_tag` is the one tag that differs in a run that belongs
    beside this one, for example the same audit under the other ruler; `inputs` are what it was made from, each with
    the digest of its content.
    """

    stage: str
    name: str
    description: str
    tags: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, list[float]] = field(default_factory=dict)
    sibling_tag: str | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)


def write_record(record: RunRecord, folder: Path) -> None:
    """Write what MLflow shows of a result folder into the folder; non-finite metrics become text."""
    content = asdict(record)
    content["metrics"] = {name: _encode(value) for name, value in record.metrics.items()}
    content["series"] = {
        name: [_encode(value) for value in values] for name, values in record.series.items()
    }
    with written_beside(folder / RECORD) as temporary:
        temporary.write_text(json.dumps(content, indent=2, allow_nan=False, default=str) + "\n")


def read_record(folder: Path) -> RunRecord:
    """Read back what `write_record` wrote.

    Raises
    ------
    ValueError : the file is damaged; the message names it and the way out.
    """
    path = folder / RECORD
    try:
        content = json.loads(path.read_text())
        content["metrics"] = {name: float(value) for name, value in content["metrics"].items()}
        content["series"] = {
            name: [float(value) for value in values] for name, values in content["series"].items()
        }
        return RunRecord(**content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        mend = f"make it again with {made_by(maker)}" if (maker := find_maker(folder)) else AGAIN
        raise ValueError(f"{path} is damaged ({error}); {mend}") from error


def find_maker(folder: Path) -> str:
    """Find the stage that makes a result by where it lies; empty where that does not tell."""
    parts = folder.parts
    known = [place for place, part in enumerate(parts) if part in MAKERS]
    if not known:
        return ""
    # What was judged holds folders as the pipeline has them, two levels down.
    judged = parts[max(known[-1] - 2, 0)] == JUDGED
    return MAKERS[JUDGED if judged else parts[known[-1]]]


def mark_swept(folder: Path, choices: str, outputs: str) -> None:
    """Say in the name and the tags of a result, and of those within it, which run of a sweep it is.

    Parameters
    ----------
    folder : of the result.
    choices : what tells the run from the others.
    outputs : the run's own folder, seen from the project; empty where it has none.
    """
    tags = {"sweep": outputs} if outputs else {}
    for place in list_results(folder):
        record = read_record(place)
        marked = {**record.tags, **tags, "swept": choices}
        if record.tags.get("swept") != choices:
            name = f"{record.name} · {choices}"
            write_record(replace(record, name=name, tags=marked), place)


def was_made_to_be_shared(folder: Path, root: Path) -> bool:
    """Tell whether a result, or one it is part of, was made to be passed on."""
    return any(record.tags.get(SHARED) == "yes" for record in _read_around(folder, root))


def find_dataset(folder: Path, root: Path) -> dict[str, str]:
    """Find the dataset that a result is of, as its tag, which a result within another may leave to that one."""
    named = [
        record.tags["dataset"] for record in _read_around(folder, root) if "dataset" in record.tags
    ]
    return {"dataset": named[0]} if named else {}


def _read_around(folder: Path, root: Path) -> list[RunRecord]:
    """Read the record of a result and those of the results it is part of, its own first."""
    places = [place for place in (folder, *folder.parents) if place.is_relative_to(root)]
    return [read_record(place) for place in places if (place / RECORD).is_file()]


def list_results(folder: Path) -> list[Path]:
    """List the result folders in a folder, itself first: each is a run of its own."""
    return sorted({path.parent for path in folder.rglob(RECORD)})


def _encode(value: float) -> float | str:
    number = float(value)
    return number if math.isfinite(number) else str(number)
