"""Ready score tables, wide and long, and the faults that other tools pass over."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tworulers.cohort.grouping import assign_groups
from tworulers.ingest.faults import IngestError
from tworulers.ingest.score_table import read_score_table
from tworulers.schema.sources import Grouping, Measure, ScoreTable


def write(folder: Path, text: str, name: str = "scores.csv") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_wide_columns_are_understood_and_macro_added(tmp_path: Path) -> None:
    text = "exam_id,sex,dice_vb,dice_disc,hd95_vb\n001,F,0.9,0.7,1.5\n010,M,0.8,NA,inf\n"
    found = read_score_table(ScoreTable(write(tmp_path, text), provenance="gold"), "gold")
    wide = found.scores.set_index(["exam_id", "structure", "metric"])["value"]
    assert wide["001", "macro", "dice"] == pytest.approx(0.8)
    assert wide["010", "macro", "dice"] == pytest.approx(0.8)
    assert wide["010", "vb", "hd95"] == np.inf
    assert ("001", "macro", "hd95") not in wide
    reasons = found.scores.set_index(["exam_id", "structure", "metric"])["undefined_because"]
    assert reasons["010", "disc", "dice"] == "missing in the table"
    partial = "1 of 2 structures: missing in the table in disc"
    assert reasons["010", "macro", "dice"] == partial
    assert set(found.scores["provenance"]) == {"gold"}
    assert found.cohort["exam_id"].tolist() == ["001", "010"]
    assert "1 scores are missing and stay undefined: 010" in found.notes
    told = "macro dice is the plain mean of vb, disc; 1 of 2 exams: over the structures that are"
    assert any(note.startswith(told) for note in found.notes)
    spec = ScoreTable(write(tmp_path, text), provenance="gold")
    whole = read_score_table(spec, "gold", macro="complete").scores.set_index(
        ["exam_id", "structure", "metric"]
    )
    assert np.isnan(whole.loc[("010", "macro", "dice"), "value"])


def test_of_many_structures_a_line_names_the_first(tmp_path: Path) -> None:
    columns = [f"dice_part{n:03}" for n in range(118)]
    text = ",".join(["exam_id", *columns]) + "\ne1" + ",0.9" * 118 + "\ne2" + ",0.8" * 118 + "\n"
    notes = read_score_table(ScoreTable(write(tmp_path, text), provenance="gold"), "gold").notes
    named = "part000, part001, part002, part003, part004 and 11"
    assert f"macro dice is the plain mean of {named}3 more" in notes
    assert any(note.endswith(f"2 exams with dice of {named}4 more") for note in notes)


def test_mapped_columns_and_a_cohort_of_their_own(tmp_path: Path) -> None:
    scores = write(tmp_path, "Fall;Dice A\n1;0.9\n2;-1\n")
    people = write(tmp_path, "case\tperson\tage\trace\n1\tp\t054Y\tWhite\n2\tp\t> 89\t\n", "p.tsv")
    spec = ScoreTable(
        scores,
        columns={"exam_id": "Fall", "organ/dice": "Dice A"},
        cohort=people,
        cohort_columns={"exam_id": "case", "patient_id": "person"},
        missing=["-1"],
        provenance="silver",
    )
    found = read_score_table(spec, "silver")
    assert found.scores["value"].isna().tolist() == [False, True]
    assert found.cohort["patient_id"].tolist() == ["p", "p"]
    assert found.cohort["age"].tolist()[0] == 54
    assert found.cohort["age_over_89"].tolist() == [False, True]
    race = Grouping(kind="levels", column="race", levels={"White": ["White"]})
    assert assign_groups(found.cohort, race).isna().sum() == 1


def test_long_tables_and_measures_of_their_own(tmp_path: Path) -> None:
    text = "exam_id,sex,structure,metric,value\n" + "".join(
        f"e{i},{'FM'[i % 2]},cord,area,{60 + i}\n" for i in range(4)
    )
    spec = ScoreTable(
        write(tmp_path, text),
        layout="long",
        measures={"area": Measure("Area", True, "mm2")},
        provenance="gold",
    )
    found = read_score_table(spec, "gold")
    assert found.metrics["area"].unit == "mm2"
    assert found.scores["value"].tolist() == [60.0, 61.0, 62.0, 63.0]
    assert found.cohort["sex"].tolist() == ["F", "M", "F", "M"]


def test_what_a_table_lacks_is_counted_and_said(tmp_path: Path) -> None:
    rows = [f"e{i},{s},{m},0.{5 + i}" for i in range(4) for s in ("vb", "disc") for m in "ab"]
    long = [row for row in rows if not row.startswith(("e1,disc,b", "e3,disc,b"))]
    measures = {"a": Measure("A"), "b": Measure("B")}
    text = "\n".join(["exam_id,structure,metric,value", *long, ""])
    spec = ScoreTable(write(tmp_path, text), "long", measures=measures, provenance="gold")
    found = read_score_table(spec, "gold")
    assert "b of disc lacks in 2 of 4 exams" in found.notes
    scores = found.scores[found.scores["structure"] != "macro"]
    assert scores.groupby(["structure", "metric"]).size().tolist() == [4, 4, 4, 4]
    assert scores["undefined_because"].eq("not in the table").sum() == 2
    wide = write(tmp_path, "exam_id,dice_vb,dice_disc,hd95_vb\n1,0.9,0.8,2\n", "wide.csv")
    assert (
        "the table has no hd95 of disc"
        in read_score_table(ScoreTable(wide, provenance="gold"), "gold").notes
    )


def test_decimal_commas_are_read_and_said(tmp_path: Path) -> None:
    text = "exam_id;dice;hd95\na;0,91;1,25\nb;0,8;12\n"
    found = read_score_table(ScoreTable(write(tmp_path, text), provenance="gold"), "gold")
    assert found.scores["value"].tolist() == [0.91, 0.8, 1.25, 12.0]
    assert "column 'dice of all': 2 numbers are read with a decimal comma" in found.notes


def test_a_filter_finds_a_truth_value_as_the_file_spells_it(tmp_path: Path) -> None:
    file = write(tmp_path, "exam_id,first,dice\na,TRUE,0.9\nb,FALSE,0.8\n")
    spec = ScoreTable(file, filters={"first": ["True"]}, provenance="gold")
    assert read_score_table(spec, "gold").cohort["exam_id"].tolist() == ["a"]


def test_faults_beyond_the_first_are_counted(tmp_path: Path) -> None:
    text = "exam_id,dice\n" + "".join(f"e{i},bad\n" for i in range(9))
    with pytest.raises(IngestError, match="4 more values that are no numbers"):
        read_score_table(ScoreTable(write(tmp_path, text), provenance="gold"), "gold")


def test_a_key_of_two_columns(tmp_path: Path) -> None:
    scores = write(tmp_path, "sub,ses,dice\ns1,a,0.5\ns1,b,0.6\n")
    people = write(tmp_path, "sub,ses,sex\ns1,b,F\ns1,a,F\n", "people.csv")
    spec = ScoreTable(
        scores,
        columns={"exam_id": "sub+ses", "patient_id": "sub"},
        cohort=people,
        cohort_columns={"exam_id": "sub+ses", "patient_id": "sub"},
        filters={"ses": ["b"]},
        provenance="gold",
    )
    found = read_score_table(spec, "gold")
    assert found.cohort[["exam_id", "patient_id"]].to_numpy().tolist() == [["s1_b", "s1"]]
    assert found.scores["value"].tolist() == [0.6]


@pytest.mark.parametrize(
    ("text", "change", "message"),
    [
        ("exam_id,dice\na,0.9\n", {"provenance": ""}, "say who drew the reference labels"),
        ("exam_id,dice\na,0.9\n", {"layout": "tall"}, "wide or long"),
        ("exam_id,dice\na,93.1\n", {}, "expected dice of all from 0 to 1, found '93.1'"),
        ("exam_id,hd95\na,-1\n", {}, "expected hd95 of all of at least 0, found '-1'"),
        ("exam_id,dice\na,good\n", {}, "expected a number for dice of all, found 'good'"),
        ("exam_id,dice\na,0.9\na,0.8\n", {}, "expected one row an exam, found several"),
        ("exam_id,area\na,60\n", {}, "columns such as dice_disc"),
        ("name,dice\na,0.9\n", {}, "a column exam_id"),
        (
            "exam_id,sex,dice\na,F,0.9\n",
            {"columns": {"vb/dise": "dice"}},
            "found 'dise' in vb/dise",
        ),
        ("exam_id,dice\na,0.9\n", {"filters": {"exam_id": ["b"]}}, "rows with exam_id b"),
    ],
)
def test_faults_say_what_and_how_to_mend(
    tmp_path: Path, text: str, change: dict[str, object], message: str
) -> None:
    spec = ScoreTable(**{"file": write(tmp_path, text), "provenance": "gold", **change})  # type: ignore[arg-type]
    with pytest.raises(IngestError) as caught:
        read_score_table(spec, "gold")
    assert message in str(caught.value)


def test_exams_that_nobody_describes_are_named(tmp_path: Path) -> None:
    scores = write(tmp_path, "exam_id,dice\n001,0.9\n010,0.8\n")
    people = write(tmp_path, "exam_id,sex\n1,F\n010,M\n", "people.csv")
    with pytest.raises(IngestError, match="001"):
        read_score_table(ScoreTable(scores, cohort=people, provenance="gold"), "gold")


def test_contradicting_rows_are_refused(tmp_path: Path) -> None:
    scores = write(tmp_path, "exam_id,dice\na,0.9\n")
    people = write(tmp_path, "exam_id,sex\na,F\na,M\n", "people.csv")
    with pytest.raises(IngestError, match="F and M in 2 rows"):
        read_score_table(ScoreTable(scores, cohort=people, provenance="gold"), "gold")


@pytest.mark.needs_shared
def test_published_scores_without_groups(shared: Path) -> None:
    expected = {
        "eval_ruler_gold": (0.8969, 1.249, 0.8994),
        "eval_ruler_silver": (0.9734, 0.215, 0.9740),
        "eval_global": (0.9473, 0.344, 0.9487),
    }
    for name, (dice, hd95, ndsc) in expected.items():
        file = str(shared / "data/cspineseg_scores" / f"{name}.csv")
        scores = read_score_table(ScoreTable(file, provenance="gold"), "gold").scores
        macro = scores[scores["structure"] == "macro"].groupby("metric")["value"]
        assert macro.mean()["dice"] == pytest.approx(dice, abs=5e-5)
        assert macro.median()["hd95"] == pytest.approx(hd95, abs=5e-4)
        assert macro.mean()["ndsc"] == pytest.approx(ndsc, abs=5e-5)


@pytest.mark.needs_shared
def test_cord_areas_with_demographics(shared: Path) -> None:
    folder = shared / "data/dlbs_cord_area"
    key = {"exam_id": "participant_id+session_id", "patient_id": "participant_id"}
    spec = ScoreTable(
        str(folder / "cord_area_c2_c4.csv"),
        columns={**key, "cord/area": "area_mm2"},
        measures={"area": Measure("Cord area", True, "mm2")},
        cohort=str(folder / "participants.tsv"),
        cohort_columns=key,
        filters={"session_id": ["ses-wave1"]},
        provenance="silver",
    )
    found = read_score_table(spec, "silver")
    table = found.scores.merge(found.cohort, on="exam_id")
    area = table.groupby("sex")["value"]
    women, men = area.get_group("F"), area.get_group("M")
    assert (len(women), len(men)) == (287, 175)
    assert women.mean() == pytest.approx(67.03, abs=0.01)
    assert men.mean() == pytest.approx(70.87, abs=0.01)
    assert women.std() == pytest.approx(6.46, abs=0.01)
    whole = read_score_table(ScoreTable(**{**spec.__dict__, "filters": {}}), "silver")
    assert (len(whole.cohort), whole.cohort["patient_id"].nunique()) == (951, 463)
    assert pd.isna(whole.scores["undefined_because"]).all()


@pytest.mark.parametrize(
    "columns", ["dice,Dice", "dice_vb,vb_dice", "dice_vb,dice_VB", "dice_a b,dice_a_b"]
)
def test_two_columns_of_one_score_are_refused_by_both_names(tmp_path: Path, columns: str) -> None:
    file = write(tmp_path, f"exam_id,{columns}\na,0.9,0.1\n")
    with pytest.raises(IngestError) as caught:
        read_score_table(ScoreTable(file, provenance="gold"), "gold")
    for name in columns.split(","):
        assert repr(name) in str(caught.value)


def test_spellings_of_a_structure_are_one_and_a_macro_is_no_structure(tmp_path: Path) -> None:
    rows = ["a,vb,0.8", "a,disc,0.6", "a,Macro,0.5", "b,VB ,0.4", "b,disc,0.6", "b,macro,0.5"]
    text = "exam_id,structure,value,metric\n" + "".join(f"{row},dice\n" for row in rows)
    found = read_score_table(ScoreTable(write(tmp_path, text), "long", provenance="gold"), "gold")
    wide = found.scores.pivot_table("value", "exam_id", "structure")
    assert wide.to_dict() == {
        "vb": {"a": 0.8, "b": 0.4}, "disc": {"a": 0.6, "b": 0.6}, "macro": {"a": 0.5, "b": 0.5},
    }  # fmt: skip
    notes = "\n".join(found.notes)
    assert "structure 'Macro' taken as 'macro'" in notes
    assert "'VB' taken as 'vb'" in notes or "'vb' taken as 'VB'" in notes
    twice = text + "a,DISC,0.1,dice\n"
    with pytest.raises(IngestError, match="one dice of disc, found several"):
        read_score_table(ScoreTable(write(tmp_path, twice), "long", provenance="gold"), "gold")


def test_values_of_a_metric_of_ones_own_lie_where_it_says(tmp_path: Path) -> None:
    """A signed one may be negative; its bounds hold as those of known metrics do."""
    file = write(tmp_path, "exam_id,shift_vb\n1,-3.5\n2,12\n")
    signed = {"shift": Measure("Shift", higher_is_better=False, unit="mm")}
    found = read_score_table(ScoreTable(file, measures=signed, provenance="gold"), "gold")
    assert found.scores["value"].tolist() == [-3.5, 12.0]
    assert found.notes[0].startswith("Shift (mm): lower is better")
    for bounds, wrong in (
        ({"low": 0.0}, "of at least 0"),
        ({"low": -5.0, "high": 10.0}, "from -5"),
    ):
        held = {"shift": Measure("Shift", unit="mm", **bounds)}
        with pytest.raises(IngestError, match=f"shift of vb {wrong}"):
            read_score_table(ScoreTable(file, measures=held, provenance="gold"), "gold")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("exam_id,dice_vb\n1,0.9\nMean,0.9\n", ["'Mean'", "take the row out"]),
        ("exam_id,dice_vb\n1,0.9\n1,0.8\n", ["scores.columns.model=<column>"]),
        ("exam_id,structure,metric,value\n1,vb,dice,0.9\n", ["set scores.layout=long"]),
        ("exam_id,dice_vb\n1,-1\n", ["'-1'; declare the code in scores.missing"]),
        ("exam_id,dice_vb\n1,88.1\n", ["divide percentages by 100"]),
        ("exam_id,dice_vb\n/d/1.nii.gz,0.8\n", ["'/d/1.nii.gz'; set scores.id_ignore=[folder,"]),
        ("exam_id,dice_vb\n1.0,0.8\n", ["the table has '001': write both the same"]),
    ],
)
def test_a_message_says_what_mends_it(tmp_path: Path, text: str, words: list[str]) -> None:
    people = write(tmp_path, "exam_id,sex\n001,F\n", "people.csv") if "1.0" in text else None
    with pytest.raises(IngestError) as caught:
        read_score_table(
            ScoreTable(write(tmp_path, text), provenance="gold", cohort=people), "gold"
        )
    for word in words:
        assert word in str(caught.value)


def test_a_column_of_means_is_the_macro_score_and_no_structure(tmp_path: Path) -> None:
    text = "exam_id,dice_vb,dice_disc,dice_mean\n1,0.9,0.7,0.85\n"
    found = read_score_table(ScoreTable(write(tmp_path, text), provenance="gold"), "gold")
    values = found.scores.set_index("structure")["value"].to_dict()
    assert values == {"vb": 0.9, "disc": 0.7, "macro": 0.85}
    assert "structure 'mean' taken as 'macro'" in found.notes


def test_a_note_names_some_of_many_columns(tmp_path: Path) -> None:
    names = [f"c{n}" for n in range(40)]
    text = f"exam_id,dice_vb,{','.join(names)}\n1,0.9{',' * 40}\n2,0.9{',x' * 40}\n"
    found = read_score_table(ScoreTable(write(tmp_path, text), provenance="gold"), "gold")
    (note,) = [note for note in found.notes if "count as no value" in note]
    assert note.endswith("c4 '' 1; and 35 more columns")
