"""Structures, groups and groupings are any text: results are made of them as they are, and none steers a page."""

import re
import warnings
from html.parser import HTMLParser
from pathlib import Path

import mlflow
import nibabel as nib
import numpy as np
import pandas as pd
import pytest
import yaml

from command import Project
from tworulers.report.render import name_picture

GROUPING = 's"><img src=x onerror=document.title=1><g id="'
ARABIC = "عمود / فقري"
GROUPS = ["Black / African <b>", 'O\'Brien "x" \\1']
STRUCTURES = {"../../../vb": 1, "disc <svg onload=x>": 2}
QUICK = (
    "audit.metrics=[dice]", "audit.bootstrap_draws=50", "audit.permutations=20", "audit.power_draws=0",
    "audit.linear=false", "tracking=off", "processes=1",
)  # fmt: skip


class Page(HTMLParser):
    """What a browser would act on: elements and their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def require_inert(page: Page) -> None:
    """Look for everything that could run, or load from elsewhere; the policy of the page forbids it as well."""
    for tag, attributes in page.elements:
        assert tag not in ("script", "iframe", "object", "embed", "img", "link", "base", "form"), (
            tag
        )
        for name, value in attributes.items():
            assert not name.startswith("on"), f"{tag} {name}={value}"
            assert not str(value).strip().casefold().startswith("javascript:")
    ids = [attributes["id"] for _, attributes in page.elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    known = {f"#{name}" for name in ids}
    uses = {str(attributes["href"]) for tag, attributes in page.elements if tag == "use"}
    assert uses <= known
    metas = [attributes for tag, attributes in page.elements if tag == "meta"]
    (policy,) = (m["content"] for m in metas if m.get("http-equiv") == "Content-Security-Policy")
    assert str(policy).startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")


def save(path: Path, width: int) -> None:
    label = np.zeros((14, 12, 4), np.uint8)
    label[2 : 2 + width, 2:9, 1:3] = 1
    label[2 : 2 + width, 9:11, 1:3] = 2
    path.parent.mkdir(parents=True, exist_ok=True)
    nib.save(nib.Nifti1Image(label, np.diag([1.0, 1.0, 3.0, 1.0])), path)


@pytest.mark.slow
def test_a_page_of_hostile_names_is_made_and_inert(tmp_path: Path) -> None:
    project = Project.at(tmp_path / "project")
    rows = ["exam_id,race"]
    for i in range(12):
        save(tmp_path / "theirs" / f"e{i}.nii.gz", 6)
        save(tmp_path / "expert" / f"e{i}.nii.gz", 6 + i % 5)
        save(tmp_path / "machine" / f"e{i}.nii.gz", 5 + i % 3)
        rows.append(f"e{i},{'ab'[i % 2]}")
    (tmp_path / "exams.csv").write_text("\n".join(rows))
    levels = dict(zip(GROUPS, (["a"], ["b"]), strict=True))
    groupings = {
        GROUPING: {
            "title": "<script>alert(1)</script>",
            "kind": "levels",
            "column": "race",
            "levels": levels,
        },
        ARABIC: {"kind": "levels", "column": "race", "levels": {"أ": ["a"], "ب": ["b"]}},
    }
    references = {
        name: {"folder": str(tmp_path / name), "provenance": provenance}
        for name, provenance in (("expert", "gold"), ("machine", "silver"))
    }
    content = {
        "defaults": [{"override /attributes": "none"}],
        "attributes": {"groupings": groupings},
        "predictions": {
            "name": "theirs",
            "folder": str(tmp_path / "theirs"),
            "cohort": str(tmp_path / "exams.csv"),
            "structures": STRUCTURES,
            "references": references,
        },
    }
    experiment = project.folder / "conf" / "experiment" / "theirs.yaml"
    experiment.write_text("# @package _global_\n" + yaml.safe_dump(content, allow_unicode=True))
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(project.folder)}
    done = project.run("judge", "experiment=theirs", *QUICK)
    assert done.status == 0, done.said
    result = project.folder / "artifacts" / "judged" / "theirs"
    require_inert(Page((result / "report" / "index.html").read_text()))
    groups = pd.read_parquet(result / "audits" / "theirs" / "expert" / "groups.parquet")
    assert set(groups.loc[groups["grouping"] == GROUPING, "group"]) == set(GROUPS)
    assert set(groups["structure"]) == {*STRUCTURES, "macro"}
    figures = {path.name for path in (result / "report" / "figures").iterdir()}
    assert f"{name_picture('two_rulers', GROUPING, 'dice', 'macro')}.svg" in figures
    assert before == {
        path for path in tmp_path.rglob("*") if not path.is_relative_to(project.folder)
    }


def test_a_table_of_risks_by_any_name_has_figures_that_its_page_shows(tmp_path: Path) -> None:
    project = Project.at(tmp_path / "project")
    draw = np.random.default_rng(0)
    table = pd.DataFrame(
        {"score": draw.random(80).round(3), "race": draw.choice(["a/b", "<img onerror=x>"], 80)}
    )
    table["event"] = (draw.random(80) < table["score"]).astype(int)
    table.to_csv(tmp_path / "scores.csv", index=False)
    content = {
        "risk": {
            "name": "theirs", "file": str(tmp_path / "scores.csv"), "score": "score", "outcome": "event",
            "event": "1", "groups": {"../race": "race", "RACE": "race", "race": "race"},
        },
        "use": {"bootstrap_draws": 20},
    }  # fmt: skip
    experiment = project.folder / "conf" / "experiment" / "theirs.yaml"
    experiment.write_text("# @package _global_\n" + yaml.safe_dump(content))
    done = project.run("risk", "experiment=theirs", "tracking=off")
    assert done.status == 0, done.said
    result = project.folder / "artifacts" / "risk" / "theirs" / "risk_estimation"
    page = (result / "risk.md").read_text()
    linked = set(re.findall(r"\]\((figures/[^)]*\.svg)\)", page))
    made = {f"figures/{path.name}" for path in (result / "figures").glob("*.svg")}
    assert len({file.casefold() for file in made}) == len(made) >= 6
    assert {file.replace("%7E", "~") for file in linked} == made
    assert list(tmp_path.rglob("*_matrix.svg")) == list(result.rglob("*_matrix.svg"))


TYPED = (
    "it's $HOME / <b>",
    "${oc.env:HOME} 100%",
    "x" * 200,
    "צוואר \u202e: [1], {2}=3",
    'two\nlines, "quoted"',
)
"""Names as a person may type them on the command line."""


@pytest.mark.slow
def test_any_name_is_typed_drawn_filed_and_logged(tmp_path: Path) -> None:
    project = Project.at(tmp_path / "project")
    draw = np.random.default_rng(0)
    names = [" ".join(name.split()) for name in TYPED]
    table = pd.DataFrame({"exam_id": [f"e{i}" for i in range(40)]})
    table[TYPED[0]] = [TYPED[i % len(TYPED)] for i in range(40)]
    table["dice"] = draw.uniform(0.6, 0.9, 40).round(3)
    table.to_csv(project.folder / "scores.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # a figure that has no room for its axes
        done = project.type(
            "audit", "--scores", "gold:scores.csv", "--by", TYPED[0].replace(",", "\\,"), "--fast",
            "--columns", f"{TYPED[2]}/dice=dice", "audit.metrics=[dice]", "audit.linear=false",
        )  # fmt: skip
    assert done.status == 0, done.err
    groups = project.read("groups.parquet")
    assert set(groups["group"]) == set(names)
    assert set(groups["grouping"]) == {TYPED[0]}
    assert set(groups["structure"]) == {TYPED[2]}
    runs = mlflow.MlflowClient(f"sqlite:///{project.folder}/mlruns/mlflow.db").search_runs(
        [str(n) for n in range(10)]
    )
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert any(run.data.metrics for run in runs)
