"""Primary questions as a person asks them: stated in a file, locked, audited, and held to the lock ever after."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command import Outcome, Project

pytestmark = pytest.mark.usefixtures("unrendered")

ASKED = (
    "scores.file=gold.csv",
    "scores.provenance=gold",
    "attributes.by=[sex,site]",
    "tracking=off",
)
ASKED += ("audit=quick", "audit.metrics=[dice,ndsc]", "audit.linear=false", "audit.permutations=20")
ASKED += ("audit.bootstrap_draws=20", "audit.power_draws=40")
PRIMARY = ("audit.family=primary", "audit.primary=spine.yaml")
QUESTIONS = "questions: [{metric: dice, structure: macro, groupings: [sex, site]}]"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with a table of scores and a file of questions."""
    project, rng = Project.at(tmp_path), np.random.default_rng(0)
    exams = {"exam_id": np.arange(60), "sex": ["F", "M"] * 30, "site": ["a", "b", "c"] * 20}
    names = ("dice_vb", "dice_disc", "ndsc_vb", "ndsc_disc")
    scores = {name: rng.uniform(0.7, 0.8, 60) + 0.08 * (np.arange(60) % 2) for name in names}
    pd.DataFrame(exams | scores).to_csv(tmp_path / "gold.csv", index=False)
    (tmp_path / "spine.yaml").write_text(QUESTIONS)
    return project


def lock(project: Project, *more: str) -> Outcome:
    return project.run("lock", *ASKED, "audit.primary=spine.yaml", *more)


def audit(project: Project, *more: str) -> Outcome:
    return project.run("audit", *ASKED, *PRIMARY, *more)


def read_audits(project: Project) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in sorted(project.folder.rglob("audit.json"))]


def test_a_lock_holds_what_belongs_to_the_questions_under_its_hash(project: Project) -> None:
    told = lock(project, "audit.margin={dice: 2, ndsc: 1, failures: 10}")
    assert told.status == 0
    assert "2 primary questions (dice/macro by sex, site): locked on" in told.said
    content = json.loads((project.folder / "spine.lock.json").read_text())
    stated = content["stated"]
    assert stated["questions"] == ["dice/macro/sex", "dice/macro/site"]
    assert (stated["alpha"], stated["thresholds"]) == (0.05, {"dice": 0.8})
    assert stated["margin"] == {"dice": 2.0, "failures": 10.0}
    assert stated["groupings"]["sex"]["levels"]["Female"] == ["Female", "F"]
    text = json.dumps(stated, sort_keys=True, separators=(",", ":"))
    assert content["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    before = (project.folder / "spine.lock.json").read_bytes()
    assert lock(project, "audit.margin={dice: 2, failures: 10}").status == 0
    assert (
        "margin.dice was 2.0, now 3.0" in lock(project, "audit.margin={dice: 3, failures: 10}").said
    )
    assert (project.folder / "spine.lock.json").read_bytes() == before


def test_primary_questions_are_corrected_among_themselves_and_come_first(project: Project) -> None:
    lock(project)
    said = audit(project).said
    content = json.loads((project.folder / "spine.lock.json").read_text())
    assert f"locked on {content['date']}, SHA-256 {content['sha256'][:12]}" in said
    assert said.index("family primary: 2 of 2") < said.index("family main: 10 of 10")
    tests = project.read("tests.parquet")
    primary = tests[tests["family"] == "primary"]
    assert set(zip(primary["metric"], primary["structure"], primary["grouping"], strict=True)) == {
        ("dice", "macro", "sex"),
        ("dice", "macro", "site"),
    }
    raw = sorted(primary["p"])
    assert sorted(primary["p_fdr"]) == pytest.approx([min(2 * raw[0], raw[1]), raw[1]])
    assert project.read("groupings.parquet")["family"].tolist() == ["primary"] * 2 + ["main"] * 2
    (about,) = read_audits(project)
    assert about["settings"]["locked"]["sha256"] == content["sha256"]  # type: ignore[index]
    (table,) = project.folder.rglob("groupings.parquet")
    summary = table.with_name("summary.json")
    kept = json.loads(summary.read_text())["primary"]
    assert (kept["sha256"], kept["date"]) == (content["sha256"], content["date"])
    shown = json.loads(table.with_name("run.json").read_text())
    assert content["sha256"][:12] in shown["tags"]["primary"]
    assert "primary_mismatch" not in shown["tags"]
    assert "All other tests are secondary" in shown["description"]


def test_what_a_primary_question_gains_is_quoted(project: Project) -> None:
    lock(project)
    audit(project)
    power = project.read("power.parquet")
    mine = power[power["grouping"].eq("site") & power["structure"].eq("macro")]
    mine = mine[mine["metric"] == "dice"].set_index("correction")
    assert mine["alpha"].to_dict() == pytest.approx(
        {"none": 0.05, "family": 0.025, "all": 0.05 / 12}
    )
    assert mine["detectable_gap"]["family"] < mine["detectable_gap"]["all"]
    said = project.read("sentences.parquet")["sentence"].tolist()
    assert "over all tests, primary or not" in said[1]


def test_what_was_changed_after_the_lock_is_said_everywhere(project: Project) -> None:
    lock(project)
    told = audit(project, "audit.thresholds.dice=0.7")
    assert "not as locked on" in told.said
    assert "thresholds.dice was 0.8, now 0.7" in told.said
    (record,) = project.folder.rglob("run.json")
    shown = json.loads(record.read_text())
    assert "thresholds.dice was 0.8" in shown["tags"]["primary_mismatch"]
    assert "thresholds.dice was 0.8" in shown["description"]
    (project.folder / "spine.yaml").write_text(QUESTIONS.replace("sex, site", "sex"))
    refused = lock(project)
    assert refused.status == 1
    assert "A lock is not changed" in refused.said


def test_a_changed_group_and_an_edited_lock_are_seen(project: Project) -> None:
    lock(project)
    assert (
        "other groupings.sex" in audit(project, "attributes.groupings.sex.levels.Female=[F,X]").said
    )
    path = project.folder / "spine.lock.json"
    path.write_text(path.read_text().replace('"sha256": "', '"sha256": "0'))
    assert "spine.lock.json was edited" in audit(project).said


@pytest.mark.slow
def test_other_questions_of_the_same_scores_before_are_named(project: Project) -> None:
    project.run("audit", *ASKED)
    lock(project)
    assert "audited before with other primary questions: with none" in audit(project).said
    (project.folder / "other.yaml").write_text(QUESTIONS.replace("macro", "vb"))
    project.run("lock", *ASKED, "audit.primary=other.yaml")
    first = json.loads((project.folder / "spine.lock.json").read_text())["sha256"]
    told = audit(project, "audit.primary=other.yaml")
    assert f"with none, with those of SHA-256 {first[:12]}" in told.said
    # Audited again in the same place, what was asked before stays named, and its own hash is not.
    assert f"with those of SHA-256 {first[:12]}" in audit(project, "audit.primary=other.yaml").said


def test_all_faults_come_in_one_list_with_what_mends_them(project: Project) -> None:
    wrong = QUESTIONS.replace("macro", "macr").replace("dice", "dise").replace("site", "sight")
    (project.folder / "spine.yaml").write_text(wrong)
    told = audit(project)
    assert told.status == 1
    for fault in ("'dise' is not there (did you mean 'dice'?)", "'macr' is not there", "'sight'"):
        assert fault in told.said
    assert (
        "is not locked: run `python -m tworulers.stages.lock audit.primary=spine.yaml`" in told.said
    )
    assert "'dise'" in lock(project).said
    assert not (project.folder / "spine.lock.json").exists()
    assert list(project.folder.rglob("audit.json")) == []


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "states no questions"),
        ("questions: []", "states no questions"),
        ("questions: [{metric: dice}]", "question 1: expected groupings, metric, structure"),
        ("questions: [", "is no YAML"),
        (f"{QUESTIONS}\nmargin: 2", "and nothing else"),
    ],
)
def test_a_file_that_states_no_questions(project: Project, content: str, fault: str) -> None:
    (project.folder / "spine.yaml").write_text(content)
    told = audit(project)
    assert (told.status, fault in told.said) == (1, True), told.said


def test_a_family_without_a_file_says_what_to_write(project: Project) -> None:
    told = project.run("audit", *ASKED, "audit.family=primary")
    assert told.status == 1
    assert "questions: [{metric: dice" in told.said
    assert "stages.lock audit.primary=FILE" in told.said
    assert "expected main or primary" in project.run("audit", *ASKED, "audit.family=first").said
