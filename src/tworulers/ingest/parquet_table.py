"""What a Parquet table holds: every cell as the text it stands for, the columns of an index too."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tworulers.ingest.faults import IngestError, refuse, table_fault
from tworulers.ingest.sheet_table import write_cell

_NAMELESS = "__index_level_"
"""How pandas calls the columns of an index that has no name."""


def measure_parquet(path: Path) -> tuple[list[str], int]:
    """Return the names of a table's columns and its size unpacked, in bytes, without reading the columns.

    Raises
    ------
    IngestError : it is no Parquet table.
    """
    try:
        about = pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise _damage(path, error) from error
    groups = range(about.metadata.num_row_groups)
    size = sum(about.metadata.row_group(group).total_byte_size for group in groups)
    return list(map(str, about.schema_arrow.names)), size


def read_parquet(path: Path, notes: list[str]) -> pd.DataFrame:
    """Read all columns as text; an index that has a name is a column, one without is left out and noted if it says
    anything.

    Raises
    ------
    IngestError : damaged, or columns whose cells hold more than one value.
    """
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise _damage(path, error) from error
    nested = [field.name for field in table.schema if pa.types.is_nested(field.type)]
    if nested:
        found = f"lists or records in {', '.join(map(repr, nested))}"
        refuse(table_fault(path, "one value a cell", found, "leave these columns out"))
    cells = {
        name: [write_cell(_decode(value)) for value in column.to_pylist()]
        for name, column in zip(table.schema.names, table.columns, strict=True)
    }
    for name in [name for name in cells if name.startswith(_NAMELESS)]:
        first = next(iter(cells.pop(name)), "")
        notes.append(
            f"{path.name}: its index has no name (it begins with {first!r}) and is not read; name it, or reset_index()"
        )
    return pd.DataFrame(cells, dtype="str")


def _decode(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _damage(path: Path, error: Exception) -> IngestError:
    return IngestError([table_fault(path, "a Parquet table", str(error), "write it again")])
