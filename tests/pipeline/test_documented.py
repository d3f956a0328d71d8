"""Pages as a reader follows them: the small study is written, and every command of a page runs there, in its order."""

import doctest
import io
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from hydra.core.global_hydra import GlobalHydra

import tworulers as tr
from command import Outcome, Project
from documents import PAGES, ROOT, Told, list_commands, list_files, read_blocks
from tworulers.cli.commands import BY_NAME, STAGES
from tworulers.cli.main import main
from tworulers.ingest.assemble import complete_columns
from tworulers.io.records import write_table

RUN = ("start", "predictions", "tables", "questions", "risk", "extending")
"""Pages whose commands need no more than the study; those of the others train, or read data that nobody may pass on."""

FEW = ("tracking=off", "audit.linear=false", "audit.bootstrap_draws=50", "audit.permutations=50")
FEW += ("audit.power_draws=40", "use.bootstrap_draws=50")
"""What a test adds: fewer draws, and no store."""

ELSEWHERE = ("./scripts", "pip", "cd")
"""Commands that CI or another test runs, and one that a test does in another way."""

NOBODYS = re.compile(r"/data/|nnUNet_results/")
"""Where pages have a reader's data lie; readers of those have tests of their own."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small study, as its script writes it."""
    folder = tmp_path_factory.mktemp("study")
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        from small_study import write_study
    finally:
        sys.path.pop(0)
    write_study(folder)
    return folder


@pytest.fixture
def project(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A project that holds the study, as the working folder."""
    folder = tmp_path / "project"
    shutil.copytree(study, folder)
    made = Project.at(folder)
    monkeypatch.chdir(folder)
    yield made
    GlobalHydra.instance().clear()


def type_command(project: Project, told: Told, added: tuple[str, ...] = FEW) -> Outcome:
    """Run a command of a page, with fewer draws where nothing else is said."""
    words = told.words
    if words[0] == "python" and words[1] != "-m":
        return run_example(words[1:])
    if words[0] == "tworulers":
        stage, typed = words[1], words[1:]
        if stage not in STAGES:
            assert stage in BY_NAME
            return Outcome(0, "")
        stream, argv = io.StringIO(), sys.argv
        with redirect_stdout(stream), redirect_stderr(stream), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                status = main([*typed, *added])
            except SystemExit as stop:
                status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
            finally:
                sys.argv = argv
        return Outcome(status, " ".join(stream.getvalue().split()))
    return project.run(words[2].rpartition(".")[2], *words[3:], *FEW)


def run_example(words: list[str]) -> Outcome:
    """Run a script of the checkout with its arguments."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(ROOT / words[0]), *words[1:]],
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    return Outcome(done.returncode, done.stdout + done.stderr)


def write_files(project: Project, page: str) -> None:
    """Write the files that a page shows, and what its commands read beside the study."""
    for name, text in list_files(page).items():
        path = project.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN)
def test_the_commands_of_a_page_run_in_their_order(page: str, project: Project) -> None:
    write_files(project, page)
    if page == "extending":
        lay_out_stacks(project.folder)
    done = 0
    said = ""
    for told in list_commands(page):
        if told.words[0].startswith(ELSEWHERE) or NOBODYS.search(told.line):
            continue
        outcome = type_command(project, told, ("tracking=off",) if page == "start" else FEW)
        assert outcome.status == 0, f"{told.line}\n{outcome.said[-3000:]}"
        done, said = done + 1, said + outcome.said
    assert done >= 2
    if page == "start":
        quoted = " ".join(re.findall(r"^>(.*)$", PAGES[page].read_text(), re.MULTILINE))
        parts = [" ".join(part.split()) for part in re.split("…", quoted)]
        assert [part for part in parts if part not in said] == []


def test_the_commands_of_the_readme_are_run_on_other_pages() -> None:
    run = {told.line for page in RUN for told in list_commands(page)}
    own = [told for told in list_commands("README") if not told.words[0].startswith(ELSEWHERE)]
    assert [told.line for told in own if told.line not in run] == [
        "tworulers check --dataset nnunet --root /data/Dataset001_Spine"
    ]


def lay_out_stacks(folder: Path) -> None:
    """Put five exams of the study into a folder each."""
    for path in sorted((folder / "expert").iterdir())[:5]:
        own = folder / "stacks" / path.name.partition(".")[0]
        own.mkdir(parents=True)
        shutil.copy(path, own / "mask.nii.gz")
        label = nib.load(path)
        image = np.asarray(label.dataobj, np.float32) + 0.5
        nib.save(nib.Nifti1Image(image, label.affine), own / "image.nii.gz")


@pytest.mark.slow
def test_the_metric_and_groupings_of_the_page_are_in_its_results(project: Project) -> None:
    write_files(project, "extending")
    metric, town, letter = list_commands("extending")[:3]
    assert type_command(project, metric).status == 0
    tests = project.read("tests.parquet")
    assert "volume_error" in set(tests["metric"])
    shutil.rmtree(project.folder / "artifacts")
    assert type_command(project, town).status == 0
    assert set(project.read("groups.parquet")["group"]) >= {"Coast", "Inland"}
    shutil.rmtree(project.folder / "artifacts")
    assert type_command(project, letter).status == 0
    assert set(project.read("groups.parquet")["group"]) >= {"N", "S", "W"}


@pytest.mark.slow
def test_the_ruler_of_the_page_judges(project: Project) -> None:
    write_files(project, "extending")
    exams = [f"exam{n:03}" for n in range(4)]
    made = project.folder / "artifacts/phantom"
    labels = [str(project.folder / f"expert/{exam}.nii.gz") for exam in exams]
    columns = {"exam_id": exams, "patient_id": exams, "image": "none", "label": labels}
    cohort = complete_columns(pd.DataFrame(columns | {"provenance": "gold"}))
    cohort = cohort.assign(spacing="1 x 1 x 2", shape="28 x 32 x 10")
    write_table(cohort, made / "cohort/cohort.parquet")
    splits = pd.DataFrame({"exam_id": exams * 2, "regime": ["mix"] * 4 + ["gold"] * 4})
    splits = splits.assign(patient_id=splits["exam_id"], provenance="gold", stratum="all")
    splits = splits.assign(split="test", fold=pd.array([None] * 8, dtype="Int64"), reason=None)
    write_table(splits, made / "split/splits.parquet")
    shutil.copytree(project.folder / "predictions", made / "predictions/mix/labels")
    asked = ("audit.metrics=[dice]", "attributes=none", "audit.extra_metrics=[]")
    dice = {}
    for ruler in ("gold", "small"):
        done = project.run("score", f"ruler={ruler}", "regime=mix", *FEW, *asked)
        assert done.status == 0, done.said
        scores = pd.read_parquet(made / f"scores/mix/{ruler}/scores.parquet")
        dice[ruler] = scores.query("metric == 'dice' and structure == 'macro'")["value"].mean()
    assert dice["small"] < dice["gold"] - 0.05


@pytest.mark.slow
def test_the_first_steps_with_cspineseg_work_on_invented_files(project: Project) -> None:
    make, check = list_commands("cspineseg")[:2]
    assert run_example(make.words[1:]).status == 0
    assert type_command(project, check).status == 0
    for told in list_commands("cspineseg"):
        stage = told.words[1] if told.words[0] == "tworulers" else ""
        if stage in ("cohort", "split"):
            few = ["split.folds=2"] if stage == "split" else []
            outcome = project.run(stage, *told.words[2:], "dataset.root=fake", "tracking=off", *few)
            assert outcome.status == 0, outcome.said
    splits = project.read("splits.parquet")
    kept = splits[splits["split"] != "dropped"]
    assert kept.groupby("patient_id")["split"].nunique().max() == 1
    assert set(splits["regime"]) == {"gold", "mix"}


@pytest.mark.slow
def test_the_page_of_python_says_what_python_says(project: Project) -> None:
    text = "\n".join(read_blocks("python", "pycon"))
    test = doctest.DocTestParser().get_doctest(text, {}, "python.md", None, 0)
    assert len(test.examples) > 20
    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tr.AuditWarning)
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        result = runner.run(test, out=said.append)
    assert result.failed == 0, "".join(said)


def test_the_study_says_what_the_pages_say_of_it(study: Path) -> None:
    exams = pd.read_csv(study / "exams.csv")
    assert (len(exams), exams["patient_id"].nunique()) == (60, 48)
    gold, silver = (pd.read_csv(study / f"{name}.csv") for name in ("gold", "silver"))
    macro = gold[["dice_anterior", "dice_posterior"]].mean(axis=1)
    by_age = macro.groupby(pd.cut(gold["age"], [0, 40, 60, 100], right=False)).median()
    assert by_age.is_monotonic_decreasing
    assert silver[["dice_anterior", "dice_posterior"]].to_numpy().mean() > 0.98
    shown = "\n".join(read_blocks("start", "bash"))
    assert "examples/small_study.py ../study" in shown
