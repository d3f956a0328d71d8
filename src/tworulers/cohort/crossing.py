"""Groups by crossing groupings: an exam is in the group of all its groups."""

from collections.abc import Mapping
from itertools import product
from math import prod

import pandas as pd

from tworulers.cohort.kinds import KINDS, Assigned, GroupingError, assign, describe, refuse_many
from tworulers.schema.sources import Grouping

JOIN = " x "
"""Stands between the names of crossed groups."""


@KINDS.register("intersection")
def cross_groups(
    exams: pd.DataFrame, grouping: Grouping, groupings: Mapping[str, Grouping]
) -> Assigned:
    """Join the groups of the crossed groupings; an exam that one of them leaves out is left out."""
    if len(grouping.of) < 2 or any(name not in groupings for name in grouping.of):
        raise GroupingError(
            f"grouping {describe(grouping)}: an intersection crosses two or more of "
            f"{sorted(groupings)}, found {list(grouping.of)}"
        )
    parts = {name: assign(exams, groupings[name], groupings) for name in grouping.of}
    refuse_many(prod(len(part.names) for part in parts.values()), grouping)
    reasons = joined = pd.Series("", index=exams.index, dtype=object)
    for name, part in parts.items():
        reasons = reasons.mask(part.groups.isna() & (reasons == ""), f"left out of {name}")
        joined = (joined + JOIN + part.groups).mask(joined.isna() | part.groups.isna())
    names = [JOIN.join(one) for one in product(*(part.names for part in parts.values()))]
    return Assigned(names, joined.str.removeprefix(JOIN), reasons)
