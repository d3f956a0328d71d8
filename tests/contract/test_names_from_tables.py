"""Names that stand in a table are text wherever they are shown, and what a table lacks is said."""

import json
from pathlib import Path

import pandas as pd
import pytest

from command import Project

NAMES = ("[/bold] x", "$\\frac{$", "<img src=x onerror=alert(1)>", "two\nlines|a bar", "A/B", "A-B")


def write_risks(path: Path) -> None:
    """Write a table of six groups whose scores rank the wrong way round, one of them with one event."""
    rows = []
    for place in range(120):
        group = NAMES[place % 6]
        died = (place % 4 == 0 and (group != "A/B")) or place == 4
        rows.append(
            (
                f"u{place}",
                group,
                "TRUE" if died else "FALSE",
                f"{(place * 37 % 83) / 100 - 0.3 * died:.2f}",
            )
        )
    frame = pd.DataFrame(rows, columns=["unit", "name", "died", "score"])
    frame.to_csv(path, index=False)


@pytest.mark.slow
def test_names_of_risk_groups_are_text_and_a_turned_score_is_said(tmp_path: Path) -> None:
    project = Project.at(tmp_path / "project")
    write_risks(tmp_path / "risk.csv")
    done = project.run(
        "risk", "risk=table", f"risk.file={tmp_path / 'risk.csv'}", "risk.score=score", "risk.outcome=died",
        "risk.event=TRUE", "risk.unit=unit", "+risk.groups.name=name", "use.bootstrap_draws=0", "tracking=off",
        "+risk.groupings={first: {kind: levels, column: unit, levels: {a: [u0, u5, u6], b: [u4, u1, u2]}}}",
    )  # fmt: skip
    assert done.status == 0, done.said
    assert "[/bold] x" in done.said
    assert "lies below one half" in done.said
    assert "Below one half, too, is the AUC within" in done.said
    assert "grouping 'unit'" in done.said
    assert "21 events (died = TRUE)" in done.said
    (page,) = project.folder.rglob("risk.md")
    text = page.read_text()
    assert "<img" not in text
    assert "&lt;img" in text
    assert "two lines&#124;a bar" in text
    assert all(line.endswith("|") for line in text.splitlines() if line.startswith("|"))
    assert "undefined (no events in A-B)" in text
    assert "0.5000 &#91;0.112, 0.888] (1 × 20)" in text  # one event has an interval, too
    assert list(project.folder.rglob("*_matrix.svg"))
    (record,) = project.folder.rglob("run.json")
    metrics = json.loads(record.read_text())["metrics"]
    assert "auc/name/A%2FB/A-B" in metrics
    assert "auc/name/A-B/A%2FB" in metrics
    groups = {name.split("/")[2] for name in metrics if name.startswith("auc/name/")}
    assert len(groups) == len(NAMES)


RACES = ("Black / African American", "Hispanic / Latino", "$\\frac{$ [/bold]")
QUICK = (
    "tracking=off", "audit.metrics=[dice]", "audit.bootstrap_draws=20", "audit.permutations=20",
    "audit.power_draws=0",
)  # fmt: skip


def write_scores(path: Path, exams: int, step: float) -> None:
    rows = ["exam_id;patient_id;race;bmi;structure;metric;value"]
    for place in range(exams):
        for structure in ("vb", "disc"):
            if (place, structure) == (3, "disc"):
                continue
            value = f"{0.7 + (place * 7 % 23) / 100 + step:.3f}".replace(".", ",")
            rows.append(
                f"e{place};p{place};{RACES[place % 3]};{20 + place % 9},5;{structure};dice;{value}"
            )
    path.write_text("\n".join(rows) + "\n", encoding="cp1252")


@pytest.mark.slow
def test_slashes_gaps_and_decimal_commas_of_score_tables(tmp_path: Path) -> None:
    project = Project.at(tmp_path / "project")
    for name, exams, step in (("gold", 24, 0.0), ("silver", 30, 0.02)):
        write_scores(tmp_path / f"{name}.csv", exams, step)
    levels = "\n".join(f"      {json.dumps(race)}: [{json.dumps(race)}]" for race in RACES)
    (project.folder / "conf" / "attributes" / "races.yaml").write_text(
        f"name: races\ngroupings:\n  race:\n    kind: levels\n    column: race\n    levels:\n{levels}\n"
    )
    given = (
        f"scores.file={tmp_path / 'gold.csv'}", "scores.provenance=gold", "scores.layout=long",
        "attributes=races", *QUICK,
    )  # fmt: skip
    done = project.run("audit", *given, "audit.linear_terms=[race,bmi]", "paths.outputs=one")
    assert done.status == 0, done.said
    assert "dice of disc lacks in 1 of 24 exams" in done.said
    assert "numbers are read with a decimal comma" in done.said
    for race in RACES:
        # A cell of the table may go over several lines.
        assert all(word in done.said for word in race.split())
    (rates,) = (project.folder / "one").rglob("rates.parquet")
    assert set(pd.read_parquet(rates)["group"]) == set(RACES)
    (linear,) = (project.folder / "one").rglob("linear.parquet")
    assert pd.read_parquet(linear)["term"].str.contains("bmi").any()
    done = project.run(
        "compare", *given, f"against.file={tmp_path / 'silver.csv'}", "against.provenance=silver",
        "against.layout=long", "paths.outputs=two",
    )  # fmt: skip
    assert done.status == 0, done.said
    assert "Compared over the 24 exams that both judged; 6 more of silver left out" in done.said


def test_tables_that_are_not_whole_end_in_one_message(tmp_path: Path) -> None:
    project = Project.at(tmp_path / "project")
    for text, words in (
        (
            "exam_id,sex,dice\na,F,0.9\nb,M\nc,F,0.8,0.7\n",
            ["fewer in 1 row, line 3", "more in 1 row, line 4"],
        ),
        ("exam_id,sex,dice,sex\na,F,0.9,M\n", ["'sex' twice, as columns 2 and 4"]),
        ("exam_id,sex,dice\na,F,0.9\nb,M,0.", ["line break"]),
        ("exam_id,dice_vb,vb_dice\na,0.9,0.1\n", ["'dice_vb' and 'vb_dice'"]),
    ):
        (tmp_path / "scores.csv").write_text(text)
        done = project.run(
            "audit", f"scores.file={tmp_path / 'scores.csv'}", "scores.provenance=gold", "attributes=none", *QUICK
        )  # fmt: skip
        for word in words:
            assert word in done.said
        assert "Traceback" not in done.said
        assert done.status == (0 if words == ["line break"] else 1)
