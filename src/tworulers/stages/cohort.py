"""Who is in the study: one row an exam of the data source, and who is left out and why."""

from pathlib import Path

from tworulers.cohort.describe import describe_cohort
from tworulers.ingest.exams import ingest_exams
from tworulers.io.exam_files import write_file_digests
from tworulers.io.holding import hold
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, read_table, write_table
from tworulers.phantom.files import make_phantom
from tworulers.runner.console import show_table
from tworulers.runner.run import run_stage
from tworulers.runner.tracking import RunRecord
from tworulers.schema.result_files import COHORT, VOLUMES
from tworulers.schema.settings import Settings
from tworulers.schema.table_models import Cohort, Exclusions, check_table


def cohort(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Read or make the exams of the data source, and write who is in the cohort and who is not."""
    make = make_phantom if settings.dataset.made else ingest_exams
    hold(layout.results.cohort)
    exams, excluded = make(settings, layout)
    exams = check_table(exams, Cohort, "cohort")
    excluded = check_table(excluded, Exclusions, "exclusions")
    with folder_written_beside(layout.results.cohort) as folder:
        write_table(exams, folder / COHORT)
        write_table(excluded, folder / "exclusions.parquet")
        volumes = layout.results.source / VOLUMES
        measured = read_table(volumes, "cohort") if volumes.is_file() else None
        for name, table in describe_cohort(exams, settings.attributes, measured).items():
            write_table(table, folder / f"{name}.parquet")
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
    run_stage(cohort)
