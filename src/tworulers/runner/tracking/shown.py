"""What of a result may leave this machine: files, tables and settings that are named here, and no others."""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

from tworulers.io.records import read_sealed
from tworulers.runner.tracking.record import RECORD, find_maker, list_results
from tworulers.schema.damage import reading

LARGEST_ARTIFACT = 20 * 1024 * 1024

TABLES = frozenset(
    {
        # cohort and split
        "table1", "ages", "confounders", "counts", "left_out",
        # training
        "curve",
        # one ruler
        "overall", "groups", "rates", "tests", "disparities", "differences", "equivalence", "posthoc",
        "linear", "repeats", "power", "groupings", "families", "sentences",
        "adjusted", "mixed", "trends", "shifts", "label_shares",
        "anchored_means", "anchored_gaps", "anchored_failures", "anchored_failure_gaps", "exchangeability",
        "warning_cells", "warning_metrics", "warning_tests", "warning_concordance",
        # two rulers or regimes
        "inflation", "closeness", "spread", "decomposition", "verdicts", "flips", "four_fifths", "gaps",
        "by_group", "agreement",
        # risk scores
        "cells", "metrics", "mean_scores", "calibration",
    }
)  # fmt: skip
"""Tables of groups, tests and epochs, by name; none has a row an exam or a person."""

ROW_LEVEL = frozenset({"cohort", "splits", "scores", "beyond", "confidence", "annotations"})
"""Tables with a row an exam, which leave with `tracking.row_level=true` only."""

DOCUMENTS = frozenset(
    {"index.html", "risk.md", "summary.json", "audit.json", "plans.json", "recipe.json", "captions.txt", "about.json"}
)  # fmt: skip
FIGURES = frozenset({".svg", ".png"})
FIGURES_FOLDER = "figures"

OF_EXAMS = "worst"
"""What the part of a page, and the figures, begin with that show single exams: they stay where they were made."""

PEOPLE = frozenset({"exam_id", "patient_id", "exam_ids", "unit_id", "cluster_id"})
"""Columns that say that a table's rows are exams or people: a table with one of them is of people whatever its name."""

EXTREMES = {"ages": ["minimum", "maximum"]}
"""Columns, by table, whose values are those of single people."""

SHARED_STAGES = frozenset({"report", "judge"})
"""Stages of which something leaves where only what may be passed on is asked for: their page, figures and answer."""

SHARED_DOCUMENTS = frozenset({"index.html", "captions.txt"})


def list_shown(folder: Path, row_level: bool = False, shared: bool = False) -> list[Path]:
    """List the files of a result that MLflow gets: those named here, small, and no other result's.

    Parameters
    ----------
    folder : the result.
    row_level : with the tables that have a row an exam.
    shared : the page and its figures alone, which were written to be passed on.
    """
    others = [place for place in list_results(folder) if place != folder]
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and path.name != RECORD
        and not any(path.is_relative_to(other) for other in others)
        and path.stat().st_size <= LARGEST_ARTIFACT
        and (
            _may_be_shared(path, path.relative_to(folder))
            if shared
            else _may_leave(path, path.relative_to(folder))
            or (row_level and _may_leave_if_asked(path))
        )
    )


def reduce_table(path: Path) -> pd.DataFrame | None:
    """Read a table without what its groups of one exam, and its extremes, would tell of single people.

    Returns
    -------
    The table to show; with a row an exam, where that was asked for, it is whole. None of a file that is no table.
    """
    if path.suffix != ".parquet":
        return None
    from tworulers.cohort.disclosure import hide_single_exams

    with reading(path, find_maker(path.parent)):
        table = read_sealed(path)
    if path.stem in ROW_LEVEL:
        return table
    return hide_single_exams(table.drop(columns=EXTREMES.get(path.stem, []), errors="ignore"))


def reduce_page(page: str) -> str:
    """Leave out of a page the pictures of single exams, and say where they are: pictures of people do not go out."""
    kept = r"\1<p>Pictures of single exams are of people, and stay on the page where it was made.</p>\2"
    return re.sub(rf'(<section id="{OF_EXAMS}"[^>]*>).*?(</section>)', kept, page, flags=re.DOTALL)


def _may_leave(path: Path, relative: PurePath) -> bool:
    if any(part.startswith(".") for part in relative.parts):
        return False
    if path.suffix in FIGURES:
        return FIGURES_FOLDER in relative.parts[:-1] and not path.stem.startswith(OF_EXAMS)
    if path.suffix == ".parquet":
        return path.stem in TABLES and not _columns(path) & PEOPLE
    return path.name in DOCUMENTS


def _may_be_shared(path: Path, relative: PurePath) -> bool:
    if "report" not in (relative.parent.name, path.parent.name, path.parent.parent.name):
        return False
    return path.name in SHARED_DOCUMENTS or (
        path.suffix in FIGURES and FIGURES_FOLDER in relative.parts[:-1]
    )


def _may_leave_if_asked(path: Path) -> bool:
    return path.suffix == ".parquet" and path.stem in TABLES | ROW_LEVEL


def _columns(path: Path) -> set[str]:
    import pyarrow.parquet

    with reading(path, find_maker(path.parent)):
        return set(pyarrow.parquet.read_schema(path).names)
