"""An audit on disk: one Parquet table a frame, and one strict JSON of what it is about."""

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pandas as pd

from tworulers.battery.audit import AuditResult
from tworulers.battery.summary import summarise
from tworulers.io.records import (
    VERSION,
    read_json,
    read_table,
    require_version,
    write_json,
    write_table,
)
from tworulers.schema.damage import reading
from tworulers.schema.metric import Metric
from tworulers.schema.result_files import SUMMARY
from tworulers.schema.settings import Audit, Locked
from tworulers.schema.tables import SCHEMA_VERSION

FRAMES = tuple(field.name for field in fields(AuditResult) if field.type is pd.DataFrame)
"""The tables of an audit; each is a Parquet file of its name."""


def write_audit(result: AuditResult, folder: Path) -> None:
    """Write an audit's tables, `summary.json` (its numbers), and `audit.json` (what made it)."""
    for name in FRAMES:
        write_table(getattr(result, name), folder / f"{name}.parquet", SCHEMA_VERSION)
    about = {
        field.name: getattr(result, field.name)
        for field in fields(AuditResult)
        if field.name not in (*FRAMES, "settings", "metrics")
    }
    metrics = {name: metric.declare() for name, metric in result.metrics.items()}
    settings = asdict(result.settings)
    made_by = {VERSION: SCHEMA_VERSION, "settings": settings, "metrics": metrics}
    write_json(about | made_by, folder / "audit.json")
    write_json(summarise(result), folder / SUMMARY)


def read_audit(folder: Path) -> AuditResult:
    """Read an audit back.

    Raises
    ------
    MissingInputError : a table is not there; the message names the stage that makes it.
    OldTablesError : the tables are of another schema version, in which columns mean something else.
    """
    path = folder / "audit.json"
    about: dict[str, Any] = read_json(path, "audit")
    require_version(about, SCHEMA_VERSION, path, "audit")
    about.pop(VERSION, None)
    with reading(path, "audit"):
        locked = Locked(**about["settings"].pop("locked", {}))
        about["settings"] = Audit(**about["settings"], locked=locked)
        about["metrics"] = {name: Metric.of(metric) for name, metric in about["metrics"].items()}
        about |= {
            name: read_table(folder / f"{name}.parquet", "audit", version=SCHEMA_VERSION)
            for name in FRAMES
        }
        return AuditResult(**about)
