"""Groups that mean nothing, drawn from a seed, to see what chance finds."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tworulers.cohort.kinds import KINDS, Assigned, GroupingError, describe, refuse_many
from tworulers.schema.sources import Grouping


@KINDS.register("random")
def draw_groups(exams: pd.DataFrame, grouping: Grouping, _: Mapping[str, Grouping]) -> Assigned:
    """Draw each patient's group from the seed and the patient's name, so that no other matters."""
    names = list(grouping.group_order)
    refuse_many(len(names), grouping)
    if len(names) < 2:
        raise GroupingError(
            f"grouping {describe(grouping)}: a random grouping needs two or more names in group_order"
        )
    patients = exams["patient_id"].astype(str)
    drawn = {}
    for patient in patients.unique():
        stream = np.random.default_rng([grouping.seed, *patient.encode()])
        drawn[patient] = names[int(stream.integers(len(names)))]
    return Assigned(names, patients.map(drawn), pd.Series("", index=patients.index))
