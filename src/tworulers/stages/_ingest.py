"""How a data source on disk becomes the cohort: read, checked, and its faults shown and kept."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace

import pandas as pd

from tworulers.cohort.split import hide_expert_labels
from tworulers.ingest.faults import format_faults
from tworulers.ingest.inspect import Inspection
from tworulers.ingest.pseudonyms import hide_names, read_key
from tworulers.ingest.read import ingest, write_mapped_labels
from tworulers.io.console import say, track
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, write_json, write_table
from tworulers.schema import Settings


def ingest_exams(settings: Settings, layout: Layout) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read a data source; exams with faults are left out, and every fault is shown and written.

    Below the folder of the source go ``faults.json``, ``volumes.parquet`` (structure volumes of the
    labels as they came) and, where stored label values are replaced, the new labels. Nothing is
    written where the data lie. With `reading.pseudonym_key` the tables and the new labels carry
    pseudonyms; ``faults.json`` names files, and the cohort the paths of its images, as they are.

    Returns
    -------
    The cohort table, and the exams excluded from it with their reasons.
    """
    dataset = settings.dataset
    ingested = ingest(
        dataset,
        layout.root,
        processes=settings.processes,
        progress=show_inspections,
        groupings=settings.attributes.groupings,
    )
    if ingested.faults:
        say(format_faults(ingested.faults))
    key = find_key(settings, layout)
    if key is not None:
        ingested = replace(
            ingested,
            cohort=hide_names(ingested.cohort, key),
            exclusions=hide_names(ingested.exclusions, key),
            volumes=hide_names(ingested.volumes, key),
        )
    with folder_written_beside(layout.results.source) as folder:
        write_json([asdict(fault) for fault in ingested.faults], folder / "faults.json")
        write_table(ingested.volumes, folder / "volumes.parquet")
    labels = layout.results.source / "labels"
    cohort = write_mapped_labels(ingested.cohort, dataset, layout.root, labels)
    if dataset.gold_share is not None:
        share, seed = dataset.gold_share, settings.split.seed
        cohort = hide_expert_labels(cohort, settings.split, share, seed)
    return cohort, ingested.exclusions


def find_key(settings: Settings, layout: Layout) -> bytes | None:
    """Return the key of the pseudonyms where ids are to be replaced."""
    given = settings.dataset.reading.pseudonym_key
    if given is None:
        return None
    results = ("mlruns", "sweeps", settings.paths.artifacts, settings.paths.outputs)
    return read_key(layout.root / given, [layout.root / name for name in results])


def show_inspections(inspections: Iterator[Inspection], total: int) -> Iterable[Inspection]:
    """Show how far an inspection is."""
    return track(inspections, total, "reading exams")
