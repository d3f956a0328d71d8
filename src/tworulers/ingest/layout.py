"""What a layout of data is, and the layouts there are: each is one class, found by the name in `dataset.source`."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from tworulers.ingest.faults import Fault, FaultKind, IngestError
from tworulers.ingest.inspect import Inspection
from tworulers.ingest.localizers import find_localizers
from tworulers.ingest.source import Source
from tworulers.schema.own_files import Registry
from tworulers.schema.sources import Dataset, Reading


class DataLayout:
    """How the files of a data source lie, and what is said of its exams."""

    def read(self, root: Path, dataset: Dataset) -> Source:
        """List the exams below a folder.

        Parameters
        ----------
        root : the folder; nothing is written there.
        dataset : what the layout leaves open.

        Raises
        ------
        IngestError : nothing below the folder can be read.
        """
        raise NotImplementedError

    def describe(self, root: Path, reading: Reading) -> tuple[pd.DataFrame, list[Fault]]:  # noqa: ARG002
        """Say who the exams are of from the tables below a folder alone, without any image.

        Parameters
        ----------
        root : the folder.
        reading : columns and codes for no value.

        Returns
        -------
        One row an exam, with `exam_id`; and faults.

        Raises
        ------
        IngestError : the layout has no tables of its own, or they cannot be read.
        """
        found, mend = "none", "give a table of exams, and no layout"
        raise IngestError([Fault(FaultKind.TABLE, "tables of the layout's own", found, mend)])

    def exclude(self, inspections: Sequence[Inspection]) -> dict[str, str]:
        """Say of exams, with the reason, which are left out for what their files hold beyond what is at fault."""
        return find_localizers(inspections)


LAYOUTS: Registry[type[DataLayout]] = Registry("layout of data")
"""Layouts by name."""
