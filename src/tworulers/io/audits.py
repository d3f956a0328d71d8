"""An audit on disk: one Parquet table a frame, and one strict JSON of what it is about."""

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pandas as pd

from tworulers.audit import AuditResult
from tworulers.io.records import read_json, read_table, write_json, write_table
from tworulers.schema import Audit, Metric
from tworulers.summary import summarise

FRAMES = tuple(field.name for field in fields(AuditResult) if field.type is pd.DataFrame)
"""The tables of an audit; each is a Parquet file of its name."""


def write_audit(result: AuditResult, folder: Path) -> None:
    """Write an audit's tables, `summary.json` (its numbers), and `audit.json` (what made it)."""
    for name in FRAMES:
        write_table(getattr(result, name), folder / f"{name}.parquet")
    about = {
        field.name: getattr(result, field.name)
        for field in fields(AuditResult)
        if field.name not in (*FRAMES, "settings", "metrics")
    }
    metrics = {name: asdict(metric) for name, metric in result.metrics.items()}
    settings = asdict(result.settings)
    write_json({**about, "settings": settings, "metrics": metrics}, folder / "audit.json")
    write_json(summarise(result), folder / "summary.json")


def read_audit(folder: Path) -> AuditResult:
    """Read an audit back.

    Raises
    ------
    MissingInputError : a table is not there; the message names the stage that makes it.
    """
    about: dict[str, Any] = read_json(folder / "audit.json", "audit")
    about["settings"] = Audit(**about["settings"])
    about["metrics"] = {name: Metric(**metric) for name, metric in about["metrics"].items()}
    about |= {name: read_table(folder / f"{name}.parquet", "audit") for name in FRAMES}
    return AuditResult(**about)
