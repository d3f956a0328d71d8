"""Tables of text: what is read, and that no cut, padded, doubled or garbled table passes as whole."""

from pathlib import Path

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
        (b"PAR1", ["0 rows"]),
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
        (["1.234,5"], [None]),
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


def test_only_columns_of_numbers_and_blanks_are_numbers() -> None:
    table = pd.DataFrame({"bmi": ["21,5", "", "30"], "site": ["1", "b", "2"], "no": [""] * 3})
    assert list(pick_numbers(table, ["bmi", "site", "no", "absent"])) == ["bmi"]
    assert note_decimal_commas(table["bmi"], "bmi") == [
        "column 'bmi': 1 numbers are read with a decimal comma"
    ]
