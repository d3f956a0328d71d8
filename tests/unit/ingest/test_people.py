"""Ages, identifiers and repeats in tables of people, in the many ways they are written."""

import math
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tworulers.ingest.ages import AgeStatus, read_age
from tworulers.ingest.faults import IngestError
from tworulers.ingest.people import (
    clean_attributes,
    collapse_duplicates,
    join_people,
    rename_columns,
)
from tworulers.ingest.text_table import read_text_table
from tworulers.schema.sources import CODES_FOR_NOTHING


@pytest.mark.parametrize(
    ("cell", "flag", "years", "status"),
    [
        ("54", "No", 54, AgeStatus.KNOWN),
        ("054Y", "No", 54, AgeStatus.KNOWN),
        ("39.9", "", 39.9, AgeStatus.KNOWN),
        ("39,9", "", 39.9, AgeStatus.KNOWN),
        ("018M", "No", 1.5, AgeStatus.KNOWN),
        ("026W", "", 26 * 7 / 365.25, AgeStatus.KNOWN),
        ("54 years", "", 54, AgeStatus.KNOWN),
        ("0", "", 0, AgeStatus.KNOWN),
        ("89", "", 89, AgeStatus.KNOWN),
        ("95", "", None, AgeStatus.OVER_89),
        ("91 years", "", None, AgeStatus.OVER_89),
        ("> 89", "Yes", None, AgeStatus.OVER_89),
        (">89", "", None, AgeStatus.OVER_89),
        ("90+", "Yes", None, AgeStatus.OVER_89),
        (">= 90", "", None, AgeStatus.OVER_89),
        ("", "Yes", None, AgeStatus.OVER_89),
        ("90", "Yes", None, AgeStatus.OVER_89),
        ("", "No", None, AgeStatus.MISSING),
        ("unknown", "No", None, AgeStatus.MISSING),
        ("N/A", "", None, AgeStatus.IMPLAUSIBLE),
        ("300", "No", None, AgeStatus.IMPLAUSIBLE),
        ("-1", "No", None, AgeStatus.IMPLAUSIBLE),
        ("999", "", None, AgeStatus.IMPLAUSIBLE),
        ("abc", "", None, AgeStatus.IMPLAUSIBLE),
        ("40", "Yes", None, AgeStatus.IMPLAUSIBLE),
        ("> 60", "", None, AgeStatus.IMPLAUSIBLE),
    ],
)
def test_ages(cell: str, flag: str, years: float | None, status: AgeStatus) -> None:
    age = read_age(cell, flag)
    assert age.status == status
    assert math.isnan(age.years) if years is None else age.years == pytest.approx(years)


@given(st.integers(0, 120))
def test_whole_years_survive_every_spelling(years: int) -> None:
    for cell in (f"{years}", f"{years:03d}Y", f"{years}.0", f" {years} y"):
        age = read_age(cell)
        assert age.years == years if years < 90 else age.status == AgeStatus.OVER_89


def clean(rows: list[tuple[object, ...]], columns: list[str]) -> tuple[pd.DataFrame, list]:
    table = pd.DataFrame(rows, columns=columns, dtype="str")
    return clean_attributes(table, columns[0], (*CODES_FOR_NOTHING, "-9"), "people.csv")


def test_an_implausible_age_is_a_fault_that_names_the_row() -> None:
    frame, faults = clean([("A1", "300"), ("A2", "54"), ("A3", "-9")], ["patient_id", "age"])
    assert [fault.exam for fault in faults if not fault.note] == ["A1"]
    assert "'300'" in faults[0].describe()
    assert frame["age"].isna().tolist() == [True, False, True]
    assert not frame["age_over_89"].any()


def test_near_duplicate_spellings_are_one_scanner() -> None:
    frame, faults = clean(
        [("a", "SIEMENS", "1.5"), ("b", "Siemens", "15000"), ("c", "Siemens ", "3,0 T")],
        ["patient_id", "manufacturer", "field_strength_t"],
    )
    assert set(frame["manufacturer"]) == {"Siemens"}
    assert frame["field_strength_t"].tolist() == [1.5, 1.5, 3.0]
    assert all(fault.note for fault in faults)


def test_exact_repeats_collapse_and_contradictions_become_missing() -> None:
    columns = ["patient_id", "sex", "race"]
    rows = [
        ("P1", "F", "White"),
        ("P2", "M", "White"),
        ("P2", "M", "White"),
        ("P3", "F", "Asian"),
        ("P3", "M", "Asian"),
    ]
    table, faults = collapse_duplicates(pd.DataFrame(rows, columns=columns), "patient_id", "t")
    assert table["patient_id"].tolist() == ["P1", "P2", "P3"]
    assert table["race"].tolist() == ["White", "White", "Asian"]
    assert pd.isna(table.set_index("patient_id").loc["P3", "sex"])
    repeat, conflict = sorted(faults, key=lambda fault: fault.exam)
    assert repeat.note
    assert not conflict.note
    assert conflict.details == {"sex": ["F", "M"]}


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def test_leading_zeros_tell_people_apart(tmp_path: Path) -> None:
    people = read_text_table(
        write(tmp_path / "p.csv", "patient_id,sex\n001,F\n010,M\n100,F\n0100,M\n")
    )
    exams = pd.DataFrame({"exam_id": list("abcd"), "patient_id": ["001", "010", "100", "0100"]})
    joined, faults = join_people(exams, people, "p.csv")
    assert joined["sex"].tolist() == ["F", "M", "F", "M"]
    assert faults == []


def test_lost_zeros_are_suspected_by_name(tmp_path: Path) -> None:
    people = read_text_table(write(tmp_path / "p.csv", "patient_id,sex\n1,F\n7,M\n"))
    exams = pd.DataFrame({"exam_id": ["a", "b"], "patient_id": ["001", "002"]})
    joined, faults = join_people(exams, people, "p.csv")
    assert joined["sex"].isna().all()
    text = [fault.describe() for fault in faults]
    assert any("'001'" in line and "'1': were zeros lost" in line for line in text)
    assert any("'002'" in line for line in text)
    assert any(fault.note and "2 rows of no exam" in fault.found for fault in faults)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("id,sex,race\n01,F,Größe\n", "utf-8"),
        ("\ufeffid;sex;race\r\n01;F;Größe\r\n;;\r\n", "utf-8"),
        ("id\tsex\trace\n01\tF\tGröße\n", "utf-16"),
        ("sep=;\nid;sex;race\n01;F;Größe\n", "utf-8"),
        ("id;sex;race\n01;F;Größe\n", "cp1252"),
        ('id , sex , race\n"01", F ," Größe "\n', "utf-8"),
        ("id,sex,race,,\n01,F,Größe,,\n", "utf-8"),
    ],
)
def test_tables_as_spreadsheets_write_them(tmp_path: Path, text: str, encoding: str) -> None:
    frame = read_text_table(write(tmp_path / "t.csv", text, encoding))
    assert frame.to_dict("records") == [{"id": "01", "sex": "F", "race": "Größe"}]


def test_parquet_cells_become_text(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": ["01", "02"], "age": [54.0, None], "n": [1, 2]})
    frame.to_parquet(tmp_path / "t.parquet")
    read = read_text_table(tmp_path / "t.parquet")
    assert read.to_dict("list") == {"id": ["01", "02"], "age": ["54", ""], "n": ["1", "2"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n", "0 rows|1 rows"),
        ("a,a\n1,2\n", "'a' twice"),
        ("a,b\n1,2,3\n", "more in 1 row, line 2"),
    ],
)
def test_a_broken_table_says_why(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(IngestError, match=message):
        read_text_table(write(tmp_path / "t.csv", text))


@pytest.mark.parametrize("name", ["t.xls", "t.ods"])
def test_an_old_spreadsheet_is_asked_for_as_another(tmp_path: Path, name: str) -> None:
    with pytest.raises(IngestError, match=r"save the sheet as \.xlsx or CSV"):
        read_text_table(write(tmp_path / name, "PK"))


def test_columns_are_understood_or_mapped() -> None:
    table = pd.DataFrame([("a", "F", "50", "x")], columns=["Patient ID", "Gender", "AGE", "site"])
    renamed, notes = rename_columns(table, {"race": "site"}, "t")
    assert notes == []
    assert list(renamed) == ["patient_id", "sex", "age", "race"]
    with pytest.raises(IngestError, match="nope"):
        rename_columns(table, {"race": "nope"}, "t")


def test_what_is_mapped_wins_and_its_namesake_steps_aside() -> None:
    table = pd.DataFrame([("F", "M", "x")], columns=["sex", "sex_at_birth", "id"])
    for columns in (list(table), list(table)[::-1]):
        renamed, (note,) = rename_columns(table[columns], {"sex": "sex_at_birth"}, "t.csv")
        assert renamed["sex"].tolist() == ["M"]
        assert "sex_at_birth" not in renamed
        assert note.describe() == (
            "t.csv: column 'sex_at_birth' is taken as sex, as mapped; the table's own 'sex' is not used"
        )
    swapped, notes = rename_columns(table, {"sex": "sex_at_birth", "sex_at_birth": "sex"}, "t.csv")
    assert (swapped["sex"].item(), swapped["sex_at_birth"].item(), notes) == ("M", "F", [])
    both, _ = rename_columns(table, {"exam_id": "id", "patient_id": "id"}, "t.csv")
    assert both[["exam_id", "patient_id"]].to_numpy().tolist() == [["x", "x"]]


def test_of_lookalike_columns_the_exact_one_is_taken_or_one_has_to_be_chosen() -> None:
    table = pd.DataFrame([("F", "Female")], columns=["sex", "Sex"])
    for columns in (["sex", "Sex"], ["Sex", "sex"]):
        renamed, (note,) = rename_columns(table[columns], {}, "t.csv")
        assert renamed["sex"].tolist() == ["F"]
        assert note.note
        assert "'sex' and 'Sex'" in note.describe()
    chosen, _ = rename_columns(table, {"sex": "Sex"}, "t.csv")
    assert chosen["sex"].tolist() == ["Female"]
    with pytest.raises(IngestError, match=r"'SEX' and 'Sex' can both be sex: neither"):
        rename_columns(table.rename(columns={"sex": "SEX"}), {}, "t.csv")
