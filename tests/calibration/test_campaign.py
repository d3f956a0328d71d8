"""The campaign measures what is stale, keeps the rest, and its digests follow the code and nothing else."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from calibration.campaign import main
from calibration.rows import Row
from calibration.topics import list_topics

from calibration import digest

ROOT = Path(__file__).parents[2]


def test_a_bound_is_widened_by_two_standard_errors() -> None:
    error = math.sqrt(0.05 * 0.95 / 400)
    assert Row("s", "w", 0.05 + 1.9 * error, 400, at_most=0.05).holds
    assert not Row("s", "w", 0.05 + 2.1 * error, 400, at_most=0.05).holds
    assert not Row("s", "w", 0.69 - 2.1 * math.sqrt(0.7 * 0.3 / 400), 400, at_least=0.7).holds
    assert Row("s", "w", 1.55, 400, at_most=1.5, error=0.03).holds
    assert not Row("s", "w", 1.57, 400, at_most=1.5, error=0.03).holds
    assert not Row("s", "w", float("nan"), 400).holds
    assert not Row("s", "w", 1 / 400, 400, at_most=0.0).holds


@pytest.mark.slow
def test_a_run_keeps_what_is_current_and_its_page_shows_every_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record, page = tmp_path / "calibration.json", tmp_path / "calibration.md"
    where = ["--record", str(record), "--page", str(page), "--processes", "1", "--studies", "2"]
    assert main(["--topics", "family", *where]) == 0
    first = json.loads(record.read_text())
    capsys.readouterr()
    first["family"]["rows"][0]["scenario"] = "kept as it was"
    record.write_text(json.dumps(first))
    others = [name for name in list_topics() if name != "family"]
    done = {
        name: first["family"] | {"digest": digest.digest_topic(list_topics()[name])}
        for name in others
    }
    record.write_text(json.dumps(first | done))
    main(where)
    assert "family" not in capsys.readouterr().err
    text = page.read_text()
    assert "kept as it was" in text
    assert first["family"]["digest"] in text
    first["family"]["digest"] = "of other code"
    record.write_text(json.dumps(first | done))
    main(where)
    assert "kept as it was" not in page.read_text().split("## Families")[1].split("\n## ")[0]


def test_a_digest_follows_code_and_not_comments_or_docstrings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = list_topics()["family"]
    source = ROOT / "src" / "tworulers" / "stats" / "families.py"
    before = digest.digest_topic(topic)
    code = source.read_text()
    edited = tmp_path / "families.py"

    def read_edited(path: Path) -> str:
        return digest_code(edited if path == source else path)

    digest_code = digest.read_code
    monkeypatch.setattr(digest, "read_code", read_edited)
    edited.write_text("# a comment\n" + code.replace('"""Adjust', '"""Correct'))
    assert digest.digest_topic(topic) == before
    digest_code.cache_clear()
    edited.write_text(code.replace("np.minimum.accumulate", "np.maximum.accumulate"))
    assert digest.digest_topic(topic) != before


def test_the_command_says_which_campaigns_and_topics_there_are() -> None:
    script = ROOT / "scripts" / "campaign"
    asked = subprocess.run([script, "unheard_of"], capture_output=True, text=True, check=False)
    assert asked.returncode == 2
    assert "calibration" in asked.stderr
    command = [sys.executable, "-m", "calibration.campaign", "--topics", "none"]
    places = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'scripts'}"}
    told = subprocess.run(command, env=places, capture_output=True, text=True, check=False)
    assert told.returncode == 2
    assert "no topic none; there are" in told.stderr
