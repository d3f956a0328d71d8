"""Copies of results in MLflow: the only module that knows it, and nothing of record lives only there."""

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from filelock import FileLock

from tworulers.schema import Tracking

RECORD = "run.json"
"""The file in a result folder that says what MLflow shows of it."""

GROUP_SIGNS = {
    "<=": "le",
    ">=": "ge",
    "<": "lt",
    ">": "gt",
    "+": "plus",
    "%": "pct",
    "&": "and",
    "/": "_or_",
}
VIEW = "workflowType=machine_learning"
"""What makes MLflow show its pages for trained models; by default it shows those for language models."""

NOTE = "mlflow.note.content"
GUIDE = """Each run is one result of the pipeline, a copy of the folder that its tag `folder` names.

- **report**: the answer; the whole page is its artifact `index.html`.
- **audit · regime by ruler**: verdicts by one ruler. To see two rulers side by side, search \
`tags.stage = 'audit' and tags.superseded = 'no'`, tick two runs of one regime and press Compare, or follow the link \
in a run's description.
- **rulers · ..** and **regimes · ..**: what changes with the ruler or with the regime, and why.
- **train · ..**: losses and Dice by epoch, below Model metrics.

Figures are artifacts below `figures/`. A difference is one in the eyes of the ruler named, whose provenance is a tag.
"""
"""What the page of the experiment says to whoever opens it first."""

ALLOWED = re.compile(r"[^\w\-. :/]", re.UNICODE)


@dataclass(frozen=True)
class RunRecord:
    """What MLflow shows of one stage result.

    `name` sorts and compares well (`audit · mix by silver`); `metrics` are finite or not, the non-finite ones are
    named in a tag; `series` are lists over steps; `siblings` are tags of which exactly one differs in a run that
    belongs beside this one, for example the same audit under the other ruler.
    """

    stage: str
    name: str
    description: str
    tags: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, list[float]] = field(default_factory=dict)
    sibling_tag: str | None = None


def slug(text: str) -> str:
    """Write any text so that MLflow takes it in a metric name: `<40` becomes `lt40`, brackets become underscores."""
    for sign, word in GROUP_SIGNS.items():
        text = text.replace(sign, word)
    return re.sub(r"\.\.+|//+", "_", ALLOWED.sub("_", text)).strip("/").replace(" ", "_") or "_"


def name_metrics(metrics: Mapping[str, float]) -> dict[str, float]:
    """Give every metric a name that MLflow accepts; names that would meet in one get a short hash of the original.

    Names are `metric/structure/grouping/quantity`. A name of more than 250 characters is cut and hashed.
    """
    names = list(metrics)
    plain = {
        name: "/".join(slug(part) for part in name.split("/") if part) or "_" for name in names
    }
    taken: dict[str, list[str]] = {}
    for name in names:
        taken.setdefault(plain[name].casefold(), []).append(name)
    named = {}
    for name in names:
        short = plain[name]
        if (len(taken[short.casefold()]) > 1 and short != name) or len(short) > 250:
            short = f"{short[:240]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        named[short] = metrics[name]
    return named


def connect(root: Path, settings: Tracking) -> Any:
    """Return the `mlflow` module connected to the project's store, made under a lock on first use.

    Parameters
    ----------
    root : the project root; the local store is `mlruns/mlflow.db`, its artifacts `mlruns/artifacts`.
    settings : experiment name and, for a server, its address; `MLFLOW_TRACKING_URI` overrides both.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    os.environ.pop("MLFLOW_RUN_ID", None)
    store = root / "mlruns"
    store.mkdir(exist_ok=True)
    uri = (
        os.environ.get("MLFLOW_TRACKING_URI") or settings.uri or f"sqlite:///{store / 'mlflow.db'}"
    )
    import mlflow

    with FileLock(store / ".init.lock"):
        mlflow.set_tracking_uri(uri)
        found = mlflow.get_experiment_by_name(settings.experiment)
        if found is None:
            location = None if uri.startswith("http") else (store / "artifacts").as_uri()
            mlflow.create_experiment(
                settings.experiment, artifact_location=location, tags={NOTE: GUIDE}
            )
        elif NOTE not in found.tags:
            mlflow.MlflowClient().set_experiment_tag(found.experiment_id, NOTE, GUIDE)
    mlflow.set_experiment(settings.experiment)
    return mlflow


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
    """Read back what `write_record` wrote."""
    content = json.loads((folder / RECORD).read_text())
    content["metrics"] = {name: float(value) for name, value in content["metrics"].items()}
    content["series"] = {
        name: [float(value) for value in values] for name, values in content["series"].items()
    }
    return RunRecord(**content)


def publish(folder: Path, root: Path, settings: Tracking) -> str:
    """Copy one result folder to MLflow unless it is there already; return the run's id.

    The key of a run is the hash of its record and of every small file beside it. A run of the same result that was
    left unfinished is closed as killed; an older run of the same name is kept and tagged `superseded`.
    """
    record = read_record(folder)
    mlflow = connect(root, settings)
    client = mlflow.MlflowClient()
    experiment = mlflow.get_experiment_by_name(settings.experiment).experiment_id
    shown = list_shown(folder, settings.row_level)
    key = _key(folder, shown)
    for run in client.search_runs([experiment], f"tags.key = '{key}'"):
        if run.info.status == "FINISHED":
            return str(run.info.run_id)
        client.set_terminated(run.info.run_id, "KILLED")
    place = (
        folder.relative_to(root).as_posix() if folder.is_relative_to(root) else folder.as_posix()
    )
    older = client.search_runs([experiment], f"tags.folder = '{place}' and tags.superseded = 'no'")
    # Publishing is not what made a result, so its own name would say nothing in the column of sources.
    source = {"mlflow.source.name": f"src/tworulers/stages/{record.stage}.py"}
    with mlflow.start_run(run_name=record.name, description=record.description, tags=source) as run:
        _log(
            mlflow,
            client,
            run.info.run_id,
            record,
            folder,
            shown,
            {"key": key, "folder": place, "superseded": "no"},
        )
    for run_before in older:
        client.set_tag(run_before.info.run_id, "superseded", "yes")
        client.update_run(run_before.info.run_id, name=f"{run_before.info.run_name} (superseded)")
    _link_siblings(client, experiment, record)
    return str(run.info.run_id)


def _log(
    mlflow: Any,
    client: Any,
    run: str,
    record: RunRecord,
    folder: Path,
    shown: list[Path],
    tags: dict[str, str],
) -> None:
    undefined = sorted(name for name, value in record.metrics.items() if not math.isfinite(value))
    finite = {name: value for name, value in record.metrics.items() if math.isfinite(value)}
    named = name_metrics(finite)
    renamed = {new: old for new, old in zip(named, finite, strict=True) if new != old}
    commit = {"DVC_STAGE": os.environ["DVC_STAGE"]} if "DVC_STAGE" in os.environ else {}
    mlflow.set_tags({"stage": record.stage, **record.tags, **tags, **commit})
    if undefined:
        mlflow.set_tag("undefined", ", ".join(undefined)[:5000])
    if renamed:
        mlflow.log_dict(renamed, "metric_names.json")
    mlflow.log_params({name: str(value)[:5000] for name, value in record.params.items()})
    mlflow.log_metrics(named)
    from mlflow.entities import Metric

    points = [
        Metric(new, value, 0, step)
        for new, values in name_metrics_of_series(record.series).items()
        for step, value in enumerate(values)
        if math.isfinite(value)
    ]
    for start in range(0, len(points), 1000):
        client.log_batch(run, metrics=points[start : start + 1000])
    for path in shown:
        mlflow.log_artifact(str(path), path.parent.relative_to(folder).as_posix().removeprefix("."))


def name_metrics_of_series(series: Mapping[str, list[float]]) -> dict[str, list[float]]:
    """Give every series the name that `name_metrics` gives a metric."""
    order = name_metrics(dict.fromkeys(series, 0.0))
    return dict(zip(order, series.values(), strict=True))


def _link_siblings(client: Any, experiment: str, record: RunRecord) -> None:
    """Link runs that differ in `sibling_tag` alone, in the description and as a tag, in both directions."""
    if record.sibling_tag is None:
        return
    same = {
        name: value
        for name, value in record.tags.items()
        if name != record.sibling_tag and name in LINKED_TAGS
    }
    condition = " and ".join(
        f"tags.`{name}` = '{value}'" for name, value in {**same, "superseded": "no"}.items()
    )
    family = client.search_runs([experiment], f"tags.stage = '{record.stage}' and {condition}")
    runs = {other.info.run_id: other for other in family if record.sibling_tag in other.data.tags}
    for this in runs.values():
        links = []
        for other in runs.values():
            if other.info.run_id == this.info.run_id:
                continue
            value = other.data.tags[record.sibling_tag]
            client.set_tag(
                this.info.run_id, f"{record.sibling_tag}_{slug(value)}", other.info.run_id
            )
            here, there = this.info.run_id, other.info.run_id
            links.append(
                f"[{value}](#/experiments/{experiment}/runs/{there}?{VIEW}) "
                f"([side by side]({link_comparison(experiment, [here, there])}))"
            )
        if links:
            note = this.data.tags.get(NOTE, "").split("\n\n")
            note = [part for part in note if not part.startswith(BESIDE)]
            # Second, since MLflow folds a long description after a few lines.
            note.insert(
                1, f"{BESIDE} with another {record.sibling_tag}: {', '.join(sorted(links))}"
            )
            client.set_tag(this.info.run_id, NOTE, "\n\n".join(note))


def link_comparison(experiment: str, runs: list[str]) -> str:
    """Return the address of MLflow's page that compares runs, relative to its start page."""
    chosen = {"runs": json.dumps(runs), "experiments": json.dumps([experiment])}
    return f"#/compare-runs?{urlencode(chosen)}&{VIEW}"


BESIDE = "Beside it,"
"""How the paragraph of a run's description begins that links its siblings."""

LINKED_TAGS = ("dataset", "regime", "ruler", "attributes", "sweep")
"""The tags that have to agree, but for one, between runs that are linked."""

SHOWN_SUFFIXES = {".json", ".parquet", ".csv", ".png", ".svg", ".html", ".md", ".yaml", ".txt"}
LARGEST_ARTIFACT = 20 * 1024 * 1024


PEOPLE = {"exam_id", "patient_id", "exam_ids"}
"""Columns that say that a table's rows are exams or people."""

OF_SCORES = {
    "exam_id",
    "regime",
    "ruler",
    "provenance",
    "structure",
    "metric",
    "value",
    "undefined_because",
}
"""The columns of scores by exam, which say nothing of the person."""


def list_results(folder: Path) -> list[Path]:
    """List the result folders in a folder, itself first: each is a run of its own."""
    return sorted({path.parent for path in folder.rglob(RECORD)})


def list_shown(folder: Path, row_level: bool = False) -> list[Path]:
    """List the files of a result that MLflow gets: small, in a known format, no other result's.

    Parameters
    ----------
    folder : the result.
    row_level : with the tables that have a row a person; without, scores by exam are the only ones.
    """
    others = [place for place in list_results(folder) if place != folder]
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in SHOWN_SUFFIXES
        and path.name != RECORD
        and not any(
            part.startswith(".") or part == "labels" for part in path.relative_to(folder).parts
        )
        and not any(path.is_relative_to(other) for other in others)
        and path.stat().st_size <= LARGEST_ARTIFACT
        and (row_level or not _tells_of_people(path))
    )


def _tells_of_people(path: Path) -> bool:
    """Tell whether a table has a row an exam or person, and more in it than scores."""
    if path.suffix == ".parquet":
        import pyarrow.parquet

        columns = set(pyarrow.parquet.read_schema(path).names)
    elif path.suffix == ".csv":
        columns = set(path.read_text(encoding="utf-8").partition("\n")[0].strip().split(","))
    else:
        return False
    return bool(columns & PEOPLE) and not columns <= OF_SCORES


def _key(folder: Path, shown: list[Path]) -> str:
    digest = hashlib.sha256((folder / RECORD).read_bytes())
    for path in shown:
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _encode(value: float) -> float | str:
    number = float(value)
    return number if math.isfinite(number) else str(number)
