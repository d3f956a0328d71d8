"""What may name a file, and the names of everything else."""

import unicodedata
from pathlib import PurePath

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tworulers.ingest.ids import find_id_faults
from tworulers.schema.file_names import (
    LONGEST_NAME,
    FileNameError,
    check_name,
    escape_controls,
    find_meeting_names,
    find_name_fault,
    name_file,
)
from tworulers.schema.table_models import Scores, Splits, TableError, check_table

SAFE = ["001", "étude 1 (final)", "李", "Größe [2]", "a.b", "o'brien", "-x", "x" * LONGEST_NAME]
UNSAFE = [
    "",
    " ",
    "/x",
    "../x",
    "..",
    ".",
    ".hidden",
    "a/b",
    "a\\b",
    "a\x1b[31m",
    "a\nb",
    "a\u202eb",
    "é" * 101,
]
TEXTS = st.text(st.characters(codec=None), max_size=60) | st.sampled_from([*SAFE, *UNSAFE])


@pytest.mark.parametrize("name", SAFE)
def test_names_of_every_script_are_kept(name: str) -> None:
    assert check_name(name, "exam") == name


@pytest.mark.parametrize("name", UNSAFE)
def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(FileNameError, match="nothing can be filed under it") as error:
        check_name(name, "exam")
    assert "\x1b" not in str(error.value)


@given(TEXTS)
def test_no_accepted_name_leaves_its_folder(name: str) -> None:
    if not find_name_fault(name):
        assert (PurePath("/a/b") / f"{name}.nii.gz").parent == PurePath("/a/b")
        assert (PurePath("/a/b") / name).parent == PurePath("/a/b")


def fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


@given(TEXTS, TEXTS)
def test_texts_are_filed_under_names_that_never_meet(first: str, second: str) -> None:
    names = name_file(first), name_file(second)
    assert not any(map(find_name_fault, names))
    assert (fold(names[0]) == fold(names[1])) is (first == second)
    assert name_file(names[0]) == names[0] or names[0] != first


def test_plain_texts_are_their_own_names_and_others_stay_readable() -> None:
    assert name_file("age_3bin") == "age_3bin"
    assert name_file("Sex").startswith("Sex~")
    assert name_file("a/b <40").startswith("a_b_40~")
    assert name_file("شجرة").startswith("شجرة~")


def test_names_that_meet_are_found() -> None:
    assert find_meeting_names(["A1", "a1", "b", "é", "e\u0301"]) == [["A1", "a1"], ["e\u0301", "é"]]


@given(TEXTS)
def test_nothing_shown_steers_a_terminal(text: str) -> None:
    shown = escape_controls(text)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert all(c in "\n\t" or unicodedata.category(c) != "Cc" for c in shown)


IN_TABLES = st.text(max_size=8) | st.sampled_from([*SAFE, *UNSAFE])


@given(st.lists(IN_TABLES, min_size=1, max_size=6))
def test_every_unsafe_id_is_told_once(ids: list[str]) -> None:
    table = pd.DataFrame({"exam_id": ids})
    told = [rows for _, rows in find_id_faults(table, "x.csv", 2)]
    at_fault = {row for rows in told for row in rows}
    for row, name in enumerate(ids):
        if find_name_fault(name):
            assert row in at_fault
    safe = {name for row, name in enumerate(ids) if row not in at_fault}
    assert not find_meeting_names(safe)


@pytest.mark.parametrize("ids", [["e1", "../e2"], ["e1", "E1"], ["e1", ""]])
def test_the_tables_hold_no_unsafe_id(ids: list[str]) -> None:
    scores = pd.DataFrame({"exam_id": ids}).assign(
        regime="mix", ruler="gold", provenance="gold", structure="vb", metric="dice", value=0.5, undefined_because=None
    )  # fmt: skip
    with pytest.raises(TableError, match="ids that each name a file of their own"):
        check_table(scores, Scores, "scores.parquet")
    splits = pd.DataFrame({"exam_id": ["a", "b"], "patient_id": ids}).assign(
        regime="mix", provenance="gold", stratum="", split="train", fold=pd.NA
    )
    with pytest.raises(TableError, match="patient_id"):
        check_table(splits, Splits, "splits.parquet")
