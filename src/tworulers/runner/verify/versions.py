"""Of which schema version the tables of a result are."""

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pyarrow.parquet

from tworulers.diagnosis.comparison import Comparison, RegimeComparison
from tworulers.io.answers import ANCHORED
from tworulers.io.audits import FRAMES
from tworulers.io.records import VERSION
from tworulers.runner.verify.unequal import list_contents
from tworulers.schema.tables import BASE_VERSION, SCHEMA_VERSION

OF_ANSWERS = frozenset(
    {
        *FRAMES,
        *ANCHORED.values(),
        *(
            field.name
            for kind in (Comparison, RegimeComparison)
            for field in fields(kind)
            if field.type is pd.DataFrame
        ),
    }
)
"""The tables of audits and comparisons; others may also be of the version of what comes before."""


def find_other_versions(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Yield the tables of other schema versions than today's: name, found and expected version."""
    for name, path in list_contents(folder).items():
        if path.suffix != ".parquet":
            continue
        known = (SCHEMA_VERSION,) if path.stem in OF_ANSWERS else (BASE_VERSION, SCHEMA_VERSION)
        found = read_version(path)
        if found not in known:
            yield name, found, SCHEMA_VERSION


def read_version(path: Path) -> int:
    """Read the schema version of a Parquet table; what says none is of the first."""
    metadata = pyarrow.parquet.read_schema(path).metadata or {}
    return int(json.loads(metadata.get(b"PANDAS_ATTRS", b"{}")).get(VERSION, 1))
