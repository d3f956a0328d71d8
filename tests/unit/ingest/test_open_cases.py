"""The open acceptance cases of kind `ingest` behave as their `expected_values` say."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tworulers.cohort.grouping import assign_groups
from tworulers.cohort.leakage import find_fold_faults
from tworulers.cohort.split import SplitError, split_cohort
from tworulers.ingest.assemble import Ingested, assemble
from tworulers.ingest.cspineseg import read_structured
from tworulers.ingest.faults import Fault, FaultKind
from tworulers.ingest.fold_file import read_fold_file
from tworulers.ingest.people import clean_attributes, join_people, rename_columns
from tworulers.ingest.predictions import read_pair
from tworulers.ingest.read import Examined, examine
from tworulers.ingest.text_table import read_text_table
from tworulers.io.images import write_label
from tworulers.io.label_maps import read_label
from tworulers.schema.settings import Provenance, Regime, SplitSettings
from tworulers.schema.sources import CODES_FOR_NOTHING, Dataset, Grouping, Reading

pytestmark = pytest.mark.needs_shared

STRUCTURES = {"vertebra": 1, "disc": 2}
Expected = dict[str, Any]


def read(folder: Path, source: str = "nnunet", **reading: Any) -> tuple[Examined, Ingested]:
    dataset = Dataset("case", source=source, root=str(folder), structures=STRUCTURES)
    dataset.reading = Reading(**reading)
    examined = examine(dataset, full=True, processes=1)
    return examined, assemble(examined.source, examined.inspections, dataset, folder)


def try_read(folder: Path) -> tuple[Examined, list[Fault]]:
    """Read a case in which no exam may be left."""
    dataset = Dataset("case", source="nnunet", root=str(folder), structures=STRUCTURES)
    examined = examine(dataset, full=True, processes=1)
    faults = [*examined.source.faults, *(f for i in examined.inspections for f in i.faults)]
    return examined, [fault for fault in faults if not fault.note]


def wrong(ingested: Ingested) -> list[Fault]:
    return [fault for fault in ingested.faults if not fault.note]


def voxels(examined: Examined, exam: str) -> dict[str, int]:
    (found,) = [i.voxels for i in examined.inspections if i.exam_id == exam]
    return {str(value): count for value, count in found.items()}


def dice(first: np.ndarray, second: np.ndarray, value: int) -> float:
    a, b = first == value, second == value
    return float(2 * (a & b).sum() / (a.sum() + b.sum()))


def origin_mismatch(folder: Path, expected: Expected) -> None:
    _, ingested = read(folder)
    (fault,) = wrong(ingested)
    assert ingested.cohort["exam_id"].tolist() == expected["accepted"]
    assert [fault.exam] == expected["flagged"]
    for key in ("origin_image_xyz_mm", "origin_label_xyz_mm", "offset_mm"):
        assert fault.details[key] == pytest.approx(expected[key])
    assert "40 mm" in fault.describe()


def float_labels(folder: Path, expected: Expected) -> None:
    examined, ingested = read(folder)
    assert voxels(examined, "cs_020") == expected["cs_020_voxels"]
    (fault,) = wrong(ingested)
    assert fault.details["fractional"] == expected["cs_021_non_integer_voxels"]


def label_255(folder: Path, expected: Expected) -> None:
    _, (fault,) = try_read(folder)
    assert {str(k): n for k, n in fault.details["unexpected"].items()} == expected["unexpected"]
    assert fault.file == "labelsTr/cs_030.nii.gz"
    examined, _ = read(folder, label_map={255: 1})
    assert voxels(examined, "cs_030")["1"] == 72


def shape_mismatch(folder: Path, expected: Expected) -> None:
    _, faults = try_read(folder)
    assert {fault.exam: fault.details for fault in faults} == expected


def four_dimensions(folder: Path, expected: Expected) -> None:
    _, ingested = read(folder)
    (row,) = ingested.cohort.to_dict("records")
    assert row["exam_id"] == "cs_060"
    assert row["shape"] == "x".join(map(str, expected["cs_060"]["shape"]))
    spacing = [float(part) for part in row["spacing"].split("x")]
    assert spacing == pytest.approx(expected["cs_060"]["spacing_mm"])
    assert [f.details["volumes"] for f in wrong(ingested)] == [expected["cs_061_volumes"]]


def scaled_label(folder: Path, expected: Expected) -> None:
    examined, ingested = read(folder)
    assert wrong(ingested) == []
    assert voxels(examined, "cs_070") == voxels(examined, "cs_071") == expected["voxels"]


def flipped_storage(folder: Path, expected: Expected) -> None:
    judged, judge = read_pair(
        folder / "prediction" / "cs_100.nii.gz", folder / "reference" / "cs_100.nii.gz", [1, 2]
    )
    for value, share in expected["dice_world"].items():
        assert dice(judged.array, judge.array, int(value)) == share


def sheared_affine(folder: Path, expected: Expected) -> None:
    _, ingested = read(folder)
    assert ingested.cohort["exam_id"].tolist() == expected["accepted"]
    details = wrong(ingested)[0].details
    assert details["column_lengths_mm"] == pytest.approx(expected["column_lengths_mm"], abs=1e-6)
    assert details["cosine"] == pytest.approx(expected["cosine_between_first_two_axes"], abs=1e-6)


def wide_integers(folder: Path, expected: Expected, tmp_path: Path) -> None:
    judged, judge = read_pair(
        folder / "prediction" / "cs_130.nii.gz", folder / "reference" / "cs_130.nii.gz", [1, 2]
    )
    for value, share in expected["dice"].items():
        assert dice(judged.array, judge.array, int(value)) == share
    write_label(tmp_path / "out.nii.gz", judged.array, judged.affine)
    assert read_label(tmp_path / "out.nii.gz").array.dtype == np.uint8


def broken_gzip(folder: Path, expected: Expected) -> None:
    _, ingested = read(folder)
    files = {fault.file: fault.describe() for fault in wrong(ingested)}
    assert set(files) == {*expected["unreadable"], *expected["misnamed"]}
    assert "ends early" in files["imagesTr/cs_140_0000.nii.gz"]
    assert "0 bytes" in files["labelsTr/cs_142.nii.gz"]
    assert "not compressed" in files["imagesTr/cs_141_0000.nii.gz"]
    assert ingested.cohort["exam_id"].tolist() == expected["accepted_at_least"]


def channel_suffix(folder: Path, expected: Expected) -> None:
    _, ingested = read(folder)
    assert ingested.cohort["exam_id"].tolist() == expected["case_ids"]
    assert wrong(ingested) == []


def archive_debris(folder: Path, expected: Expected) -> None:
    _, ingested = read(folder, "decathlon")
    assert ingested.cohort["exam_id"].tolist() == expected["cases"]
    assert wrong(ingested) == []


def unpaired_files(folder: Path, expected: Expected) -> None:
    _, ingested = read(folder)
    assert ingested.cohort["exam_id"].tolist() == expected["paired"]
    details = [fault.details for fault in wrong(ingested)]
    assert {"image_without_label": expected["image_without_label"][0]} in details
    assert {"label_without_image": expected["label_without_image"][0]} in details
    assert {"declared": expected["declared"], "paired": expected["paired_count"]} in details


def unicode_path(folder: Path, expected: Expected, tmp_path: Path) -> None:
    target = tmp_path / "Größe Ärzte" / "étude 1 (final)" / "李"
    shutil.copytree(folder, target)
    _, ingested = read(target)
    assert len(ingested.cohort) == expected["n_cases"]
    root = Path(__file__).parents[3]
    command = [sys.executable, "-m", "tworulers.stages.check", "dataset=nnunet"]
    quoted = str(target).replace("'", "\\'")
    command += [f"dataset.root='{quoted}'", f"paths.outputs='{tmp_path / 'Größe out'}'"]
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "LC_ALL": "C"}
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, encoding="utf-8", env=environment
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "Größe out" / "nnunet" / "check" / "check.json").is_file()


def scored_people(folder: Path) -> tuple[pd.DataFrame, list[Fault]]:
    people, _ = rename_columns(read_text_table(folder / "demographics.csv"), {}, "demographics.csv")
    people, faults = clean_attributes(people, "patient_id", CODES_FOR_NOTHING, "demographics.csv")
    scores = read_text_table(folder / "scores.csv").rename(columns={"case_id": "exam_id"})
    if "patient_id" not in scores:
        scores["patient_id"] = scores["exam_id"]
    joined, found = join_people(scores, people, "demographics.csv")
    return joined.assign(dice=joined["dice"].astype(float)), [*faults, *found]


def leading_zeros(folder: Path, expected: Expected) -> None:
    joined, faults = scored_people(folder)
    assert int(joined["sex"].notna().sum()) == expected["matched"]
    assert faults == []
    assert joined.groupby("sex")["dice"].mean().to_dict() == pytest.approx(expected["mean_dice"])


def age_spellings(folder: Path, expected: Expected) -> None:
    table, _ = rename_columns(read_text_table(folder / "demographics.csv"), {}, "demographics.csv")
    people, faults = clean_attributes(table, "patient_id", CODES_FOR_NOTHING, "demographics.csv")
    people["exam_id"] = people["patient_id"]
    order = ["<40", "40-60", ">=60"]
    bins = Grouping(kind="bins", column="age", edges=[40, 60], over_89=">=60", group_order=order)
    groups = assign_groups(people, bins)
    for name, patients in expected["bins"].items():
        assert sorted(groups.index[groups == name]) == patients
    wrong = [fault.exam for fault in faults if not fault.note]
    assert sorted(wrong) == expected["implausible"]
    left = sorted(set(groups.index[groups.isna()]) - set(expected["implausible"]))
    assert left == expected["missing"]
    ages = people.set_index("patient_id")["age"].dropna().to_dict()
    assert ages == pytest.approx(expected["numeric_ages"])


def duplicate_patients(folder: Path, expected: Expected) -> None:
    joined, faults = scored_people(folder)
    assert len(joined) == expected["scored_cases"]
    assert [fault.exam for fault in faults if fault.note] == expected["exact_duplicates"]
    conflicts = {fault.exam: fault.details for fault in faults if not fault.note}
    assert conflicts == expected["conflicts"]
    means = joined.dropna(subset=["sex"]).groupby("sex")["dice"].mean().to_dict()
    assert means == pytest.approx(expected["mean_dice_if_P03_left_out"])


def several_exams(folder: Path, expected: Expected) -> None:
    _, ingested = read(folder, "cspineseg")
    exams = ingested.cohort.groupby("patient_id").size().to_dict()
    assert exams == expected["exams_per_patient"]
    assert len(ingested.cohort) == expected["n_exams"]
    silver = Regime("silver", provenances=[Provenance.SILVER])
    splits = split_cohort(ingested.cohort, SplitSettings(test=0, val=0, folds=2), [silver])
    assert splits.groupby("patient_id")["fold"].nunique().max() == 1


def leaky_splits(folder: Path, expected: Expected) -> None:
    cases = read_text_table(folder / "cases.csv").rename(columns={"case_id": "exam_id"})
    faults = find_fold_faults(read_fold_file(folder / "splits_final.json"), cases)
    for key in ("patient_overlap", "case_overlap"):
        assert {str(fold): ids for fold, ids in getattr(faults, key).items()} == expected[key]
    assert faults.unknown_cases == expected["unknown_cases"]
    assert faults.never_validated == expected["never_validated"]


def provenance_undecidable(folder: Path, expected: Expected, tmp_path: Path) -> None:
    def count(root: Path, **reading: Any) -> tuple[dict[str, int], pd.DataFrame, list[Fault]]:
        dataset = Dataset("case", source="cspineseg", reading=Reading(**reading))
        source = read_structured(root, dataset)
        gold = int((source.exams["provenance"] == Provenance.GOLD).sum())
        return {"expert": gold, "auto": len(source.exams) - gold}, source.exams, source.faults

    counts, exams, faults = count(folder / "structured")
    assert counts == expected["alone"]
    told = [fault for fault in faults if fault.kind == FaultKind.PROVENANCE and not fault.note]
    assert told[0].details == expected["alone"]
    assert len(exams) == expected["exams"]
    assert exams["patient_id"].nunique() == expected["patients"]
    assert exams["manufacturer"].nunique() == expected["manufacturers"]
    above = exams.loc[exams["age_over_89"].eq(True) & exams["age"].isna(), "patient_id"]
    assert above.tolist() == expected["age_missing_but_gt89"]
    gold = Regime("gold", provenances=[Provenance.GOLD])
    with pytest.raises(SplitError, match="no exam of the cohort has an expert"):
        split_cohort(exams, SplitSettings(), [gold])
    listed = count(folder / "structured", experts=str(folder / "expert_series.csv"))
    assert listed[0] == expected["with_list"]
    shutil.copytree(folder / "structured", tmp_path / "both")
    shutil.copytree(folder / "variant_expert_marked", tmp_path / "both", dirs_exist_ok=True)
    assert count(tmp_path / "both")[0] == expected["with_variant"]


ADAPTERS: dict[str, Callable[..., None]] = {
    "01-origin-mismatch": origin_mismatch,
    "03-float-labels": float_labels,
    "04-label-255": label_255,
    "06-shape-mismatch": shape_mismatch,
    "07-four-dimensions": four_dimensions,
    "08-scaled-label": scaled_label,
    "11-flipped-storage": flipped_storage,
    "12-sheared-affine": sheared_affine,
    "14-wide-integer-label": wide_integers,
    "15-broken-gzip": broken_gzip,
    "17-channel-suffix-in-id": channel_suffix,
    "18-archive-debris": archive_debris,
    "20-unpaired-files": unpaired_files,
    "21-unicode-and-space-path": unicode_path,
    "22-leading-zeros": leading_zeros,
    "25-age-spellings": age_spellings,
    "27-duplicate-patients": duplicate_patients,
    "28-several-exams-per-patient": several_exams,
    "29-leaky-splits": leaky_splits,
    "30-provenance-undecidable": provenance_undecidable,
}


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_case(name: str, shared: Path, tmp_path: Path) -> None:
    folder = shared / "cases" / name
    expected = json.loads((folder / "case.json").read_text())["expected_values"]
    adapter = ADAPTERS[name]
    wants_folder = "tmp_path" in adapter.__annotations__
    adapter(folder, expected, tmp_path) if wants_folder else adapter(folder, expected)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("sct_one_subject", ["t2_seg-deepseg_sc-2d.nii.gz and t2/t2_seg-manual.nii.gz hold"]),
        (
            "spinegeneric_masks",
            ["an image sub-unf01_T2w.nii.gz", "sub-unf01_T2w_seg-manual.nii.gz hold"],
        ),
    ],
)
def test_real_folders_say_what_they_lack(shared: Path, data: str, words: list[str]) -> None:
    root = shared / "data" / data
    dataset = Dataset("case", source="folder", root=str(root), structures={"cord": 1})
    text = "\n".join(
        fault.describe() for fault in examine(dataset, full=False, processes=1).source.faults
    )
    for word in words:
        assert word in text


def test_the_real_hippocampus_is_sound(shared: Path) -> None:
    dataset = Dataset("h", source="decathlon", structures={"anterior": 1, "posterior": 2})
    dataset.root = str(shared / "data" / "msd_hippocampus")
    examined = examine(dataset, full=True, processes=2)
    ingested = assemble(examined.source, examined.inspections, dataset, shared)
    assert len(ingested.cohort) == 260
    assert wrong(ingested) == []
