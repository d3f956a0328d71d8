"""How the synthetic cohort comes onto disk: the files of every exam, and who is in the table."""

import hashlib
from collections.abc import Hashable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from tworulers.io.images import write_image, write_label
from tworulers.io.label_maps import read_label
from tworulers.io.makers import find_gzip_damage
from tworulers.io.owned import mark_folder, remove_part
from tworulers.io.paths import Layout
from tworulers.io.pool import map_in_pool
from tworulers.io.records import write_json, write_table
from tworulers.io.resume import read_stamp
from tworulers.phantom.exams import make_exam
from tworulers.phantom.people import draw_people, is_localizer
from tworulers.schema.phantom_settings import Phantom
from tworulers.schema.result_files import VOLUMES
from tworulers.schema.settings import Provenance, Settings
from tworulers.schema.tables import parse_axes

IMAGES, LABELS, TRUTH = "images", "labels", "truth"
STAMP = "phantom.json"

Row = dict[Hashable, Any]


def make_phantom(settings: Settings, layout: Layout) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make the files of every exam that are not there yet, and tell who is in the cohort.

    Files made by the same settings and the same code are kept, so a killed run goes on where it
    stopped. Expert labels are written for gold exams alone; truth is written for all, and neither
    table points to it.

    Returns
    -------
    The cohort table, and the exams excluded from it with their reasons (the localizer).
    """
    phantom, source = settings.dataset.phantom, layout.results.source
    people = draw_people(phantom)
    _drop_stale(source, phantom)
    pending = [row for row in people.to_dict("records") if not _is_complete(row, source)]
    make = partial(_write_exam, phantom=phantom, source=source)
    map_in_pool(make, pending, settings.processes, "making exams")

    folder = Path(layout.relative(source))
    people.insert(2, "image", [(folder / IMAGES / _file(e)).as_posix() for e in people["exam_id"]])
    labels = [(folder / LABELS / _file(exam)).as_posix() for exam in people["exam_id"]]
    gold = people["provenance"] == Provenance.GOLD
    people.insert(3, "label", pd.Series(labels, dtype="str").where(gold))
    volumes = measure_volumes(people.loc[gold, "exam_id"], source, settings)
    write_table(volumes, source / VOLUMES)
    return exclude_localizers(people)


def measure_volumes(exams: pd.Series, source: Path, settings: Settings) -> pd.DataFrame:
    """Measure the structures of the expert labels: `exam_id`, `structure`, `volume_mm3`."""
    measure = partial(_measure_exam, folder=source / LABELS, structures=settings.dataset.structures)
    measured = map_in_pool(measure, sorted(exams), settings.processes, "measuring labels")
    rows = [row for exam in measured for row in exam]
    return pd.DataFrame(rows, columns=["exam_id", "structure", "volume_mm3"])


def _measure_exam(
    exam_id: str, folder: Path, structures: dict[str, int]
) -> list[tuple[str, str, float]]:
    label = read_label(folder / _file(exam_id), structures.values())
    return [
        (exam_id, name, float((label.array == value).sum()) * label.voxel_mm3)
        for name, value in structures.items()
    ]


def exclude_localizers(exams: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Part the exams from those whose geometry says localizer, with the reason in words."""
    slices = exams["shape"].map(lambda cell: parse_axes(cell)[0])
    usual = float(slices.median())
    localizers = exams["shape"].map(lambda cell: is_localizer(parse_axes(cell), usual))
    excluded = pd.DataFrame({"exam_id": exams.loc[localizers, "exam_id"]})
    excluded["reason"] = [
        f"localizer: {shape} voxels of {spacing} mm, against {usual:.0f} slices as a rule"
        for shape, spacing in exams.loc[localizers, ["shape", "spacing"]].itertuples(index=False)
    ]
    return exams[~localizers].reset_index(drop=True), excluded.reset_index(drop=True)


def _write_exam(row: Row, phantom: Phantom, source: Path) -> None:
    """Make one exam and write its files, each whole or not at all."""
    exam, name = make_exam(row, phantom), _file(row["exam_id"])
    write_label(source / TRUTH / name, exam.truth, exam.affine)
    if row["provenance"] == Provenance.GOLD:
        write_label(source / LABELS / name, exam.expert, exam.affine)
    write_image(source / IMAGES / name, exam.image, exam.affine)


def _is_complete(row: Row, source: Path) -> bool:
    """Tell whether all files of an exam are there, and whole."""
    folders = [TRUTH, IMAGES, *([LABELS] if row["provenance"] == Provenance.GOLD else [])]
    files = [source / folder / _file(row["exam_id"]) for folder in folders]
    return all(file.is_file() and not find_gzip_damage(file) for file in files)


def _drop_stale(source: Path, phantom: Phantom) -> None:
    """Remove what other settings or other code made, and what a killed run left half written."""
    stamp = {"settings": asdict(phantom), "code": _digest_code()}
    made_by = source / STAMP
    kept = read_stamp(made_by) == stamp
    for folder in (IMAGES, LABELS, TRUTH):
        if not kept:
            remove_part(source / folder)
        for unfinished in (source / folder).glob(".*"):
            unfinished.unlink()
    if not kept:
        write_json(stamp, made_by)
        mark_folder(source)


def _digest_code() -> str:
    """Digest the code that makes the exams."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _file(exam_id: object) -> str:
    return f"{exam_id}.nii.gz"
