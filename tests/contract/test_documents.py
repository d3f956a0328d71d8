"""Every command of the README and the documents exists and composes; what pages list is what the code has."""

import importlib.util
import re
import shutil
import tomllib

import pandas as pd
import pytest
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore

from documents import PAGES, ROOT, Told, list_commands, read_table
from tworulers.cli.arguments import read_arguments
from tworulers.cli.commands import BY_NAME, STAGES
from tworulers.diagnosis.known import FALSE, Basis
from tworulers.diagnosis.mechanism import Mechanism
from tworulers.diagnosis.verdicts import Verdict
from tworulers.report.words.answers import ANSWERS
from tworulers.report.words.verdicts import TITLES
from tworulers.runner.arguments import complete_arguments
from tworulers.runner.checks.overrides import check_overrides, check_sweep
from tworulers.runner.settings import load_settings
from tworulers.runner.sweeps.asked import place_beside
from tworulers.runner.verify.gist import load_gist
from tworulers.schema.settings import Settings
from tworulers.schema.sources import UNSET

COMMANDS = [told for page in PAGES for told in list_commands(page)]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
MOST_WORDS = 600
GRID = {
    "regimes": ["gold", "mix", "silver"],
    "rulers": ["dataset", "gold", "silver"],
    "configurations": ["2d", "3d_fullres"],
    "dataset": "phantom",
    "folds": [0, 1, 2, 3, 4],
}
ELSEWHERE = ("cd", "eval", "export", "source")
"""What a shell knows by itself; every other word that a line begins with is a program that is installed here."""


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 50


def name_command(told: Told) -> str:
    return f"{told.page}: {told.line.split('#')[0].strip()[:80]}"


@pytest.mark.parametrize("told", COMMANDS, ids=name_command)
def test_a_command_exists_and_composes(told: Told) -> None:
    words = [word for word in told.words if not re.match(r"[A-Z_]+=", word)]
    if words[0] == "tworulers":
        command = BY_NAME[words[1]]
        if command.name in STAGES:
            require_composes(command.name, list(read_arguments(command, words[2:]).overrides))
    elif words[:2] == ["python", "-m"] and words[2].startswith("tworulers.stages."):
        assert importlib.util.find_spec(words[2]) is not None
        require_composes(words[2].rpartition(".")[2], words[3:])
    elif words[:2] == ["python", "-m"]:
        assert importlib.util.find_spec(words[2]) is not None
    elif words[0] == "python":
        assert (ROOT / words[1]).is_file()
    elif words[:2] == ["pip", "install"]:
        asked = re.findall(r"\[(.*?)\]", words[2])
        assert set("".join(asked).split(",")) - {""} <= set(EXTRAS)
    elif "/" in words[0]:
        assert (ROOT / words[0]).stat().st_mode & 0o100
    else:
        assert words[0] in ELSEWHERE or shutil.which(words[0]), words[0]


def require_composes(stage: str, arguments: list[str]) -> None:
    """Compose the settings of a stage as the command does, the first of a sweep."""
    arguments = place_beside(complete_arguments(arguments), GRID)
    check_overrides(arguments)
    check_sweep(arguments, GRID)
    first = [
        one.split(",")[0] if "-m" in arguments else one
        for one in arguments
        if one != "-m" and not one.startswith(("paths=", "hydra/", "hydra.", "attributes=towns"))
    ]
    ConfigStore.instance().store(name="schema", node=Settings)
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        assert isinstance(load_settings(compose("config", first)), Settings), stage


def test_ci_runs_both_opening_commands_and_builds_the_site() -> None:
    ci = (ROOT / ".ci" / "run").read_text()
    for script in ("reproduce", "test", "docs"):
        assert f"./scripts/{script}" in ci


def test_the_readme_is_short_and_has_a_picture() -> None:
    text = PAGES["README"].read_text()
    assert len(text.split()) <= MOST_WORDS
    (picture,) = re.findall(r"!\[.+?\]\((.+?)\)", text)
    assert (ROOT / picture).is_file()


@pytest.mark.parametrize("page", PAGES)
def test_every_file_and_script_named_exists(page: str) -> None:
    text = PAGES[page].read_text()
    beside = PAGES[page].parent
    for name in re.findall(
        r"(?<!here )`(?:\./)?((?:docs|src|scripts|tests|examples|benchmarks)/[\w./]*)`", text
    ):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (beside / name).exists(), name


def test_the_page_of_verdicts_has_every_name() -> None:
    rows = read_table("verdicts", "Verdicts about a ruler")
    told = {name.strip(" `"): title.strip() for name, title, _ in rows}
    assert set(told) == {*Verdict, *Mechanism} - {Mechanism.NONE}
    assert told == {name: title for name, title in TITLES.items() if name in told}


def test_the_page_of_verdicts_has_every_answer() -> None:
    rows = read_table("verdicts", "Answers about patients")
    assert [row[0].strip(" *") for row in rows] == list(ANSWERS.values())


def test_the_page_of_verdicts_says_what_false_rests_on() -> None:
    rows = read_table("verdicts", "When a ruler may be called *false*")
    told = {row[0].strip(" `"): row[2].strip() for row in rows}
    assert set(told) == set(Basis)
    assert {name for name, said in told.items() if said == "yes"} == set(FALSE)


def write_share(value: float) -> str:
    return f"{value:.4f}".removeprefix("0")


@pytest.mark.parametrize("page", ["README", "concepts"])
def test_numbers_of_the_example_are_those_recorded(page: str) -> None:
    gist, text = load_gist(ROOT / "docs/example.json"), PAGES[page].read_text()
    for ruler in ("gold", "silver", "truth"):
        mean = gist[f"audits/mix/{ruler}/overall.parquet"]["mean"]["dice/macro"]
        assert write_share(float(mean)) in text, ruler
        tests = gist[f"audits/mix/{ruler}/tests.parquet"]
        assert len(tests) == 63
        found = int((tests["significant"].astype(str) == "True").sum())
        word = {0: "none", 5: "five"}.get(found, str(found))
        assert re.search(rf"\b({found}|{word})\b", text), (ruler, found)


def test_the_table_of_the_worked_example_is_the_recorded_one() -> None:
    gist, rows = (
        load_gist(ROOT / "docs/example.json"),
        read_table("concepts", "One example, worked"),
    )
    means = {
        ruler: gist[f"audits/mix/{ruler}/groups.parquet"]["mean"]
        for ruler in ("gold", "silver", "truth")
    }
    groups = {"below 40": "<40", "40 to 60": "40-60", "60 and over": "60+"}
    for told, group in groups.items():
        (row,) = [row for row in rows if told in row[0]]
        recorded = [float(means[ruler][f"dice/macro/age_3bin/{group}"]) for ruler in means]
        assert row[1:] == [write_share(mean) for mean in recorded]


def test_every_setting_has_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs/_extensions")
    import settings_reference

    page = settings_reference.write_page()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    silent = [row[0] for row in rows if len(row) < 2 or not row[-1].strip(" |")]
    assert silent == []
    assert len(rows) > 200
    assert UNSET not in page


def test_calibrated_numbers_on_the_page_of_validation_are_measured() -> None:
    rows = pd.DataFrame(read_table("validation", "Calibration"))
    measured = (ROOT / "docs/calibration.md").read_text()
    for value in rows[1]:
        share, error = re.findall(r"\.\d+", value)
        assert re.search(rf"\| 0{re.escape(share)} \| 0{re.escape(error)} \|", measured), value
