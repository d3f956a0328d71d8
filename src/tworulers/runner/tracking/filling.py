"""What a run in MLflow is filled with: tags, parameters, numbers, inputs, and files that its page shows."""

import math
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tworulers.runner.tracking.names import name_metrics
from tworulers.runner.tracking.record import RunRecord
from tworulers.runner.tracking.shown import reduce_page, reduce_table
from tworulers.schema.told_settings import hide_places

LONGEST_VALUE = 5000
BATCH = 100
POINTS = 1000
PAGE = "index.html"


def fill_run(client: Any, run: str, record: RunRecord, tags: Mapping[str, str]) -> None:
    """Give a run its tags, parameters, numbers and series; what is undefined is named in a tag.

    Parameters
    ----------
    client : MLflow's.
    run : its id.
    record : whose parameters, metrics and series are shown.
    tags : all tags, named as MLflow takes them.
    """
    from mlflow.entities import Metric, Param, RunTag

    undefined = sorted(name for name, value in record.metrics.items() if not math.isfinite(value))
    finite = {name: value for name, value in record.metrics.items() if math.isfinite(value)}
    named = name_metrics(finite)
    renamed = {new: old for new, old in zip(named, finite, strict=True) if new != old}
    told = {**tags, "undefined": ", ".join(undefined)} if undefined else tags
    if renamed:
        client.log_dict(run, renamed, "metric_names.json")
    points = [Metric(name, value, 0, 0) for name, value in named.items()] + [
        Metric(name, value, 0, step)
        for name, values in name_metrics(record.series).items()
        for step, value in enumerate(values)
        if math.isfinite(value)
    ]
    shown = [RunTag(name, str(value)[:LONGEST_VALUE]) for name, value in told.items()]
    asked = [Param(name, value) for name, value in name_params(record).items()]
    sizes: dict[str, tuple[list[Any], int]] = {
        "tags": (shown, BATCH),
        "params": (asked, BATCH),
        "metrics": (points, POINTS),
    }
    for kind, (entries, size) in sizes.items():
        for start in range(0, len(entries), size):
            client.log_batch(run, **{kind: entries[start : start + size]})


def name_params(record: RunRecord) -> dict[str, str]:
    """Write the parameters of a result as MLflow keeps them."""
    told = name_metrics(hide_places(record.params))
    return {name: str(value)[:LONGEST_VALUE] for name, value in told.items()}


def show_inputs(client: Any, run: str, record: RunRecord) -> None:
    """Show what a result was made from as the data that a run used, each with the digest of its content."""
    from mlflow.entities import Dataset, DatasetInput

    of = record.tags.get("dataset", "")
    inputs = [
        DatasetInput(Dataset(f"{of}/{name}" if of else name, digest, "local", '{"uri": ""}'))
        for name, digest in record.inputs.items()
    ]
    if inputs:
        client.log_inputs(run, inputs)


def show_files(client: Any, run: str, folder: Path, shown: list[Path]) -> None:
    """Copy files of a result beside its run: tables as CSV, pages without single exams, others as they are."""
    with TemporaryDirectory() as copies:
        for path in shown:
            place = path.parent.relative_to(folder).as_posix().removeprefix(".")
            if path.name == PAGE:
                page = Path(copies) / PAGE
                page.write_text(reduce_page(path.read_text(encoding="utf-8")), encoding="utf-8")
                client.log_artifact(run, str(page), place)
                continue
            table = reduce_table(path)
            if table is None:
                client.log_artifact(run, str(path), place)
                continue
            copy = Path(copies) / f"{path.stem}.csv"
            table.to_csv(copy, index=False)
            client.log_artifact(run, str(copy), place)
