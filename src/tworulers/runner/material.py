"""What the rulers of the pipeline are made of: labels, predictions, and a synthetic cohort's truth."""

from pathlib import Path

import pandas as pd

from tworulers.cohort.grouping import assign_groups
from tworulers.io.paths import Layout
from tworulers.io.records import made_by, require
from tworulers.io.results import read_cohort
from tworulers.rulers.kinds import Material
from tworulers.schema.settings import Settings


def gather_material(
    name: str, settings: Settings, layout: Layout, cohort: pd.DataFrame | None = None
) -> Material:
    """Find everything that a ruler of a name may be made of; the cohort is read where it is not given."""
    cohort = read_cohort(layout) if cohort is None else cohort
    truth, groupings = settings.dataset.truth, settings.attributes.groupings

    def group(grouping: str) -> pd.Series:
        if grouping not in groupings:
            raise ValueError(
                f"ruler {name}: grouping {grouping!r} is not one of {sorted(groupings)}"
            )
        return assign_groups(cohort, groupings[grouping], groupings)

    return Material(
        dataset=settings.dataset.name,
        labels={
            exam: layout.root / cell
            if isinstance(cell, str)
            else layout.annotated / f"{exam}.nii.gz"
            for exam, cell in zip(cohort["exam_id"], cohort["label"], strict=True)
        },
        provenances=dict(zip(cohort["exam_id"], cohort["provenance"], strict=True)),
        predictions=lambda regime: find_predictions(regime, layout),
        truth=None if truth is None else layout.follow(layout.root / truth),
        root=layout.root,
        group=group,
    )


def find_predictions(regime: str, layout: Layout) -> Path:
    """Return the folder of a regime's label maps."""
    return require(layout.predicted(regime), made_by("predict"))
