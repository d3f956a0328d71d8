"""Everything that is wrong with a data source, or worth knowing of it, in one list."""

from pathlib import Path

import pandas as pd

from tworulers.cohort.grouping import GroupingError, assign_groups
from tworulers.cohort.leakage import find_fold_faults, tell_machine_validated
from tworulers.ingest.assemble import assemble
from tworulers.ingest.faults import Fault, FaultKind, IngestError
from tworulers.ingest.fold_file import read_fold_file
from tworulers.ingest.pairing import pair_predictions
from tworulers.ingest.predictions import check_pairs, find_identical
from tworulers.ingest.read import examine, list_ungrouped
from tworulers.schema.settings import Settings
from tworulers.schema.sources import Attributes, Dataset


def check_source(settings: Settings, root: Path) -> tuple[pd.DataFrame, list[Fault]]:
    """Return the exams that can be used, and everything that is wrong or worth knowing.

    Parameters
    ----------
    settings : the source, the depth, the split and the groupings.
    root : the project root.
    """
    dataset = settings.dataset
    try:
        full = settings.check.depth == "full"
        examined = examine(dataset, full=full, processes=settings.processes)
        ingested = assemble(examined.source, examined.inspections, dataset, root)
    except IngestError as error:
        return pd.DataFrame({"exam_id": []}), error.faults
    faults = list(ingested.faults)
    faults += check_split_file(settings.split.file, dataset, ingested.cohort, root)
    faults += check_groups(ingested.cohort, settings.attributes, settings.audit.min_group)
    if settings.ruler.folder is not None and dataset.root is not None:
        folder, trusted = root / settings.ruler.folder, dataset.reading.trust_grid
        faults += check_reference_folder(folder, ingested.cohort, root, trusted)
    return ingested.cohort, faults


def check_split_file(
    given: str | None, dataset: Dataset, cohort: pd.DataFrame, root: Path
) -> list[Fault]:
    """List the faults of a given split, or of a ``splits_final.json`` that lies beside the data."""
    beside = Path(str(dataset.root)) / "splits_final.json"
    path = root / given if given is not None else beside
    if given is None and not beside.is_file():
        return []
    try:
        folds = read_fold_file(path)
    except IngestError as error:
        return error.faults
    mend = "correct the split, or let this project make one (split=paper)"
    lines = find_fold_faults(folds, cohort).describe()
    faults = [Fault(FaultKind.LEAKAGE, "", line, mend, path.name) for line in lines]
    if told := tell_machine_validated(folds, cohort):
        faults.append(Fault(FaultKind.PROVENANCE, "", told, file=path.name, note=True))
    return faults


def check_groups(cohort: pd.DataFrame, attributes: Attributes, minimum: int) -> list[Fault]:
    """List what keeps exams out of groups: values that no grouping knows, and groups too small for a verdict.

    Values that leave a grouping without anybody are a fault; a column that nobody filled is a note.
    """
    faults: list[Fault] = list_ungrouped(cohort, attributes.groupings)
    empty: list[str] = []
    for name, grouping in attributes.groupings.items():
        try:
            groups = assign_groups(cohort, grouping, attributes.groupings)
        except GroupingError as error:
            faults.append(Fault(FaultKind.GROUPS, "", str(error), note=True))
            continue
        counts = groups.value_counts(sort=False)
        small = {str(group): int(n) for group, n in counts.items() if n < minimum}
        if groups.isna().all():
            empty.append(name)
        elif small:
            found = f"{name}: fewer than {minimum} exams in {small}"
            faults.append(Fault(FaultKind.GROUPS, "", found, note=True, details=small))
    if empty:
        found = f"no exam has a group in {', '.join(empty)}"
        mend = "join a table of people with dataset.reading.table, or choose other attributes"
        faults.append(Fault(FaultKind.GROUPS, "", found, mend, note=True))
    return faults


def check_reference_folder(
    folder: Path, cohort: pd.DataFrame, root: Path, trust_grid: bool
) -> list[Fault]:
    """List what keeps a folder of label maps from being compared with the source's own labels."""
    labels = cohort.dropna(subset=["label"])
    parents = {(root / label).parent for label in labels["label"]}
    faults: list[Fault] = []
    for parent in sorted(parents):
        pairing = pair_predictions(folder, parent)
        faults += [*pairing.faults, *check_pairs(pairing, trust_grid=trust_grid)]
        faults += find_identical(pairing, parent.name)
    return faults
