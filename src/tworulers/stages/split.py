"""Which exams a regime learns from, which validate it, and which test every regime."""

from pathlib import Path

import pandas as pd

from tworulers.cohort.folds import list_folds
from tworulers.cohort.leakage import apply_given_folds, tell_machine_validated
from tworulers.cohort.split import split_cohort
from tworulers.ingest.exams import find_key
from tworulers.ingest.fold_file import read_fold_file
from tworulers.ingest.pseudonyms import rename_person
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, write_json, write_table
from tworulers.io.results import read_cohort
from tworulers.progress import say
from tworulers.runner.console import show_table
from tworulers.runner.run import run_stage
from tworulers.runner.settings import load_choice
from tworulers.runner.tracking import RunRecord
from tworulers.schema.result_files import SPLITS
from tworulers.schema.settings import Regime, Settings
from tworulers.schema.table_models import Splits, check_table
from tworulers.schema.tables import list_rows


def split(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Split the patients, balance each part and deal development exams into folds, for every regime of the grid."""
    cohort = read_cohort(layout)
    regimes = [load_choice(layout.root, "regime", name, Regime) for name in settings.grid.regimes]
    if settings.split.file is None:
        splits = split_cohort(cohort, settings.split, regimes)
    else:
        folds = read_fold_file(layout.root / settings.split.file)
        key = find_key(settings, layout)
        if key is not None:
            folds = [
                {part: [rename_person(exam, key) for exam in exams] for part, exams in fold.items()}
                for fold in folds
            ]
        splits = apply_given_folds(cohort, folds, settings.split, regimes)
    splits = check_table(splits, Splits, "splits")
    counts = count_exams(splits)
    with folder_written_beside(layout.results.split) as folder:
        write_table(splits, folder / SPLITS)
        write_table(counts, folder / "counts.parquet")
        for regime in settings.grid.regimes:
            write_json(list_folds(splits, regime), folder / f"splits_final_{regime}.json")
    told = [
        f"{regime}: {text}"
        for regime in settings.grid.regimes
        if (text := tell_machine_validated(list_folds(splits, regime), cohort))
    ]
    show_table("Exams", list(counts.columns), counts.itertuples(index=False))
    for text in told:
        say(text)
    metrics = {
        f"exams/{row['regime']}/{row['split']}/{row['provenance']}": float(row["exams"])
        for row in list_rows(counts)
    }
    return layout.results.split, RunRecord(
        "split", "split", " ".join(["Patients to parts and folds.", *told]), metrics=metrics
    )


def count_exams(splits: pd.DataFrame) -> pd.DataFrame:
    """Count exams and patients by regime, part and provenance."""
    grouped = splits.groupby(["regime", "split", "provenance"], sort=True)
    return grouped.agg(exams=("exam_id", "size"), patients=("patient_id", "nunique")).reset_index()


if __name__ == "__main__":
    run_stage(split)
