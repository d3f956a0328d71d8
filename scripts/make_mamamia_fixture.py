"""Make a small fake MAMA-MIA download: invented people and ids, blobs for tumours, the documented files and tables.

    python scripts/make_mamamia_fixture.py TARGET
    python -m tworulers.stages.check dataset=mamamia dataset.root=TARGET

The first ten exams hold what a reader has to know of the real one; more are drawn with --exams. With --predictions
FOLDER the masks of an invented model are written there, to be judged by experts and by the automatic masks."""

import argparse
import csv
import io
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl

from tworulers.io.images import write_image, write_label

SHAPE = (24, 24, 12)
COLUMNS = [
    "patient_id",
    "dataset",
    "bilateral_breast_cancer",
    "multifocal_cancer",
    "nac_agent",
    "endocrine_therapy",
    "anti_her2_neu_therapy",
    "pcr",
    "mastectomy_post_nac",
    "days_to_follow_up",
    "days_to_recurrence",
    "days_to_metastasis",
    "days_to_death",
    "hr",
    "er",
    "pr",
    "her2",
    "mammaprint",
    "oncotype_score",
    "nottingham_grade",
    "tumor_subtype",
    "age",
    "menopause",
    "ethnicity",
    "has_implant",
    "weight",
    "patient_size",
    "bmi_group",
    "view",
    "bilateral_mri",
    "num_phases",
    "fat_suppressed",
    "field_strength",
    "image_rows",
    "image_columns",
    "num_slices",
    "pixel_spacing",
    "slice_thickness",
    "site",
    "manufacturer",
    "scanner_model",
    "high_bit",
    "window_center",
    "window_width",
    "echo_time",
    "repetition_time",
    "acquisition_times",
    "acquisition_date",
    "tcia_series_uid",
]
IDS = {
    "DUKE": "DUKE_{:03d}",
    "ISPY1": "ISPY1_{:04d}",
    "ISPY2": "ISPY2_{:06d}",
    "NACT": "NACT_{:02d}",
}
FIRST = {"DUKE": 901, "ISPY1": 9001, "ISPY2": 990001, "NACT": 51}
TEN = ("DUKE", "DUKE", "DUKE", "ISPY1", "ISPY1", "ISPY2", "ISPY2", "ISPY2", "NACT", "NACT")
AGES = (36, 40, None, 47, 55, 56, 62, 33, 71, 44)
PRE = "pre (<6 months since LMP AND no prior bilateral ovariectomy AND not on estrogen replacement)"
MENOPAUSE = (
    "pre",
    "post",
    None,
    PRE,
    PRE.replace("<6", "< 6"),
    "peri (6-12 months since LMP AND no prior bilateral ovariectomy AND not on estrogen replacement)",
)
ETHNICITIES = ("caucasian", "african american", "hispanic", "asian", "hawaian", None, "caucasian")
SUBTYPES = (
    "triple_negative",
    "luminal_a",
    "luminal",
    "her2_enriched",
    "luminal_b",
    "her2_pure",
    None,
)
RATINGS = (
    ("Good", "Good"),
    ("Missed", "Missed"),
    ("Acceptable", "Good"),
    ("Poor", "Poor"),
    ("Good", "Poor"),
)
LACK_DENSITY = 4
"""Every so many exams have a density that is not known."""

Mask = np.ndarray
Exam = dict[str, Any]


def draw_exams(n: int, seed: int) -> list[Exam]:
    """Invent exams: who is on them, their masks and their geometry."""
    rng = np.random.default_rng(seed)
    counts = dict.fromkeys(IDS, 0)
    exams = []
    for place in range(n):
        collection = TEN[place % len(TEN)]
        name = IDS[collection].format(FIRST[collection] + counts[collection])
        counts[collection] += 1
        age = AGES[place] if place < len(AGES) else int(rng.integers(28, 80))
        # Of the young more is missed by the machine, and by the model that is judged.
        unsure = 1.5 if age is not None and age < 40 else 1.0
        expert = draw_blob([*rng.uniform(9, 14, 2).tolist(), 6.0], rng.uniform(3.0, 5.0))
        sagittal = collection == "ISPY1" and counts[collection] == 1
        exams.append(
            {
                "name": name,
                "collection": collection,
                "age": age,
                "place": place,
                "expert": expert,
                "automatic": draw_automatic(place, expert, unsure, rng),
                "predicted": disturb(expert, 1.2 * unsure, rng),
                "affine": orient(0.8 if place % 2 else 1.2, sagittal),
                "view": "sagittal" if sagittal else "axial",
                "phases": 3 + place % 4,
            }
        )
    return exams


def draw_blob(centre: Sequence[float], radius: float) -> Mask:
    grid = np.indices(SHAPE)
    distance = sum((axis - middle) ** 2 for axis, middle in zip(grid, centre, strict=True))
    return (distance <= radius**2).astype(np.uint8)


def disturb(mask: Mask, sigma: float, rng: np.random.Generator) -> Mask:
    """Move a mask by a few voxels and take some of it away, as a machine does that errs."""
    moved = np.roll(mask, tuple(int(x) for x in np.rint(rng.normal(0, 0.6 * sigma, 3))), (0, 1, 2))
    kept = rng.random(SHAPE) > 0.05 * sigma
    return (moved * kept).astype(np.uint8)


def draw_automatic(place: int, expert: Mask, unsure: float, rng: np.random.Generator) -> Mask:
    """Draw the mask that an expert corrected: kept as it was, missed, with a second blob, too large, or off."""
    if place % 10 == 0:
        return expert.copy()
    if place == 1:
        return np.zeros(SHAPE, np.uint8)
    if place % 10 == 2:
        return expert | draw_blob([3.0, 4.0, 3.0], 2.0)
    if place % 10 == 3:
        return np.maximum.reduce(
            [np.roll(expert, step, axis) for axis in (0, 1) for step in (-1, 0, 1)]
        )
    return disturb(expert, unsure, rng)


def orient(spacing: float, sagittal: bool) -> np.ndarray:
    """Place an exam: axial, the third axis along the body, or sagittal, the third axis across it."""
    affine = np.diag([-spacing, -spacing, 2.0, 1.0])
    if sagittal:
        affine[:3, :3] = np.array([[0, 0, 2.0], [-spacing, 0, 0], [0, -spacing, 0]])
    affine[:3, 3] = [20.0, 30.0, -10.0]
    return affine


def write_download(target: Path, exams: Sequence[Exam], seed: int, density: bool = False) -> None:
    """Write images, masks and tables below `target`; with `density` the clinical table has it, too."""
    for exam in exams:
        write_files(target, exam, np.random.default_rng([seed, exam["place"]]))
    columns = [*COLUMNS, "breast_density"] if density else COLUMNS
    people = [describe(exam, density) for exam in exams]
    write_workbook(target / "clinical_and_imaging_info.xlsx", columns, people)
    names = [str(exam["name"]) for exam in exams]
    test = names[3::4]
    train = [name for name in names if name not in test]
    padded = [*test, *[""] * (len(train) - len(test))]
    write_csv(
        target / "train_test_splits.csv",
        ("train_split", "test_split"),
        zip(train, padded, strict=True),
    )
    ratings = [
        (exam["name"], *RATINGS[exam["place"] % len(RATINGS)], f"{score(exam):.4f}")
        for exam in exams
    ]
    header = ("patient_id", "expert_1_qs", "expert_2_qs", "dice")
    write_csv(target / "automatic_segmentations_quality_scores.csv", header, ratings)
    for exam in exams[: max(8, len(exams) - 2)]:
        path = target / "patient_info_files" / f"{exam['name'].lower()}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(tell_json(exam), indent=2) + "\n")


def write_files(target: Path, exam: Exam, rng: np.random.Generator) -> None:
    """Write the phases and both masks of an exam: folders in capitals, files in small letters, or the other way."""
    name, lower, affine = exam["name"], exam["name"].lower(), exam["affine"]
    folder = target / "images" / name
    for phase in range(exam["phases"]):
        image = rng.normal(100, 15, SHAPE) + 60 * min(phase, 1) * exam["expert"]
        write_image(folder / f"{lower}_{phase:04d}.nii.gz", image.astype(np.int16), affine)
    (folder / "SYNAPSE_METADATA_MANIFEST.tsv").write_text("path\tparent\tname\n")
    masks = target / "segmentations"
    write_label(masks / "expert" / f"{name}.nii.gz", exam["expert"], affine)
    write_label(masks / "automatic" / f"{lower}.nii.gz", exam["automatic"], affine)


def describe(exam: Exam, density: bool) -> dict[str, Any]:
    """Invent the row of the clinical table: all columns are there, cells that nobody filled are empty."""
    place, duke = exam["place"], exam["collection"] == "DUKE"
    cells = {
        "patient_id": exam["name"],
        "dataset": exam["collection"],
        "bilateral_breast_cancer": 0.0 if place % 3 else None,
        "pcr": float(place % 2),
        "nottingham_grade": ("low", "intermediate", "high")[place % 3],
        "tumor_subtype": SUBTYPES[place % len(SUBTYPES)],
        "age": exam["age"],
        "menopause": MENOPAUSE[place % len(MENOPAUSE)],
        "ethnicity": ETHNICITIES[place % len(ETHNICITIES)],
        "weight": 55.0 + place % 40,
        "bmi_group": ("normal", "overweight", "obesity_class_1")[place % 3],
        "view": exam["view"],
        "bilateral_mri": int(exam["view"] == "axial"),
        # As in the real table, no count of the files.
        "num_phases": exam["phases"] + place % 2,
        "field_strength": 3.0 if place % 2 else 1.5,
        "image_rows": SHAPE[0],
        "image_columns": SHAPE[1],
        "num_slices": SHAPE[2],
        "pixel_spacing": "[0.5859, 0.5859]",
        "site": None if duke else "Site AAI",
        "manufacturer": ("SIEMENS", "GE", "Philips")[place % 3],
        "scanner_model": "Skyra " if place % 3 == 0 else "Signa",
        "acquisition_times": "[0, 165, 288, 411]",
    }
    return cells | ({"breast_density": tell_density(place)} if density else {})


def tell_density(place: int) -> str | None:
    return None if place % LACK_DENSITY == LACK_DENSITY - 1 else "abcd"[place // 2 % 4]


def tell_json(exam: Exam) -> dict[str, Any]:
    place = exam["place"]
    return {
        "patient_id": exam["name"],
        "clinical_data": {
            "age": exam["age"],
            "menopausal_status": MENOPAUSE[place % 2],
            "breast_density": tell_density(place),
        },
        "primary_lesion": {"pcr": place % 2, "tumor_subtype": SUBTYPES[place % 7] or "nan"},
        "imaging_data": {"dataset": exam["collection"], "site": "Site AAI"},
    }


def score(exam: Exam) -> float:
    """Dice of the automatic mask by the expert's."""
    both = int((exam["expert"] & exam["automatic"]).sum())
    return 2 * both / int(exam["expert"].sum() + exam["automatic"].sum())


def write_csv(path: Path, header: Sequence[str], rows: Any) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([header, *rows])


def write_workbook(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the sheet `dataset_info`, the same bytes each time: a workbook keeps when it was saved."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "dataset_info"
    sheet.append(list(columns))
    for row in rows:
        sheet.append([row.get(name) for name in columns])
    stream = io.BytesIO()
    book.save(stream)
    with (
        zipfile.ZipFile(stream) as source,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as kept,
    ):
        for name in source.namelist():
            content = source.read(name)
            if name == "docProps/core.xml":
                content = re.sub(rb"\d{4}-\d\d-\d\dT[\d:]+Z", b"2025-01-01T00:00:00Z", content)
            kept.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def make_fixture(target: Path, n: int = 10, seed: int = 0, density: bool = False) -> list[Exam]:
    """Write a download of `n` exams below `target`, and return what is on them."""
    exams = draw_exams(n, seed)
    write_download(target, exams, seed, density)
    return exams


def write_predictions(folder: Path, exams: Sequence[Exam]) -> None:
    """Write the masks of an invented model."""
    for exam in exams:
        write_label(folder / f"{exam['name'].lower()}.nii.gz", exam["predicted"], exam["affine"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path)
    parser.add_argument("--exams", type=int, default=10, help="at least ten")
    parser.add_argument("--density", action="store_true", help="breast density in the table, too")
    parser.add_argument("--predictions", type=Path, default=None)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    exams = make_fixture(
        options.target, max(options.exams, len(TEN)), options.seed, options.density
    )
    if options.predictions:
        write_predictions(options.predictions, exams)
    print(f"{len(exams)} exams below {options.target}")


if __name__ == "__main__":
    main()
