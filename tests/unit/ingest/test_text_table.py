"""Tables of text: what is read, and that no cut, padded, doubled or garbled table passes as whole."""

import datetime
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tworulers.cohort.numbers import note_decimal_commas, pick_numbers, read_numbers
from tworulers.ingest.faults import IngestError
from tworulers.ingest.text_table import MAX_COLUMNS, read_text_table


def write(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\n1,2\n3\n", ["2 cells a row", "fewer in 1 row, line 3"]),
        ("a,b\n1,2\n3", ["fewer in 1 row, line 3", "the end of the file within line 3"]),
        ("a,b\n1,2,3\n4\n", ["more in 1 row, line 2", "fewer in 1 row, line 3"]),
        ("a,b,c,b\n1,2,3,4\n5,6\n", ["'b' twice, as columns 2 and 4", "fewer in 1 row"]),
        ('a,b\n1,"2\n3,4\n', ["a quote that is never closed", "after line 0"]),
        (b"a,b\n\x81,2\n", ["UTF-8, UTF-16 or Windows-1252", "byte 0x81 at 4"]),
        ("a,b\n1,2\n".encode("utf-16-le"), ["zero bytes"]),
        ("a,b\n1,2\n".encode("utf-16")[:-1], ["UTF-16, as its mark says"]),
        (b"PAR1", ["a Parquet table", "t.csv"]),
        (b"PK\x03\x04", ["a workbook", "t.csv"]),
        (b"\x1f\x8b\x08", ["a gzip file", "t.csv"]),
        ("# made by me\na,b\n1,2\n3,4\n", ["'# made by me' above rows of 2 cells", "take out"]),
        ("Scores of v2\n\na,b\n1,2\n", ["'Scores of v2' above rows of 2 cells"]),
        (",".join(map(str, range(MAX_COLUMNS + 1))) + "\n", [f"at most {MAX_COLUMNS} columns"]),
    ],
)
def test_what_is_not_whole_is_refused_by_name(tmp_path, content, words) -> None:
    path = write(tmp_path, content)
    with pytest.raises(IngestError) as caught:
        read_text_table(path)
    for word in [str(path), *words]:
        assert word in str(caught.value)


def test_a_damaged_or_wide_parquet_table_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=r"t\.parquet: expected a Parquet table"):
        read_text_table(write(tmp_path, b"PAR1 and no more", "t.parquet"))
    wide = pd.DataFrame([[0] * (MAX_COLUMNS + 1)]).rename(columns=str)
    wide.to_parquet(tmp_path / "w.parquet")
    with pytest.raises(IngestError, match=r"w\.parquet: expected at most 2000 columns"):
        read_text_table(tmp_path / "w.parquet")


def test_what_is_taken_for_granted_is_noted(tmp_path: Path) -> None:
    notes: list[str] = []
    frame = read_text_table(write(tmp_path, "a;b\r\n1;ä".encode("cp1252")), notes)
    assert frame.to_dict("list") == {"a": ["1"], "b": ["ä"]}
    assert any("read as Windows-1252" in note for note in notes)
    assert any("does not end with a line break" in note for note in notes)


def test_signs_without_width_are_no_part_of_a_name(tmp_path: Path) -> None:
    path = write(tmp_path, "exam_id,\ufeffdice_vb,\u202esex\u200b\n1,0.9,F\n")
    assert list(read_text_table(path)) == ["exam_id", "dice_vb", "sex"]


def test_line_separators_within_cells_end_no_row(tmp_path: Path) -> None:
    text = 'a,b\n1,"one\u2028two\x0bthree\nfour"\n'
    assert read_text_table(write(tmp_path, text)).loc[0, "b"] == "one\u2028two\x0bthree\nfour"


def test_a_quote_after_a_blank_still_quotes(tmp_path: Path) -> None:
    assert read_text_table(write(tmp_path, 'a,b\n1, "x, y"\n')).loc[0, "b"] == "x, y"


TABLE = 'exam,sex,dice\n01,F,0.812\n02,"M, x",0.94\n03,F,0.7\n'
WHOLE = [("01", "F", "0.812"), ("02", "M, x", "0.94"), ("03", "F", "0.7")]


@given(st.integers(1, len(TABLE)))
def test_a_table_cut_anywhere_is_refused_noted_or_whole_rows(tmp_path_factory, place: int) -> None:
    path = write(tmp_path_factory.mktemp("cut"), TABLE[:place])
    notes: list[str] = []
    try:
        rows = list(read_text_table(path, notes).itertuples(index=False, name=None))
    except IngestError:
        return
    assert rows == WHOLE[: len(rows)] or notes


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["0,91", "0,7", "1"], [0.91, 0.7, 1.0]),
        (["0.91", "1e-3", "inf"], [0.91, 1e-3, float("inf")]),
        (["12,5", "1,234"], [12.5, 1.234]),
        (["1,234", "2,500"], [None, None]),
        (["0,91", "0.7"], [None, 0.7]),
        (["1.234,5", "2.345"], [1234.5, 2345]),
        (["0,91", "2.345"], [None, 2.345]),
        (["2.345", "1.234"], [2.345, 1.234]),
        (["1,234.5", "2,000"], [1234.5, 2000]),
        (["1,234", "12.5"], [1234, 12.5]),
        (["1,234,567"], [1234567]),
        (["1,5", "1,234.5"], [1.5, None]),
        (["1\u202f234,5", "1'234", "0,5"], [1234.5, 1234, 0.5]),
        (["", "x", "0,5"], [None, None, 0.5]),
    ],
)
def test_a_comma_is_decimal_where_it_can_be_nothing_else(cells, numbers) -> None:
    read = read_numbers(pd.Series(cells))
    assert [None if pd.isna(value) else value for value in read] == numbers


@given(st.lists(st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 5)), min_size=1))
def test_numbers_are_the_same_with_points_and_with_commas(values: list[float]) -> None:
    points = pd.Series([f"{value:.5f}" for value in values])
    commas = points.str.replace(".", ",", regex=False)
    assert read_numbers(commas).tolist() == read_numbers(points).tolist() == values


def test_a_workbook_is_read_as_it_is_shown(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.create_sheet("codes").append(["0", "unknown"])
    sheet = book.active
    for row in (
        [],
        ["exam", "code", "day", "smoker", "dice", None],
        ["01", 7, datetime.date(2024, 5, 31), True, 0.812, None],
        ["02", 12, None, False, None, "x"],
    ):
        sheet.append(row)
    for row in (3, 4):
        sheet.cell(row, 2).number_format = "000"
    book.save(tmp_path / "t.xlsx")
    notes: list[str] = []
    assert read_text_table(tmp_path / "t.xlsx", notes).to_dict("list") == {
        "exam": ["01", "02"],
        "code": ["007", "012"],
        "day": ["2024-05-31", ""],
        "smoker": ["TRUE", "FALSE"],
        "dice": ["0.812", ""],
    }
    assert any("sheet 'Sheet' is read; 'codes' not" in note for note in notes)
    assert any("column 6 has no name and is not read" in note for note in notes)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([["a", "a"], [1, 2]], ["'a' twice, as columns 1 and 2"]),
        ([["a", "b"], [1, "=A2*2"]], ["formulas without one, such as B2 =A2*2"]),
        ([["a", "b"]], ["0 rows"]),
        ([], ["0 rows"]),
    ],
)
def test_a_workbook_at_fault_is_refused_by_name(tmp_path, rows, words) -> None:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(IngestError) as caught:
        read_text_table(tmp_path / "t.xlsx")
    for word in ["t.xlsx", *words]:
        assert word in str(caught.value)


def test_a_broken_workbook_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=r"t\.xlsx: expected an Excel workbook"):
        read_text_table(write(tmp_path, "PK", "t.xlsx"))


def test_the_index_of_a_parquet_table_is_a_column_if_it_has_a_name(tmp_path: Path) -> None:
    numbers = pd.array([1, None, 2**53 + 1], dtype="Int64")
    frame = pd.DataFrame({"n": numbers, "sex": ["F", None, "M"]})
    named = frame.set_index(pd.Index(["01", "02", "03"], name="exam_id"))
    named.to_parquet(tmp_path / "named.parquet")
    read = read_text_table(tmp_path / "named.parquet")
    assert read.to_dict("list") == {
        "n": ["1", "", "9007199254740993"],
        "sex": ["F", "", "M"],
        "exam_id": ["01", "02", "03"],
    }
    named.rename_axis(None).to_parquet(tmp_path / "nameless.parquet")
    notes: list[str] = []
    assert list(read_text_table(tmp_path / "nameless.parquet", notes)) == ["n", "sex"]
    assert "its index has no name (it begins with '01')" in notes[0]
    frame.assign(sex=[["F"], [], []]).to_parquet(tmp_path / "lists.parquet")
    with pytest.raises(IngestError, match="one value a cell, found lists or records in 'sex'"):
        read_text_table(tmp_path / "lists.parquet")


def test_columns_without_a_name_are_noted_unless_they_count(tmp_path: Path) -> None:
    notes: list[str] = []
    read = read_text_table(write(tmp_path, ",a,\n0,x,p\n1,y,q\n"), notes)
    assert list(read) == ["a"]
    assert notes == ["t.csv: column 3 has no name and is not read ('p', 'q', ...)"]


def test_the_errors_of_a_spreadsheet_are_noted(tmp_path: Path) -> None:
    notes: list[str] = []
    read_text_table(write(tmp_path, "a,b\n1,#N/A\n2,3\n"), notes)
    assert notes == ["t.csv: 1 cells hold a spreadsheet's error, such as '#N/A' in line 2"]


def test_delimiters_within_quoted_names_do_not_count(tmp_path: Path) -> None:
    path = write(tmp_path, 'exam;"dice, of a, in b"\n1;0,5\n')
    assert list(read_text_table(path)) == ["exam", "dice, of a, in b"]


def test_only_columns_of_numbers_and_blanks_are_numbers() -> None:
    table = pd.DataFrame({"bmi": ["21,5", "", "30"], "site": ["1", "b", "2"], "no": [""] * 3})
    assert list(pick_numbers(table, ["bmi", "site", "no", "absent"])) == ["bmi"]
    assert note_decimal_commas(table["bmi"], "bmi") == [
        "column 'bmi': 1 numbers are read with a decimal comma"
    ]
