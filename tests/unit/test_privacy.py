"""What leaves this machine says nothing of single people, unless it is asked to."""

import json
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest

from tworulers.battery.audit import AuditResult
from tworulers.diagnosis.comparison import Comparison, RegimeComparison
from tworulers.ingest.pseudonyms import hide_names, read_key, rename_person
from tworulers.runner.tracking import RunRecord, write_record
from tworulers.runner.tracking.record import list_results
from tworulers.runner.tracking.shown import TABLES, list_shown, reduce_page
from tworulers.schema.table_models import Scores
from tworulers.schema.told_settings import hide_places, tell_settings


def make_result(folder: Path) -> Path:
    people = pd.DataFrame({"exam_id": ["a"], "patient_id": ["p"], "sex": ["F"]})
    people.to_parquet(folder / "cohort.parquet")
    people.to_csv(folder / "people.csv", index=False)
    pd.DataFrame({"exam_id": ["a"], "stratum": ["F|40+"]}).to_parquet(folder / "splits.parquet")
    pd.DataFrame({"value": ["x"], "exam_ids": ["a, b"]}).to_parquet(folder / "left_out.parquet")
    scores = pd.DataFrame({name: ["a"] for name in Scores.to_schema().columns})
    scores.to_parquet(folder / "scores.parquet")
    pd.DataFrame({"group": ["F"], "n": [20]}).to_parquet(folder / "groups.parquet")
    write_record(RunRecord("cohort", "cohort", "Who."), folder)
    return folder


def test_what_leaves_is_named_and_rows_of_people_are_asked_for(tmp_path: Path) -> None:
    folder = make_result(tmp_path)
    for name in ("notes.json", "config.yaml", "faults.json", "splits_final_mix.json", "mine.csv"):
        (folder / name).write_text("e1")
    pd.DataFrame({"group": ["F"]}).to_parquet(folder / "brought_along.parquet")
    kept = {path.name for path in list_shown(folder)}
    assert kept == {"groups.parquet"}
    asked = {path.name for path in list_shown(folder, row_level=True)}
    assert asked - kept == {
        "cohort.parquet", "splits.parquet", "scores.parquet", "left_out.parquet"
    }  # fmt: skip


def test_every_table_of_groups_and_tests_is_named() -> None:
    frames = {
        field.name
        for result in (AuditResult, Comparison, RegimeComparison)
        for field in fields(result)
        if field.type in (pd.DataFrame, "pd.DataFrame")
    }
    assert frames - {"scores"} <= TABLES


def test_settings_that_leave_name_no_place_person_or_key() -> None:
    told = hide_places(
        {
            "dataset.root": "/data/clinic/DOE",
            "dataset.reading.pseudonym_key": "/home/me/key",
            "dataset.reading.exclude": ["DOE_JANE"],
            "predictions.references": {"expert": {"folder": "../x/expert", "provenance": "gold"}},
            "predictions.cohort": "~/people.csv",
            "predictions.cohort_columns": {"sex": "Geschlecht"},
            "scores.file": "C:\\clinic\\scores.csv",
            "scores.filters": {"name": ["DOE"]},
            "tracking.uri": "https://me:s3cr3t@host",
            "audit.alpha": 0.05,
            "attributes.groupings.race.levels": {"Black / African American": ["B"]},
        }
    )
    assert told == {
        "dataset.root": "DOE",
        "predictions.references": {"expert": {"folder": "expert", "provenance": "gold"}},
        "scores.file": "scores.csv",
        "audit.alpha": 0.05,
        "attributes.groupings.race.levels": {"Black / African American": ["B"]},
    }


def test_a_relative_path_leaves_as_its_last_part() -> None:
    given = {
        "scores.file": "patients/Jane Doe 1931/gold.csv",
        "against.file": "Jane Doe 1931\\\nx\\silver.csv",
        "dataset.root": "nas/mrn_123456/",
        "predictions.folder": "nas/mrn_123456/x",
        "predictions.references.expert.folder": "nas/mrn_123456/x",
        "predictions.references": {"a/b": {"folder": "nas/mrn_123456/x", "provenance": "gold"}},
        "split.file": "nas/mrn_123456/splits.json",
        "dataset.source": "nnunet/plain",
    }
    assert hide_places(given) == {
        "scores.file": "gold.csv",
        "against.file": "silver.csv",
        "dataset.root": "mrn_123456",
        "predictions.folder": "x",
        "predictions.references.expert.folder": "x",
        "predictions.references": {"a/b": {"folder": "x", "provenance": "gold"}},
        "split.file": "splits.json",
        "dataset.source": "nnunet/plain",
    }


def test_the_configuration_on_a_page_names_no_place_or_person() -> None:
    kept = {
        "dataset": {
            "name": "ours", "root": "/data/clinic", "truth": None, "structures": {"disc": 1},
            "reading": {"experts": "/x/DOE.csv", "exclude": ["DOE_JANE"], "pseudonym_key": "/k"},
        },
        "split": {"file": "lists/DOE/splits.json", "seed": 3},
        "attributes": {"groupings": {"race": {"levels": {"Black / African American": ["B"]}}}},
        "tracking": {"uri": "https://me:s3cr3t@host"},
        "seed": 0,
    }  # fmt: skip
    assert tell_settings(kept) == {
        "dataset": {"name": "ours", "root": "clinic", "structures": {"disc": 1}},
        "split": {"file": "splits.json", "seed": 3},
        "attributes": kept["attributes"],
        "seed": 0,
    }


def test_a_result_in_a_result_is_a_run_of_its_own(tmp_path: Path) -> None:
    inner = tmp_path / "audits" / "gold"
    inner.mkdir(parents=True)
    make_result(tmp_path)
    (inner / "tests.json").write_text(json.dumps([]))
    write_record(RunRecord("audit", "audit", "How."), inner)
    assert list_results(tmp_path) == [tmp_path, inner]
    assert "tests.json" not in {path.name for path in list_shown(tmp_path)}


def test_pseudonyms_hang_on_the_key_and_keep_people_apart(tmp_path: Path) -> None:
    # RFC 4231, test case 2, cut to the pseudonym's length
    assert rename_person("what do ya want for nothing?", b"Jefe") == "5bdcc146bf60754e"
    table = pd.DataFrame({"exam_id": ["1", "01"], "patient_id": ["1", "1"], "sex": ["F", "F"]})
    hidden = hide_names(table, b"k" * 16)
    assert hidden["exam_id"].nunique() == 2
    assert len(set(hidden["patient_id"])) == 1
    assert not set(hidden["exam_id"]) & set(hide_names(table, b"j" * 16)["exam_id"])
    assert hidden["sex"].tolist() == ["F", "F"]


def test_the_key_stays_outside_the_results(tmp_path: Path) -> None:
    results = tmp_path / "artifacts"
    results.mkdir()
    for name, content, words in (
        ("none", None, "openssl rand"),
        ("short", b"abc\n", "3 bytes, too few"),
        ("artifacts/key", b"k" * 32, "keep it elsewhere"),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=words):
            read_key(tmp_path / name, [results])
    (tmp_path / "key").write_bytes(b"k" * 32 + b"\n")
    assert read_key(tmp_path / "key", [results]) == b"k" * 32


def test_pictures_of_single_exams_stay_where_they_were_made(tmp_path: Path) -> None:
    folder = make_result(tmp_path)
    figures = folder / "figures"
    figures.mkdir()
    for name in ("worst_age_dice_macro.png", "gaps.svg"):
        (figures / name).write_text("drawn")
    page = (
        '<p>before</p><section id="worst" class="fold"><details><img src="data:x" alt="exam e1"></details></section>'
        "<p>after</p>"
    )
    (folder / "index.html").write_text(page)
    assert {path.name for path in list_shown(folder)} == {
        "groups.parquet", "gaps.svg", "index.html"
    }  # fmt: skip
    told = reduce_page(page)
    assert "e1" not in told
    assert told.startswith("<p>before</p>")
    assert told.endswith("<p>after</p>")
    assert "stay on the page where it was made" in told
