"""One score, a metric of a structure, in tables, figures and sentences."""

from dataclasses import dataclass

import pandas as pd

from tworulers.schema.metric import Metric


@dataclass(frozen=True)
class Score:
    """A metric of a structure, or of all of them together (macro)."""

    metric: Metric
    structure: str

    @property
    def label(self) -> str:
        """Return it as a heading or an axis has it, with its unit: `HD95, macro (mm)`."""
        return self.metric.label(self.structure)

    @property
    def name(self) -> str:
        """Return it as a sentence has it: `macro Dice`."""
        return self.metric.name_of(self.structure)

    @property
    def key(self) -> tuple[str, str]:
        """Return the metric's name and the structure, as tables hold them."""
        return self.metric.name, self.structure

    def of(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a table that are about it."""
        if table.empty:
            return table  # Without rows it may have no columns either.
        return table[(table["metric"] == self.metric.name) & (table["structure"] == self.structure)]
