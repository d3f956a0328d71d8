"""What a study answered, on disk: comparisons, anchored means and warnings, each written and read in one place."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from math import nan
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from tworulers.battery.audit import AuditResult
from tworulers.diagnosis.anchored import Anchored
from tworulers.diagnosis.comparison import Comparison, RegimeComparison
from tworulers.diagnosis.warning import TABLES, Warned
from tworulers.io.audits import read_audit, write_audit
from tworulers.io.records import read_json, read_table, write_json, write_table
from tworulers.schema.result_files import SUMMARY
from tworulers.schema.tables import SCHEMA_VERSION

OF_COMMON = "common"
"""The folder of a comparison that holds both audits over the common exams and structures, where either has more."""

ANCHORED = {
    "means": "anchored_means",
    "gaps": "anchored_gaps",
    "failures": "anchored_failures",
    "failure_gaps": "anchored_failure_gaps",
    "exchangeability": "exchangeability",
}
TRACED = "probability.parquet"

Compared = TypeVar("Compared", Comparison, RegimeComparison)


def write_comparison(found: Comparison | RegimeComparison, folder: Path) -> None:
    """Write a comparison's tables and its summary.

    Raises
    ------
    ValueError : another comparison of the same run has this folder: `a_b` with `c`, and `a` with `b_c`.
    """
    if (folder / SUMMARY).exists():
        raise ValueError(
            f"two comparisons would be filed as {folder.name!r}: name a regime or ruler otherwise"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name in _list_tables(type(found)):
        write_table(getattr(found, name), folder / f"{name}.parquet", SCHEMA_VERSION)
    write_json(found.summary, folder / SUMMARY)


def read_comparison(folder: Path, kind: type[Compared]) -> Compared:
    """Read a comparison back."""
    tables: dict[str, Any] = {
        name: _read(folder / f"{name}.parquet", "compare") for name in _list_tables(kind)
    }
    return kind(**tables, summary=read_json(folder / SUMMARY, "compare"))


def write_common_audits(audits: Iterable[AuditResult], folder: Path) -> None:
    """Write the audits over the common exams and structures beside their comparison."""
    for audit in audits:
        place = folder / OF_COMMON / audit.ruler
        place.mkdir(parents=True, exist_ok=True)
        write_audit(audit, place)


def read_common_audits(folder: Path) -> dict[str, AuditResult]:
    """Read the audits over the common exams of a comparison, by ruler; none where the exams were the same."""
    return {
        path.parent.name: read_audit(path.parent)
        for path in sorted((folder / OF_COMMON).glob("*/audit.json"))
    }


def write_anchored(found: Anchored, said: Sequence[str], folder: Path) -> None:
    """Write gold-anchored estimates, and what is said of them, beside their comparison."""
    for name, file in ANCHORED.items():
        write_table(getattr(found, name), folder / f"{file}.parquet", SCHEMA_VERSION)
    about = {name: getattr(found, name) for name in ("n_gold", "n_other", "threshold")}
    write_json({"sentences": said, **about}, folder / "anchored.json")


def read_anchored(folder: Path) -> Anchored | None:
    """Read gold-anchored estimates; None where there are none."""
    if not (folder / "anchored.json").is_file():
        return None
    tables: dict[str, Any] = {
        name: _read(folder / f"{file}.parquet", "compare") for name, file in ANCHORED.items()
    }
    about = read_json(folder / "anchored.json", "compare")
    return Anchored(**tables, **{x: about[x] for x in ("n_gold", "n_other", "threshold")})


def read_traced(folder: Path) -> pd.DataFrame | None:
    """Read how often each test is significant by number of exams; None where that was not traced."""
    return _read(folder / TRACED, "compare") if (folder / TRACED).is_file() else None


def write_warned(
    found: Warned, said: Mapping[str, Sequence[str]], provenance: str, folder: Path
) -> None:
    """Write how well confidence warns of failures, and what is said of it, beside the audit."""
    for name in TABLES:
        write_table(getattr(found, name), folder / f"warning_{name}.parquet", SCHEMA_VERSION)
    about = {"provenance": provenance, "numbers": found.numbers, "sentences": said}
    write_json(about, folder / "warning.json")


def read_warned(folder: Path) -> Warned | None:
    """Read how well confidence warns of failures; None where it was not asked."""
    if not (folder / "warning.json").is_file():
        return None
    tables = (_read(folder / f"warning_{name}.parquet", "audit") for name in TABLES)
    cells, metrics, tests, concordance = tables
    about = read_json(folder / "warning.json", "audit")
    numbers: dict[str, dict[str, float]] = {"auc": {}, "concordance": {}}
    for name, value in about["numbers"].items():
        _, measure, kind = name.split("/")
        numbers[kind][measure] = nan if value is None else float(value)
    return Warned(cells, metrics, tests, concordance, numbers["auc"], numbers["concordance"])


def _list_tables(kind: type) -> list[str]:
    return [field.name for field in fields(kind) if field.type is pd.DataFrame]


def _read(path: Path, stage: str) -> pd.DataFrame:
    return read_table(path, stage, version=SCHEMA_VERSION)
