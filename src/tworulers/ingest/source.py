"""What a data source holds: exams with their files and attributes, structures, and faults."""

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from tworulers.ingest.faults import Fault

EXAM_COLUMNS = ("exam_id", "patient_id", "image", "label", "provenance")
"""What every source says of an exam; `image` and `label` are absolute paths."""

ATTRIBUTE_COLUMNS = (
    "sex",
    "age",
    "age_over_89",
    "race",
    "ethnicity",
    "manufacturer",
    "field_strength_t",
)
"""The attributes that every cohort table has, empty where the source has none."""


@dataclass(frozen=True)
class Source:
    """One data source, read but not yet inspected.

    Attributes
    ----------
    root : the folder that paths in messages are relative to.
    exams : one row an exam: `EXAM_COLUMNS`, and any attributes.
    structures : label value of each structure as the source names them; empty where it does not.
    faults : faults and notes of the source as a whole, and of exams that are not in `exams`.
    exclusions : reason by exam, for exams that the source itself or the user leaves out.
    references : further label maps, on the grid of the exam's label: absolute path by name and exam.
    ignore : the value of voxels that nobody annotated, where the source declares one.
    """

    root: Path
    exams: pd.DataFrame
    structures: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    exclusions: dict[str, str] = field(default_factory=dict)
    references: dict[str, dict[str, Path]] = field(default_factory=dict)
    ignore: int | None = None


def relative_to(path: Path, root: Path) -> str:
    """Write a path as seen from the root of the source."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
