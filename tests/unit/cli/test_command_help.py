"""Help fits a screen, says a sentence an option, and is there at once."""

import re
import shlex
import shutil
import subprocess
import sys

import pytest

from tworulers.cli.arguments import read_arguments
from tworulers.cli.commands import COMMANDS, STAGES
from tworulers.cli.completion import complete, write_completion
from tworulers.cli.help import COMMON, describe_option, write_help, write_overview
from tworulers.cli.main import main
from tworulers.schema.sentences import describe_key


@pytest.fixture(autouse=True)
def _narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_the_overview_fits_a_screen_and_names_every_command() -> None:
    lines = write_overview().splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 84
    for command in COMMANDS:
        assert any(line.startswith(f"  {command.name} ") for line in lines)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_help_of_a_command_fits_a_screen(command, capsys: pytest.CaptureFixture[str]) -> None:
    text = write_help(command)
    assert len(text.splitlines()) <= 60
    assert max(map(len, text.splitlines())) <= 80
    assert all(describe_option(option) for option in command.options)
    assert len(command.examples) >= 1 + (command.name in STAGES)
    if command.name != "verify":
        assert main([command.name, "--help"]) == 0
        assert capsys.readouterr().out == text + "\n"


@pytest.mark.parametrize(
    ("command", "example"),
    [(one, example) for one in COMMANDS for example in one.examples if one.name in STAGES],
    ids=lambda value: getattr(value, "name", None),
)
def test_every_example_can_be_typed(command, example: str) -> None:
    name, of, *words = shlex.split(example)
    assert name == "tworulers"
    asked = next(one for one in COMMANDS if one.name == of)
    assert read_arguments(asked, words).overrides or not words


def test_the_help_of_a_key_is_the_sentence_of_the_schema() -> None:
    (option,) = [one for one in COMMANDS[0].options if one.flag == "--table"]
    assert describe_option(option) == describe_key("predictions.cohort").replace("`", "")
    assert (
        describe_key("predictions.references.expert.folder")
        == "Folder of the reference's label maps"
    )
    assert describe_key("ruler.relation").startswith("`relation` says what a machine's labels")
    assert (
        describe_key("regime")
        == "What a model may learn from: the provenances of its training labels"
    )
    with pytest.raises(KeyError, match="predictions has no folders|Predictions has no folders"):
        describe_key("predictions.folders")


@pytest.mark.parametrize(
    ("started", "late"),
    [
        (
            "from tworulers.cli.main import main; main(['--help']); main(['judge', '--help'])",
            "pandas numpy hydra omegaconf torch rich mlflow",
        ),
        (
            "import tworulers.stages.audit",
            "pandera pydantic nibabel matplotlib statsmodels sklearn mlflow torch dvc",
        ),
    ],
    ids=["help", "audit"],
)
def test_a_start_loads_nothing_that_only_later_work_needs(started: str, late: str) -> None:
    code = f"{started}\nimport sys; sys.exit(' '.join(set({late.split()}) & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_no_command_is_named_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jugde"]) == 2
    assert "did you mean tworulers judge?" in capsys.readouterr().err
    assert main([]) == main(["help"]) == 0
    assert main(["help", "audit"]) == main(["--version"]) == 0
    assert re.search(r"^tworulers \d", capsys.readouterr().out, re.M)


def test_show_prints_the_same_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--scores", "gold:my table.csv", "--by", "sex", "--show"]) == 0
    words = shlex.split(capsys.readouterr().out)
    assert words[:3] == ["python", "-m", "tworulers.stages.audit"]
    assert words[3:] == [
        "scores.file='my table.csv'",
        "scores.provenance=gold",
        "attributes.by=[sex]",
    ]


def test_completion_knows_commands_options_and_choices(root) -> None:
    conf = [root / "conf"]
    assert complete(["ju"], conf) == ["judge"]
    assert complete(["judge", "--ref"], conf) == ["--reference"]
    assert complete(["judge", "--table", ""], conf) == [], "a file is the shell's to complete"
    assert complete(["audit", "ruler=si"], conf) == ["ruler=silver", "ruler=silver_model"]
    assert complete(["audit", "ruler", "=", "si"], conf) == ["silver", "silver_model"]
    assert "gold" in complete(["audit", "ruler", "="], conf)
    assert complete(["audit", "--fail-on", "d"], conf) == ["differs"]
    assert {flag.split()[0] for flag, _ in COMMON} <= set(complete(["audit", "--"], conf))
    assert complete(["completion", "b"], conf) == ["bash"]


def test_bash_reads_the_completion() -> None:
    script = write_completion("bash") + (
        "\ntworulers() { printf 'judge\\n'; }\nCOMP_WORDS=(tworulers ju) COMP_CWORD=1\n_tworulers; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "judge"


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_reads_the_completion() -> None:
    script = (
        "autoload -U compinit; compinit -u -D\n"
        + write_completion("zsh")
        + (
            "\ntworulers() { print 'ruler=gold\nruler=' }\ncompadd() { print -l -- $@ }\n"
            "words=(tworulers audit ru); CURRENT=3; _tworulers; print $_comps[tworulers]"
        )
    )
    done = subprocess.run(["zsh", "-fc", script], capture_output=True, text=True, check=True)
    said = done.stdout.split()
    assert said[-1] == "_tworulers"
    assert {"ruler=gold", "ruler="} <= set(said)
