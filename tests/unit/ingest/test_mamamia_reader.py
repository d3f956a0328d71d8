"""A fake MAMA-MIA download of the documented shape: names in any case, its tables, and what is refused."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from mamamia_download import load_script
from tworulers.ingest.assemble import Ingested
from tworulers.ingest.faults import IngestError
from tworulers.ingest.mamamia import note_age_groups
from tworulers.ingest.mamamia_tables import describe_patients, join_ratings
from tworulers.ingest.read import copy_labels, ingest
from tworulers.schema.sources import Dataset, Reading

MASKS = {"expert": "segmentations/expert", "automatic": "segmentations/automatic"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("mamamia") / "download"
    load_script().make_fixture(target)
    return target


@pytest.fixture
def download(made: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(made, tmp_path / "download"))


def read(root: Path, **reading: object) -> Ingested:
    dataset = Dataset("m", source="mamamia", root=str(root), structures={"tumor": 1})
    dataset.corrected_from, dataset.caveat = "automatic", "The shipped weights learned all."
    dataset.reading = Reading(**{"masks": dict(MASKS), **reading})  # type: ignore[arg-type]
    return ingest(dataset, root.parent, processes=1)


def say(ingested: Ingested, *, notes: bool = False) -> str:
    return "\n".join(fault.describe() for fault in ingested.faults if fault.note == notes)


def test_names_match_in_any_case_and_are_spelled_as_in_the_table(made: Path) -> None:
    ingested = read(made)
    cohort = ingested.cohort.set_index("exam_id")
    assert len(cohort) == 10
    assert cohort.index.tolist()[:3] == ["DUKE_901", "DUKE_902", "DUKE_903"]
    assert cohort.loc["NACT_51", "image"].endswith("images/NACT_51/nact_51_0001.nii.gz")
    assert cohort.loc["NACT_51", "label"].endswith("expert/NACT_51.nii.gz")
    assert ingested.references["automatic"]["NACT_51"].name == "nact_51.nii.gz"
    assert (cohort["provenance"] == "gold").all()
    assert say(ingested) == ""
    assert cohort["expert_volume_mm3"].min() > 0


def test_tables_say_who_the_exams_are_of(made: Path) -> None:
    cohort = read(made).cohort.set_index("exam_id")
    assert cohort["age"].isna().sum() == 1
    assert {40, 55} <= set(cohort["age"].dropna())
    assert set(cohort["menopause"].dropna()) == {"pre", "post", "peri"}
    assert "hawaian" in set(cohort["ethnicity"])
    assert cohort["ethnicity"].isna().sum() == 1
    assert set(cohort["scanner_model"]) == {"Skyra", "Signa"}
    assert cohort["site"].isna().sum() == 3
    assert cohort.loc["DUKE_901", "pixel_spacing"] == "[0.5859, 0.5859]"
    assert set(cohort["field_strength_t"]) == {1.5, 3.0}
    assert set(cohort["breast_density"].dropna()) == {"a", "b", "c", "d"}
    assert cohort["published_split"].value_counts().to_dict() == {"train": 8, "test": 2}
    assert cohort["automatic_rating"].value_counts().to_dict() == {
        "Acceptable or disagreed": 4,
        "both Good": 2,
        "both Missed": 2,
        "both Poor": 2,
    }


def test_the_table_may_hold_density_itself_and_ratings_be_preliminary(tmp_path: Path) -> None:
    root = tmp_path / "download"
    load_script().make_fixture(root, density=True)
    shutil.rmtree(root / "patient_info_files")
    name = "automatic_segmentations_quality_scores.csv"
    (root / name).rename(root / f"preliminary_{name}")
    people, faults = describe_patients(root, Reading())
    assert people["breast_density"].notna().sum() == 8
    assert people["automatic_rating"].notna().all()
    assert all(fault.note for fault in faults)


def test_the_note_tells_how_experts_masks_were_made(made: Path) -> None:
    told = say(read(made), notes=True)
    assert "The expert labels are corrections of the automatic ones" in told
    assert "The shipped weights learned all" in told
    assert "DUKE 3 (documented: 291)" in told


def test_automatic_masks_are_copied_byte_by_byte_under_the_exams_names(
    made: Path, tmp_path: Path
) -> None:
    ingested = read(made)
    files = ingested.references["automatic"]
    copy_labels(files, Dataset(structures={"tumor": 1}), tmp_path / "kept")
    kept = {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()}
    assert kept == {f"{exam}.nii.gz": path.read_bytes() for exam, path in files.items()}


def change(path: Path, array: Callable[[np.ndarray], np.ndarray], turn: np.ndarray) -> None:
    image = nib.load(path)
    voxels = array(np.asanyarray(image.dataobj))
    nib.save(nib.Nifti1Image(voxels.astype(np.uint8), image.affine @ turn), path)


def put_two(voxels: np.ndarray) -> np.ndarray:
    voxels = voxels.copy()
    voxels[0, 0, 0] = 2
    return voxels


def use_another_value(root: Path) -> None:
    change(root / "segmentations/automatic/nact_51.nii.gz", put_two, np.eye(4))


def mirror(root: Path) -> None:
    flip = np.diag([-1.0, 1, 1, 1])
    flip[0, 3] = 23
    change(root / "segmentations/automatic/nact_51.nii.gz", np.copy, flip)


def double(root: Path) -> None:
    masks = root / "segmentations/automatic"
    shutil.copy(masks / "nact_51.nii.gz", masks / "NACT_51.nii.gz")


def forget_row(root: Path) -> None:
    table = pd.read_excel(root / "clinical_and_imaging_info.xlsx", dtype="str")
    kept = table[table["patient_id"] != "NACT_51"]
    kept.to_csv(root / "clinical_and_imaging_info.csv", index=False)
    (root / "clinical_and_imaging_info.xlsx").unlink()


def lose_partner(root: Path) -> None:
    (root / "segmentations/expert/NACT_51.nii.gz").unlink()


def lose_phase(root: Path) -> None:
    (root / "images/NACT_51/nact_51_0001.nii.gz").unlink()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (use_another_value, "automatic/nact_51.nii.gz: unexpected label values {2: 1}"),
        (mirror, "automatic/nact_51.nii.gz: expected the image's orientation LPS, found RPS"),
        (double, "expected one file, whatever the case of its name"),
        (forget_row, "expected a row of the clinical table, found none"),
        (lose_partner, "expected its expert mask, found none"),
        (lose_phase, "expected its phase 0001, found none"),
    ],
)
def test_what_is_wrong_with_one_exam_is_named_and_the_others_stay(
    download: Path, spoil: Callable[[Path], None], said: str
) -> None:
    spoil(download)
    ingested = read(download)
    assert len(ingested.cohort) == 9
    assert "NACT_51" not in set(ingested.cohort["exam_id"])
    assert "NACT_51" not in ingested.references["automatic"]
    assert said in say(ingested)
    assert "nact_51" in ingested.exclusions["exam_id"].iloc[0].casefold()


def test_faults_of_tables_are_listed_and_leave_cells_missing(download: Path) -> None:
    ratings = download / "automatic_segmentations_quality_scores.csv"
    ratings.write_text(ratings.read_text().replace("DUKE_901,Good", "DUKE_901,Goood"))
    split = download / "train_test_splits.csv"
    split.write_text(split.read_text().replace("DUKE_901,", "DUKE_901,duke_901\n,", 1))
    (download / "patient_info_files/duke_902.json").write_text("{")
    ingested = read(download)
    told, cohort = say(ingested), ingested.cohort.set_index("exam_id")
    assert "expert_1_qs of Good, Acceptable, Poor, Missed, found 'Goood'" in told
    assert "expected one part, found train and test" in told
    assert "duke_902.json: expected JSON" in told
    columns = ["expert_1_qs", "automatic_rating", "published_split"]
    assert cohort.loc["DUKE_901", columns].isna().all()


def test_masks_lie_where_settings_say(download: Path) -> None:
    for path in (download / "segmentations/expert").iterdir():
        shutil.move(path, download / "segmentations")
    (download / "segmentations/expert").rmdir()
    with pytest.raises(IngestError, match=r"dataset\.reading\.masks\.expert=\.\.\."):
        read(download)
    ingested = read(download, masks={**MASKS, "expert": "segmentations"}, phase=2)
    assert len(ingested.cohort) == 10
    assert ingested.cohort["image"].str.endswith("_0002.nii.gz").all()


@pytest.mark.parametrize(
    ("low", "high", "edges"),
    [(40, 55, "[40, 55]"), (40, 56, "[40, 56]"), (41, 55, "[41, 55]"), (41, 56, "[41, 56]")],
)
def test_the_edges_that_give_the_published_age_groups_are_told(
    low: int, high: int, edges: str
) -> None:
    parts = [(low - 1, 340), (30, 9), (low, 400), (high - 1, 354), (high, 390), (70, 10)]
    ages = pd.Series(np.repeat(*zip(*parts, strict=True)), dtype=float)
    (note,) = note_age_groups(pd.concat([ages, pd.Series([np.nan] * 3)]))
    assert edges in note.found
    assert note_age_groups(ages.head(100)) == []
    (none,) = note_age_groups(ages + 20)
    assert none.found.startswith("no edges")


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("Good", "Good", "both Good"),
        ("Missed", "Missed", "both Missed"),
        ("Acceptable", "Acceptable", "Acceptable or disagreed"),
        ("Good", "Poor", "Acceptable or disagreed"),
        ("Good", None, None),
    ],
)
def test_two_ratings_are_one_as_published(first: str, second: str, together: str | None) -> None:
    assert join_ratings(first, second) == together


def test_the_fixture_is_the_same_every_time_and_has_every_column(
    made: Path, tmp_path: Path
) -> None:
    script = load_script()
    script.make_fixture(tmp_path / "again")

    def digest(root: Path) -> dict[str, str]:
        return {
            path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in root.rglob("*")
            if path.is_file()
        }

    assert digest(made) == digest(tmp_path / "again")
    assert len(script.COLUMNS) == 49
    assert sum(path.stat().st_size for path in made.rglob("*") if path.is_file()) < 2_000_000
