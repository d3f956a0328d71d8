"""Tables of risks: what is read, what is left out and listed, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tworulers.cohort.kinds import MAX_GROUPS
from tworulers.ingest.faults import IngestError
from tworulers.ingest.risk_table import read_risk_table
from tworulers.schema.sources import Grouping, RiskJoin, RiskTable

STAYS = """stay,gender,age,hospital_death,predicted_mortality
1,Female,54,ALIVE,0.02
2,Male,> 89,EXPIRED,3.1E-1
3,Female,71,ALIVE,-1
4,Male,66,ALIVE,0.12
5,Female,48,EXPIRED,0.40
6,,39,ALIVE,0.05
7,Male,80,EXPIRED,-1
8,Male,59,ALIVE,0.35
9,Female,77,ALIVE,0.45
"""


@pytest.fixture
def spec(tmp_path):
    (tmp_path / "risk.csv").write_text(STAYS)
    return RiskTable(
        name="stays",
        root=str(tmp_path),
        file="risk.csv",
        score="predicted_mortality",
        outcome="hospital_death",
        event="EXPIRED",
        unit="stay",
        groups={"sex": "gender"},
        sentinels=["-1"],
        low=0.0,
        high=1.0,
    )


def faults_of(spec):
    with pytest.raises(IngestError) as caught:
        read_risk_table(spec)
    return str(caught.value)


def with_text(spec, text):
    (Path(spec.root) / spec.file).write_text(text)
    return spec


def test_codes_are_excluded_and_listed_and_blank_groups_kept(spec):
    records = read_risk_table(spec)
    frame = records.frame
    assert frame.unit_id.tolist() == ["1", "2", "4", "5", "6", "8", "9"]
    assert frame.outcome.tolist() == [0, 1, 0, 1, 0, 0, 0]
    assert frame.score.tolist() == [0.02, 0.31, 0.12, 0.40, 0.05, 0.35, 0.45]
    assert frame.sex.isna().tolist() == [False] * 4 + [True] + [False] * 2
    assert records.excluded.unit_id.tolist() == ["3", "7"]
    assert records.excluded.value.tolist() == ["-1 / ALIVE", "-1 / EXPIRED"]
    notes = "\n".join(records.notes)
    assert "2 rows excluded, predicted_mortality holds a declared code for not computed" in notes
    assert "1 rows have no sex (column 'gender')" in notes
    assert "7 rows used, 2 events (hospital_death = EXPIRED)" in notes


def test_a_code_is_the_same_number_however_it_is_written(spec):
    records = read_risk_table(with_text(spec, STAYS.replace("ALIVE,-1\n", "ALIVE,-1.0\n")))
    assert len(records.excluded) == 2


def test_undeclared_codes_are_scores_outside_the_range(spec):
    message = faults_of(replace(spec, sentinels=[]))
    assert "within the declared [0, 1], found 2 scores outside ('-1' in 3, '-1' in 7)" in message
    assert "declare it in risk.sentinels" in message


def test_the_event_is_never_guessed(spec):
    assert "risk.event is not set" in faults_of(replace(spec, event=None))
    assert "ALIVE (6), EXPIRED (3)" in faults_of(replace(spec, event=None))
    assert "level 'Dead' in column 'hospital_death', found ALIVE (6)" in faults_of(
        replace(spec, event="Dead")
    )


def test_a_third_outcome_level_has_to_be_named(spec):
    third = with_text(spec, STAYS.replace("39,ALIVE", "39,TRANSFERRED"))
    assert "nobody said what they mean: ['ALIVE', 'TRANSFERRED']" in faults_of(third)
    message = faults_of(replace(third, non_event=["ALIVE"]))
    assert "nobody said what they mean: ['TRANSFERRED']" in message
    records = read_risk_table(replace(third, non_event=["ALIVE", "TRANSFERRED"]))
    assert records.frame.outcome.sum() == 2


def test_all_faults_come_in_one_message(spec):
    text = STAYS.replace("0.12", "high").replace("0.35", "7")
    message = faults_of(with_text(spec, text.replace("9,Female", "8,Female")))
    assert "3 faults" in message
    assert "found 1 values that are none ('high' in 4)" in message
    assert "found 1 scores outside ('7' in 8)" in message
    assert "expected each stay once, found 1 units several times (8)" in message


def test_one_class_is_refused_after_exclusions(spec):
    text = STAYS.replace("EXPIRED,3.1E-1", "EXPIRED,-1").replace("EXPIRED,0.40", "EXPIRED,-1")
    assert "among the rows with a score, found 0 events and 5 non-events" in faults_of(
        with_text(spec, text)
    )


def test_missing_files_columns_and_settings_are_all_named(spec):
    assert "risk.score is not set" in faults_of(replace(spec, score="", file="x.csv"))
    assert "x.csv: expected a table, found no such file" in faults_of(
        replace(spec, score="", file="x.csv")
    )
    message = faults_of(replace(spec, groups={"sex": "sexe", "race": "race"}, score="risk"))
    for column in ("'sexe' (risk.groups.sex)", "'race' (risk.groups.race)", "'risk' (risk.score)"):
        assert column in message
    assert "found stay, gender, age" in message
    assert "risk.groups is empty" in faults_of(replace(spec, groups={}))


def test_a_group_column_without_any_value_is_refused(spec):
    blank = with_text(spec, STAYS.replace("Female", "").replace("Male", "NaN"))
    assert "groups in column 'gender', found blanks in every usable row" in faults_of(blank)


def test_text_that_means_nothing_is_no_group(spec):
    text = STAYS.replace("6,,", "6,nan,").replace("9,Female", "9,Unknown")
    records = read_risk_table(replace(with_text(spec, text), missing=["Unknown", "nan"]))
    assert records.frame.sex.dropna().unique().tolist() == ["Female", "Male"]
    assert records.frame.sex.isna().sum() == 2


def test_keys_keep_their_zeros_and_files_their_byte_order_mark(spec):
    text = STAYS.replace("\n1,", "\n001,")
    (Path(spec.root) / "risk.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_risk_table(spec).frame.unit_id[0] == "001"


def test_blank_scores_and_outcomes_are_excluded_by_reason(spec):
    text = STAYS.replace("ALIVE,0.02", "ALIVE,").replace("EXPIRED,0.40", ",0.40")
    excluded = read_risk_table(with_text(spec, text)).excluded.set_index("unit_id").reason
    assert excluded["1"] == "no predicted_mortality"
    assert excluded["5"] == "no hospital_death"


def test_ages_above_89_become_a_flag(spec):
    ages = Grouping(title="Age", kind="bins", column="age", edges=[60], over_89=">=60")
    blank = with_text(spec, STAYS.replace("Male,66", "Male,"))
    records = read_risk_table(replace(blank, groupings={"age": ages}))
    frame = records.frame.set_index("unit_id")
    assert frame.age_over_89.to_dict()["2"]
    assert frame.age_over_89.sum() == 1
    assert frame.age["9"] == 77
    assert frame.age[["2", "4"]].isna().all()


class TestJoin:
    @pytest.fixture
    def joined(self, spec, tmp_path):
        (tmp_path / "people.csv").write_text("id,who,race\n1,p1,A\n2,p2,B\n4,p1,A\n5,p3,B\n9,,A\n")
        join = RiskJoin(file="people.csv", key="stay", right_key="id")
        return replace(spec, joins=[join], groups={"race": "race"}, cluster="who")

    def test_rows_without_a_partner_stay_with_blank_groups(self, joined):
        records = read_risk_table(joined)
        frame = records.frame.set_index("unit_id")
        assert frame.race["4"] == "A"
        assert frame.race[["6", "8"]].isna().all()
        assert frame.cluster_id["1"] == frame.cluster_id["4"] == "p1"
        assert frame.cluster_id["9"] == "row of 9"
        notes = "\n".join(records.notes)
        assert "4 rows of risk.csv have no row in people.csv" in notes
        assert "3 rows name no 'who'" in notes

    def test_a_key_that_stands_twice_needs_a_filter(self, joined, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text("id,who,race,version\n1,p1,A,IV\n1,p1,A,IVa\n2,p2,B,IVa\n")
        assert "expected each id once, found 1 of them several times (1); filter it" in faults_of(
            joined
        )
        filtered = replace(joined.joins[0], filters={"version": ["IVa"]})
        records = read_risk_table(replace(joined, joins=[filtered]))
        assert "2 of 3 rows kept, version = ['IVa']" in "\n".join(records.notes)

    def test_faulty_keys_and_filters_are_named(self, joined):
        wrong = RiskJoin(
            file="people.csv", key="stays", right_key="ids", filters={"version": ["1"]}
        )
        message = faults_of(replace(joined, joins=[wrong]))
        for words in ("join key 'stays'", "column 'ids'", "column 'version'"):
            assert words in message

    def test_no_common_key_is_a_fault(self, joined, tmp_path):
        (tmp_path / "people.csv").write_text("id,who,race\nx,p1,A\n")
        assert "expected the stay of people.csv, found none of them" in faults_of(joined)


def test_a_filter_that_keeps_nothing_lists_what_there_is(spec):
    message = faults_of(replace(spec, filters={"gender": ["woman"]}))
    assert "expected rows with gender woman, found '', 'Female', 'Male'" in message


def test_filters_keep_the_named_rows(spec):
    records = read_risk_table(replace(spec, filters={"gender": ["Female", "Male"]}))
    assert "6" not in records.frame.unit_id.tolist()
    assert "8 of 9 rows kept" in records.notes[0]


def test_spellings_of_groups_outcomes_and_filters_are_one_and_are_said(spec):
    text = (
        STAYS.replace("3,Female", "3,FEMALE")
        .replace("4,Male", "4,male")
        .replace("8,Male", "8, Male")
    )
    text = text.replace("2,Male,> 89,EXPIRED", "2,Male,> 89,Expired")
    records = read_risk_table(replace(with_text(spec, text), event="expired"))
    assert sorted(records.frame.sex.dropna().unique()) == ["Female", "Male"]
    assert records.frame.outcome.sum() == 2
    notes = "\n".join(records.notes)
    for words in ("sex 'FEMALE' taken as 'Female' in 1 rows", "'Expired' taken as 'EXPIRED'"):
        assert words in notes
    filtered = read_risk_table(
        replace(with_text(spec, text), filters={"gender": ["FEMALE "]}, event="EXPIRED")
    )
    assert len(filtered.frame) == 3


def test_spellings_of_a_level_never_stand_on_both_sides(spec):
    two = with_text(spec, STAYS.replace("EXPIRED", "YES").replace("ALIVE", "yes"))
    assert "found 7 events and 0 non-events" in faults_of(replace(two, event="yes"))


@pytest.mark.parametrize("written", ["TRUE", "True", "true"])
def test_a_truth_value_is_found_as_the_file_spells_it(spec, written):
    text = STAYS.replace("EXPIRED", written).replace("ALIVE", "F" + written[1:])
    assert read_risk_table(replace(with_text(spec, text), event="True")).frame.outcome.sum() == 2


def test_tables_as_spreadsheets_write_them(spec):
    text = STAYS.replace(",", ";").replace(".", ",").replace("Female", "weiblich ä")
    (Path(spec.root) / "risk.csv").write_bytes(text.encode("cp1252"))
    records = read_risk_table(spec)
    assert records.frame.score.tolist() == [0.02, 0.31, 0.12, 0.40, 0.05, 0.35, 0.45]
    notes = "\n".join(records.notes)
    assert "decimal comma" in notes
    assert "Windows-1252" in notes


@pytest.mark.parametrize("form", ["semicolon", "tab", "bar", "sep", "utf-16", "parquet"])
def test_every_form_of_table_that_scores_come_in_gives_the_same_records(spec, form):
    expected = read_risk_table(spec)
    path = Path(spec.root) / "other.csv"
    delimiter = {"semicolon": ";", "tab": "\t", "bar": "|", "sep": ";"}.get(form, ",")
    text = STAYS.replace(",", delimiter)
    path.write_text(
        "sep=;\n" + text if form == "sep" else text, "utf-16" if form == "utf-16" else "utf-8"
    )
    if form == "parquet":
        path = path.with_suffix(".parquet")
        pd.read_csv(Path(spec.root) / spec.file, dtype="str").to_parquet(path)
    records = read_risk_table(replace(spec, file=path.name))
    pd.testing.assert_frame_equal(records.frame, expected.frame)
    pd.testing.assert_series_equal(records.groups["sex"], expected.groups["sex"])


def test_a_column_of_record_numbers_is_no_grouping(spec):
    rows = "".join(f"{i},g{i},50,{'ALIVE' if i % 2 else 'EXPIRED'},0.5\n" for i in range(300))
    many = with_text(spec, STAYS.splitlines()[0] + "\n" + rows)
    message = faults_of(many)
    assert f"at most {MAX_GROUPS} groups in grouping 'sex', found 300 values in column" in message
    assert "is this the column of sex?" in message


def test_ages_that_nobody_has_are_refused(spec):
    ages = Grouping(title="Age", kind="bins", column="age", edges=[60])
    old = with_text(spec, STAYS.replace("Male,66", "Male,660"))
    message = faults_of(replace(old, groupings={"age": ages}))
    assert "4, risk.csv: expected an age of 0 to 120 years, found '660'" in message


def test_one_name_for_two_groupings_is_refused(spec):
    ages = Grouping(title="Age", kind="bins", column="age", edges=[60])
    message = faults_of(replace(spec, groupings={"sex": ages}))
    assert "'sex' is in risk.groups and in risk.groupings" in message


def test_codes_for_nothing_are_the_ones_that_are_declared(spec):
    text = with_text(spec, STAYS.replace("6,,", "6,None,").replace("39,ALIVE", "39,none"))
    by_default = read_risk_table(text)
    assert by_default.excluded.set_index("unit_id").reason["6"] == "no hospital_death"
    declared = read_risk_table(replace(text, missing=["-"], non_event=["none", "ALIVE"]))
    assert "6" in declared.frame.unit_id.tolist()
    assert declared.frame.set_index("unit_id").sex["6"] == "None"
    named = read_risk_table(replace(text, non_event=["none", "ALIVE"]))
    assert named.frame.set_index("unit_id").outcome["6"] == 0
