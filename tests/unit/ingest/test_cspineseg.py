"""A fake download of the documented shape: joins, provenance, localizer, repeated patients."""

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from tworulers.ingest.assemble import Ingested
from tworulers.ingest.cspineseg import read_structured
from tworulers.ingest.read import ingest
from tworulers.schema.phantom_settings import Phantom
from tworulers.schema.settings import Provenance
from tworulers.schema.sources import Dataset, Reading

ROOT = Path(__file__).parents[3]
STRUCTURES = {"vb": 1, "disc": 2}


def load_script() -> ModuleType:
    path = ROOT / "scripts" / "make_cspineseg_fixture.py"
    spec = importlib.util.spec_from_file_location("make_cspineseg_fixture", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def download(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    target = tmp_path_factory.mktemp("cspineseg") / "download"
    settings = Phantom(patients=12, gold_patients=5, exams=14, shape=[6, 24, 16])
    settings.spacing = [4.0, 5.0, 5.0]
    return target, load_script().make_fixture(target, settings, "first")


def read(root: Path, **reading: object) -> Ingested:
    dataset = Dataset("c", source="cspineseg", root=str(root), structures=STRUCTURES)
    dataset.reading = Reading(**reading)  # type: ignore[arg-type]
    return ingest(dataset, root.parent, processes=1)


def test_everybody_is_joined_to_their_own_attributes(download: tuple[Path, pd.DataFrame]) -> None:
    root, people = download
    cohort = read(root, experts="expert_series.csv").cohort.set_index("exam_id")
    people = people.set_index("name")
    assert len(cohort) == 13
    expected = people.loc[cohort.index]
    assert (cohort["patient_id"] == expected["case"]).all()
    assert (cohort["sex"] == expected["sex"]).all()
    assert (cohort["field_strength_t"] == expected["field_strength_t"]).all()
    assert cohort["age"].fillna(-1).eq(expected["age"].fillna(-1)).all()
    assert (cohort["age_over_89"] == expected["age_over_89"]).all()
    assert (cohort["provenance"] == expected["provenance"].astype(str)).all()
    assert set(cohort["manufacturer"]) <= {"Siemens", "SIEMENS", "GE MEDICAL SYSTEMS"}
    assert cohort["manufacturer"].str.casefold().nunique() == cohort["manufacturer"].nunique()


def test_two_exams_of_a_patient_stay_two_exams(download: tuple[Path, pd.DataFrame]) -> None:
    cohort = read(download[0], experts="expert_series.csv").cohort
    assert cohort["patient_id"].nunique() == 11
    assert cohort["exam_id"].is_unique


def test_the_first_release_cannot_tell_experts_and_says_so(
    download: tuple[Path, pd.DataFrame],
) -> None:
    ingested = read(download[0])
    assert (ingested.cohort["provenance"] == Provenance.SILVER).all()
    texts = [fault.describe() for fault in ingested.faults if not fault.note]
    assert any("0 expert and 14 machine labels" in text for text in texts)


def test_the_localizer_is_told_by_its_geometry(download: tuple[Path, pd.DataFrame]) -> None:
    root, people = download
    excluded = read(root, experts="expert_series.csv").exclusions
    localizer = people.loc[people["shape"] != people["shape"].mode()[0], "name"]
    assert excluded["exam_id"].tolist() == localizer.tolist()
    assert "localizer by its geometry" in excluded["reason"].iloc[0]


def test_a_table_that_marks_experts_is_enough(
    download: tuple[Path, pd.DataFrame], tmp_path: Path
) -> None:
    people = download[1]
    load_script().write_tables(tmp_path, people, "marked")
    dataset = Dataset("c", source="cspineseg", root=str(tmp_path), structures=STRUCTURES)
    exams = read_structured(tmp_path, dataset).exams.set_index("exam_id")
    gold = people.set_index("name")["provenance"].astype(str)
    assert (exams["provenance"] == gold[exams.index]).all()


def test_unpacked_anywhere_and_with_a_mask_missing(
    download: tuple[Path, pd.DataFrame], tmp_path: Path
) -> None:
    root = tmp_path / "elsewhere"
    shutil.copytree(download[0] / "annotation", root / "a" / "b")
    shutil.copytree(download[0] / "segmentation", root / "seg")
    shutil.copytree(download[0] / "structured", root / "tables")
    mask = sorted((root / "seg").iterdir())[0]
    mask.unlink()
    ingested = read(root)
    exam = mask.name.removesuffix("_SEG.nii.gz")
    assert exam not in set(ingested.cohort["exam_id"])
    assert exam in set(ingested.exclusions["exam_id"])
