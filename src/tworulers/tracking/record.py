"""What MLflow shows of one stage result, as a file beside the result."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

RECORD = "run.json"
"""The file in a result folder that says what MLflow shows of it."""

SHARED = "shared"
"""The tag of a result that was made to be passed on, and of which nothing but its page may leave."""


@dataclass(frozen=True)
class RunRecord:
    """What MLflow shows of one stage result.

    `name` sorts and compares well (`audit · mix by silver`); `metrics` are finite or not, the non-finite ones are
    named in a tag; `series` are lists over steps; `sibling_tag` is the one tag that differs in a run that belongs
    beside this one, for example the same audit under the other ruler.
    """

    stage: str
    name: str
    description: str
    tags: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, list[float]] = field(default_factory=dict)
    sibling_tag: str | None = None


def write_record(record: RunRecord, folder: Path) -> None:
    """Write what MLflow shows of a result folder into the folder; non-finite metrics become text."""
    content = asdict(record)
    content["metrics"] = {name: _encode(value) for name, value in record.metrics.items()}
    content["series"] = {
        name: [_encode(value) for value in values] for name, values in record.series.items()
    }
    temporary = folder / f".{RECORD}"
    temporary.write_text(json.dumps(content, indent=2, allow_nan=False, default=str) + "\n")
    temporary.replace(folder / RECORD)


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
        raise ValueError(
            f"{path} is damaged ({error}); run the stage that made {folder} again"
        ) from error


def was_made_to_be_shared(folder: Path, root: Path) -> bool:
    """Tell whether a result, or one it is part of, was made to be passed on."""
    places = [place for place in (folder, *folder.parents) if place.is_relative_to(root)]
    records = [read_record(place) for place in places if (place / RECORD).is_file()]
    return any(record.tags.get(SHARED) == "yes" for record in records)


def list_results(folder: Path) -> list[Path]:
    """List the result folders in a folder, itself first: each is a run of its own."""
    return sorted({path.parent for path in folder.rglob(RECORD)})


def _encode(value: float) -> float | str:
    number = float(value)
    return number if math.isfinite(number) else str(number)
