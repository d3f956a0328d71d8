"""Every command that answers ends in the same page: tables by one ruler, by two, of two models, and risk scores."""

import html
import json
import re
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from command import Project
from scored import QUICK as QUICK_LINE
from scored import make_scored


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project.at(tmp_path)
    rng, n = np.random.default_rng(0), 60
    exams = pd.DataFrame({"exam_id": [f"e{x}" for x in range(n)], "sex": ["F", "M"] * (n // 2)})
    first = exams.assign(dice_a=np.clip(rng.normal(0.88, 0.03, n), 0, 1))
    worse = np.where(exams["sex"] == "F", 0.06, 0)
    first.to_csv(tmp_path / "v1.csv", index=False)
    first.assign(dice_a=first["dice_a"] - worse).to_csv(tmp_path / "v2.csv", index=False)
    first.assign(dice_a=0.97 + 0.2 * (first["dice_a"] - 0.88)).to_csv(
        tmp_path / "machine.csv", index=False
    )
    event = rng.integers(0, 2, 400)
    risk = pd.DataFrame({"id": range(400), "sex": ["F", "M"] * 200, "event": event})
    risk["score"] = np.clip(0.3 * event + rng.uniform(0, 0.7, 400), 0, 1)
    risk.to_csv(tmp_path / "risk.csv", index=False)
    return project


def read_page(project: Project, said: str) -> str:
    told = re.findall(r"report: (\S+index\.html)", said)
    assert len(told) == 1, said
    file = project.folder / told[0]
    tables = list((file.parent / "tables").glob("*.csv"))
    assert tables
    assert all(len(pd.read_csv(table)) for table in tables)
    return html.unescape(file.read_text())


QUICK = ("tracking=off", "attributes=sex", "audit=quick")
GOLD = ("scores.file=v1.csv", "scores.provenance=gold")


def test_a_table_by_one_ruler_ends_in_a_page(project: Project) -> None:
    done = project.run("audit", *QUICK, *GOLD)
    assert done.status == 0, done.said
    page = read_page(project, done.said)
    assert "By the experts' labels (gold, 60 exams)" in page
    assert "Digest of scores.file" in page
    assert "tworulers " in page.split("Versions")[1][:200]


def test_tables_by_two_rulers_end_in_a_page_of_both(project: Project) -> None:
    asked = ("against.file=machine.csv", "against.provenance=silver")
    done = project.run("compare", *QUICK, *GOLD, *asked)
    assert done.status == 0, done.said
    page = read_page(project, done.said)
    assert "with the silver ruler in place of gold" in page
    assert 'scope="col">What changing the ruler did<' in page


def test_tables_of_two_models_end_in_a_page_of_both(project: Project) -> None:
    other = ("against.file=v2.csv", "against.provenance=gold", "against.model=v2")
    done = project.run("compare", *QUICK, *GOLD, "scores.model=v1", *other)
    assert done.status == 0, done.said
    page = read_page(project, done.said)
    assert "Model v1: By the experts" in page
    assert "Model v2: By the experts" in page
    assert 'scope="col">What became of the gap<' in page
    assert "Gap wider" in page
    assert "a of v2 minus v1" not in page
    assert "of 1 gap between groups 1 grew" in page


def test_risk_scores_end_in_the_same_page(project: Project) -> None:
    asked = ("risk.file=risk.csv", "risk.score=score", "risk.outcome=event", "risk.event=1")
    done = project.run(
        *("risk", "tracking=off", *asked, "risk.unit=id", "+risk.groups.sex=sex"),
    )
    assert done.status == 0, done.said
    page = read_page(project, done.said)
    assert "Over all rows the score has an AUC of 0." in page
    assert page.count('class="answer"') == 2


def test_judged_folders_show_the_worst_exam_of_each_group_and_shared_ones_do_not(
    project: Project,
) -> None:
    for n in range(8):
        label = np.zeros((8, 12, 4), np.uint8)
        label[1:6, 2:9, 1:3] = 1
        for folder in ("mine", "expert"):
            drawn = 7 * label if folder == "expert" else label.copy()
            drawn[1 : 1 + n % 4, 2:9] = 0 if folder == "mine" else drawn[1 : 1 + n % 4, 2:9]
            (project.folder / folder).mkdir(exist_ok=True)
            nib.save(nib.Nifti1Image(drawn, np.eye(4)), project.folder / folder / f"e{n}.nii.gz")
    (project.folder / "exams.csv").write_text(
        "exam_id,sex\n" + "\n".join(f"e{n},{'FM'[n % 2]}" for n in range(8))
    )
    asked = (
        *("judge", *QUICK, "predictions.folder=mine", "predictions.cohort=exams.csv"),
        *("predictions.structures={box: 1}", "processes=1", "audit.metrics=[dice]"),
        'predictions.references={expert: {folder: expert, provenance: gold, label_map: {box: ["7"]}}}',
    )
    done = project.run(*asked, "predictions.name=mine")
    assert done.status == 0, done.said
    page = read_page(project, done.said)
    section = page.split('<section id="worst"')[1].split("</section>")[0]
    assert section.count("data:image/png;base64,") == 2, "one slice a group"
    assert "Label maps without the image: grey is where both agree." in section
    done = project.run(
        *asked, "predictions.name=passed_on", "report.shared=true", "report.suppress_below=4"
    )
    assert done.status == 0, done.said
    assert '<section id="worst"' not in read_page(project, done.said)


def test_without_groupings_tables_end_in_a_page_of_scores_alone(project: Project) -> None:
    quick = ("tracking=off", "attributes=none", "audit=quick")
    other = ("against.file=machine.csv", "against.provenance=silver")
    for words in (("audit", *quick, *GOLD), ("compare", *quick, *GOLD, *other)):
        done = project.run(*words)
        assert done.status == 0, done.said
        page = read_page(project, done.said)
        assert "Nothing is said of patient groups, since no groupings were asked" in page
        assert "Scores over all exams" in page
        assert "0.8823" in page, "the mean of the scores"


def test_without_groupings_the_pipeline_reports_its_scores(tmp_path: Path) -> None:
    base = make_scored(tmp_path)
    project = Project(tmp_path)
    done = project.run("report", "paths=sweep", *QUICK_LINE, "attributes=none", "tracking=off")
    assert done.status == 0, done.said
    (told,) = re.findall(r"report: (\S+index\.html)", done.said)
    page = html.unescape((tmp_path / told).read_text())
    assert "Nothing is said of patient groups" in page
    scores = pd.read_parquet(base / "scores" / "mix" / "gold" / "scores.parquet")
    mean = scores.loc[scores["structure"] == "macro", "value"].mean()
    assert f"{mean:.4f}" in page


@pytest.mark.slow
def test_a_faster_inference_is_named_by_audit_page_card_and_runs(tmp_path: Path) -> None:
    base = make_scored(tmp_path)
    told = "inference=fast: no mirror images"
    model = f"The mix model predicted with {told}; not as its recipe says."
    labels = f"The silver labels were predicted with {told}; not as the recipe says."
    for regime, ruler in (("mix", "gold"), ("mix", "silver"), ("gold", "silver")):
        keys = ["inference"] * (regime == "mix") + ["inference_of_ruler"] * (ruler == "silver")
        summary = base / "scores" / regime / ruler / "summary.json"
        summary.write_text(json.dumps(dict.fromkeys(keys, told)))
    project = Project(tmp_path)
    done = project.run("report", "paths=sweep", *QUICK_LINE, "tracking=off")
    assert done.status == 0, done.said
    assert model in " ".join(done.said.split())
    (told_page,) = re.findall(r"report: (\S+)/report/index\.html", done.said)
    results = tmp_path / told_page
    audited = results / "audits" / "mix" / "gold"
    assert json.loads((audited / "audit.json").read_text())["inference"] == told
    assert json.loads((audited / "run.json").read_text())["tags"]["inference"] == told
    compared = json.loads((results / "comparisons" / "run.json").read_text())
    assert compared["tags"]["inference"] == f"mix: {told}"
    other = json.loads((results / "audits" / "gold" / "gold" / "audit.json").read_text())
    assert other["inference"] == "", "it predicted as its recipe says"
    page = html.unescape((results / "report" / "index.html").read_text())
    card = (results / "report" / "card.md").read_text().replace("\\", "")
    assert f"The model predicted with {told}; not as its recipe says. Groups:" in page
    for text in (page, card):
        assert model in text
        assert labels in text
        assert "The gold model predicted" not in text


OTHER = ("against.file=machine.csv", "against.provenance=silver")


@pytest.mark.parametrize("words", [("audit", *GOLD), ("compare", *GOLD, *OTHER)])
def test_a_command_ends_in_one_table_and_three_lines(
    project: Project, words: tuple[str, ...]
) -> None:
    done = project.type(*words, *QUICK)
    assert done.status == 0, done.err
    assert done.out.count("┏") == 1
    ending = done.out[done.out.rindex("┘") + 1 :].strip().splitlines()
    assert len(ending) == 3
    assert all(len(line.split()) <= 75 for line in ending), ending
    assert ending[-1].startswith("written to ")
