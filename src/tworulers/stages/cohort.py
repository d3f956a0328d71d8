"""Who is in the study: one row an exam of the data source, and who is left out and why."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from tworulers.ingest.read import READERS
from tworulers.io.console import show_table
from tworulers.io.holding import hold
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, write_table
from tworulers.schema import Settings
from tworulers.stages._describe import write_descriptions
from tworulers.stages._file_digests import write_file_digests
from tworulers.stages._ingest import ingest_exams
from tworulers.stages._phantom import make_phantom
from tworulers.stages._run import run_stage
from tworulers.tables import Cohort, Exclusions, check_table
from tworulers.tracking import RunRecord

Source = Callable[[Settings, Layout], tuple[pd.DataFrame, pd.DataFrame]]

SOURCES: dict[str, Source] = {
    "phantom": make_phantom,
    **dict.fromkeys(sorted(READERS), ingest_exams),
}
"""What makes the table of exams and the table of exclusions, by the name of the data source."""


def cohort(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Read or make the exams of the data source, and write who is in the cohort and who is not."""
    source = settings.dataset.source
    if source not in SOURCES:
        raise ValueError(f"dataset.source is {source!r}, expected one of {sorted(SOURCES)}")
    hold(layout.results.cohort)
    exams, excluded = SOURCES[source](settings, layout)
    exams = check_table(exams, Cohort, "cohort")
    excluded = check_table(excluded, Exclusions, "exclusions")
    with folder_written_beside(layout.results.cohort) as folder:
        write_table(exams, folder / "cohort.parquet")
        write_table(excluded, folder / "exclusions.parquet")
        volumes = layout.results.source / "volumes.parquet"
        measured = pd.read_parquet(volumes) if volumes.is_file() else None
        write_descriptions(exams, settings.attributes, measured, folder)
    write_file_digests(exams, settings.dataset.channels, layout)
    counts = exams.groupby("provenance").agg(
        exams=("exam_id", "size"), patients=("patient_id", "nunique")
    )
    rows = [*counts.itertuples(), ("excluded", len(excluded), "")]
    show_table("Cohort", ("provenance", "exams", "patients"), [tuple(row) for row in rows])
    metrics = {f"exams/{name}": float(n) for name, n in counts["exams"].items()}
    metrics |= {f"patients/{name}": float(n) for name, n in counts["patients"].items()}
    metrics["exams/excluded"] = float(len(excluded))
    return layout.results.cohort, RunRecord(
        "cohort", "cohort", "Who is in the study.", metrics=metrics
    )


if __name__ == "__main__":
    run_stage(cohort, ("dataset", "split", "attributes"))
