"""Whether a data source can be used: everything is read once, and one list says what is wrong."""

from dataclasses import asdict
from pathlib import Path

import pandas as pd

from tworulers.cohort.grouping import GroupingError, assign_groups
from tworulers.cohort.leakage import find_fold_faults
from tworulers.ingest.assemble import assemble
from tworulers.ingest.faults import Fault, FaultKind, IngestError, format_faults
from tworulers.ingest.nnunet import read_fold_file
from tworulers.ingest.predictions import check_pairs, find_identical, pair_predictions
from tworulers.ingest.read import examine, list_ungrouped
from tworulers.io.console import say
from tworulers.io.paths import Layout
from tworulers.io.records import write_json
from tworulers.schema import Settings
from tworulers.schema_sources import Attributes, Dataset
from tworulers.stages._ingest import show_inspections
from tworulers.stages._run import run_stage
from tworulers.tracking import RunRecord

DEPTHS = ("headers", "full")


def check(settings: Settings, layout: Layout) -> tuple[Path, RunRecord] | None:
    """Read a source once and list all faults and notes, by kind, with the way to mend each.

    The list is printed and written to ``check.json``. Faults end the command with a non-zero
    status; notes do not.
    """
    if settings.check.depth not in DEPTHS:
        raise ValueError(f"check.depth must be one of {DEPTHS}, found {settings.check.depth!r}")
    cohort, faults = check_source(settings, layout.root)
    wrong = [fault for fault in faults if not fault.note]
    if faults:
        say(format_faults(faults))
    say(f"{len(cohort)} exams can be used; {len(wrong)} faults, {len(faults) - len(wrong)} notes")
    write_json(
        {
            "depth": settings.check.depth,
            "usable_exams": len(cohort),
            "faults": [asdict(fault) for fault in wrong],
            "notes": [asdict(fault) for fault in faults if fault.note],
        },
        layout.check / "check.json",
    )
    if wrong:
        raise ValueError(f"{len(wrong)} problems in {settings.dataset.root}; see {layout.check}")
    return None


def check_source(settings: Settings, root: Path) -> tuple[pd.DataFrame, list[Fault]]:
    """Return the exams that can be used, and everything that is wrong or worth knowing.

    Parameters
    ----------
    settings : the source, the depth, the split and the groupings.
    root : the project root.
    """
    dataset = settings.dataset
    try:
        examined = examine(
            dataset,
            full=settings.check.depth == "full",
            processes=settings.processes,
            progress=show_inspections,
        )
        ingested = assemble(examined.source, examined.inspections, dataset, root)
    except IngestError as error:
        return pd.DataFrame({"exam_id": []}), error.faults
    faults = list(ingested.faults)
    faults += check_split_file(settings.split.file, dataset, ingested.cohort, root)
    faults += check_groups(ingested.cohort, settings.attributes, settings.audit.min_group)
    if settings.ruler.folder is not None and dataset.root is not None:
        faults += check_reference_folder(Path(settings.ruler.folder), ingested.cohort, root)
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
        lines = find_fold_faults(read_fold_file(path), cohort).describe()
    except IngestError as error:
        return error.faults
    mend = "correct the split, or let this project make one (split=paper)"
    return [Fault(FaultKind.LEAKAGE, "", line, mend, path.name) for line in lines]


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


def check_reference_folder(folder: Path, cohort: pd.DataFrame, root: Path) -> list[Fault]:
    """List what keeps a folder of label maps from being compared with the source's own labels."""
    labels = cohort.dropna(subset=["label"])
    parents = {(root / label).parent for label in labels["label"]}
    faults: list[Fault] = []
    for parent in sorted(parents):
        pairing = pair_predictions(folder, parent)
        faults += [*pairing.faults, *check_pairs(pairing), *find_identical(pairing, parent.name)]
    return faults


if __name__ == "__main__":
    run_stage(check, ("dataset", "check", "split", "attributes", "audit.linear_terms", "ruler"))
