"""The page of benchmarks is what its writer makes of the recorded rows, and says of each whether it was reached."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
from _aims import ROWS, Aim
from _rows import CPU, Row, describe_machine, keep_row, read_rows, take_row, tell_spread
from document import load_measured, reaches, write_page

ROOT = Path(__file__).parents[3]


def test_the_page_is_what_the_writer_makes_of_the_recorded_rows() -> None:
    measured = load_measured(ROOT / "docs" / "benchmarks.json")
    assert set(measured) <= set(ROWS)
    assert (ROOT / "docs" / "benchmarks.md").read_text() == write_page(measured)


def test_a_recorded_row_names_no_folder_of_a_machine() -> None:
    for told in json.loads((ROOT / "docs" / "benchmarks.json").read_text()):
        row = take_row(told)
        assert row.command.startswith("benchmarks/run "), row.row
        assert not {"/work", "/tmp", "/home", "/root"} & set(row.command.replace("/", " /").split())
        assert row.peer or not ROWS[row.row].peer, row.row
        assert not ROWS[row.row].peer or row.agreed, row.row


def test_a_row_that_was_not_measured_says_so() -> None:
    page = write_page({})
    assert page.count("| not measured |") == len(ROWS)


def test_a_row_comes_back_from_a_file_as_it_was_kept(tmp_path: Path) -> None:
    row = Row("score_monai", "benchmarks/run score", (1.0, 2.0), (4.0, 6.0), 10.0, 20.0, "equal")
    keep_row(row, tmp_path / "rows.jsonl")
    keep_row(row, tmp_path / "rows.jsonl")
    assert read_rows(tmp_path / "rows.jsonl") == [row, row]
    assert row.ratios == [4.0, 3.0]
    line = next(line for line in write_page({row.row: row}).splitlines() if "3.5 (3-4)" in line)
    assert f"| 1.5 (1-2) {CPU} | 5 (4-6) | 3.5 (3-4) | 4.5 x | no | 10 / 20 MB |" in line


@pytest.mark.parametrize(
    ("aim", "reached"),
    [
        (Aim(3.5), True),
        (Aim(3.51), False),
        (Aim(seconds=1.5), True),
        (Aim(seconds=1.49), False),
        (Aim(seconds=2, peak_mb=9), False),
        (Aim(1, peak_of_peer=True), True),
    ],
)
def test_an_aim_is_reached_by_the_median(aim: Aim, reached: bool) -> None:
    row = Row("score_monai", "", (1.0, 2.0), (4.0, 6.0), 10.0, 20.0, "", CPU, describe_machine())
    assert reaches(row, aim) is reached


def test_level_is_reached_from_95_in_100_on() -> None:
    held = [reaches(Row("step_3d", "", (1.0,), (peer,)), Aim(1)) for peer in (0.94, 0.95)]
    assert held == [False, True]


def test_a_part_of_an_aim_without_a_measurement_is_not_reached() -> None:
    assert not reaches(Row("audit_10k", "", (1.0,)), Aim(seconds=60, peak_mb=1000))


def test_one_repeat_has_no_spread() -> None:
    assert tell_spread([123.4]) == "123"
    assert tell_spread([0.5, 0.25]) == "0.375 (0.25-0.5)"
