"""How a data source on disk becomes the cohort: read, checked, and its faults shown and kept."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pandas as pd

from tworulers.cohort.split import hide_expert_labels
from tworulers.ingest.assemble import Ingested
from tworulers.ingest.faults import Fault, format_faults
from tworulers.ingest.links import link_files
from tworulers.ingest.pseudonyms import (
    hide_names,
    keep_columns,
    read_key,
    rename_person,
    tell_kinds,
)
from tworulers.ingest.read import copy_labels, ingest, write_mapped_labels
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, write_json, write_table
from tworulers.progress import say
from tworulers.schema.result_files import FAULTS, REFERENCES, VOLUMES
from tworulers.schema.settings import Settings


def ingest_exams(settings: Settings, layout: Layout) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read a data source; exams with faults are left out, and every fault is shown and written.

    Below the folder of the source go ``faults.json``, ``volumes.parquet`` (structure volumes of the
    labels as they came), further label maps of the exams under ``references/`` and, where stored
    label values are replaced, the new labels. Nothing is written where the data lie. With
    `reading.pseudonym_key` every id in a table and every file named there is a pseudonym (links below
    ``links/`` lead to the files), columns that nothing is asked of are left out, and reasons and
    faults are told by their kind.

    Returns
    -------
    The cohort table, and the exams excluded from it with their reasons.
    """
    dataset = settings.dataset
    ingested = ingest(
        dataset,
        layout.root,
        processes=settings.processes,
        groupings=settings.attributes.groupings,
    )
    if ingested.faults:
        say(format_faults(ingested.faults))
    key = find_key(settings, layout)
    if key is not None:
        ingested = hide_people(ingested, key, settings)
    with folder_written_beside(layout.results.source) as folder:
        write_json(list_faults(ingested.faults, hidden=key is not None), folder / FAULTS)
        write_table(ingested.volumes, folder / VOLUMES)
        for name, files in ingested.references.items():
            copy_labels(files, dataset, folder / REFERENCES / name)
    labels = layout.results.source / "labels"
    cohort = write_mapped_labels(ingested.cohort, dataset, layout.root, labels)
    if key is not None:
        cohort = link_files(cohort, len(dataset.channels), layout)
    if dataset.gold_share is not None:
        share, seed = dataset.gold_share, settings.split.seed
        cohort = hide_expert_labels(cohort, settings.split, share, seed)
    return cohort, ingested.exclusions


def hide_people(ingested: Ingested, key: bytes, settings: Settings) -> Ingested:
    """Replace ids by pseudonyms, and leave out what else may tell who is who."""
    groupings = {**settings.attributes.groupings, **settings.split.groupings}
    asked = {grouping.column for grouping in groupings.values()}
    cohort, dropped = keep_columns(ingested.cohort, {*asked, settings.split.balance})
    if dropped:
        say(f"columns that nothing is asked of are left out: {', '.join(dropped)}")
    exclusions = tell_kinds(ingested.exclusions, ingested.faults)
    return replace(
        ingested,
        cohort=hide_names(cohort, key),
        exclusions=hide_names(exclusions, key),
        volumes=hide_names(ingested.volumes, key),
        references={
            name: {rename_person(exam, key): path for exam, path in files.items()}
            for name, files in ingested.references.items()
        },
    )


def list_faults(faults: Sequence[Fault], hidden: bool) -> list[dict[str, Any]]:
    """List faults for the record; where people are hidden, how many there are of each kind."""
    if not hidden:
        return [asdict(fault) for fault in faults]
    counts = Counter((str(fault.kind), fault.note) for fault in faults)
    return [{"kind": kind, "note": note, "count": n} for (kind, note), n in sorted(counts.items())]


def find_key(settings: Settings, layout: Layout) -> bytes | None:
    """Return the key of the pseudonyms where ids are to be replaced."""
    given = settings.dataset.reading.pseudonym_key
    if given is None:
        return None
    results = ("mlruns", "sweeps", settings.paths.artifacts, settings.paths.outputs)
    return read_key(layout.root / given, [layout.root / name for name in results])
