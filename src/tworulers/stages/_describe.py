"""Which tables describe a cohort: Table 1, ages, who is in no group, and what is confounded."""

from pathlib import Path

import pandas as pd

from tworulers.cohort.describe import (
    compare_pools,
    relate_age,
    relate_scanner,
    relate_volumes,
    summarise_ages,
    tabulate_cohort,
)
from tworulers.cohort.grouping import assign_groups, list_left_out
from tworulers.io.records import write_table
from tworulers.schema_sources import Attributes


def write_descriptions(
    cohort: pd.DataFrame, attributes: Attributes, volumes: pd.DataFrame | None, folder: Path
) -> None:
    """Write ``table1``, ``ages``, ``left_out`` and ``confounders`` as Parquet tables.

    Parameters
    ----------
    cohort : the cohort table.
    attributes : the groupings that are tested.
    volumes : structure volumes of the labels, where they are known.
    folder : where the tables go.
    """
    groupings = attributes.groupings
    groups = {name: assign_groups(cohort, g, groupings) for name, g in groupings.items()}
    left_out = [
        list_left_out(cohort, grouping, groupings).assign(grouping=name)
        for name, grouping in groupings.items()
    ]
    relations = [
        relate_scanner(cohort, groups),
        relate_age(cohort, {n: g for n, g in groups.items() if groupings[n].column != "age"}),
        compare_pools(cohort, groups),
    ]
    if volumes is not None and not volumes.empty:
        relations.append(relate_volumes(volumes, cohort, groups))
    write_table(tabulate_cohort(cohort, groups), folder / "table1.parquet")
    write_table(summarise_ages(cohort), folder / "ages.parquet")
    write_table(_stack(left_out), folder / "left_out.parquet")
    write_table(_stack(relations), folder / "confounders.parquet")


def _stack(frames: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
