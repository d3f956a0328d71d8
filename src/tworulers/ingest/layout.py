"""What a layout of data is, and the layouts there are: each is one class, found by the name in `dataset.source`."""

from collections.abc import Sequence
from pathlib import Path

from tworulers.ingest.inspect import Inspection
from tworulers.ingest.localizers import find_localizers
from tworulers.ingest.source import Source
from tworulers.schema.own_files import Registry
from tworulers.schema.sources import Dataset


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

    def exclude(self, inspections: Sequence[Inspection]) -> dict[str, str]:
        """Say of exams, with the reason, which are left out for what their files hold beyond what is at fault."""
        return find_localizers(inspections)


LAYOUTS: Registry[type[DataLayout]] = Registry("layout of data")
"""Layouts by name."""
