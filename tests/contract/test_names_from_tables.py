"""Names that stand in a table are text wherever they are shown, and what a table lacks is said."""

import json
from pathlib import Path

import pandas as pd

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


def test_names_of_risk_groups_are_text_and_a_turned_score_is_said(tmp_path: Path) -> None:
    project = Project.at(tmp_path / "project")
    write_risks(tmp_path / "risk.csv")
    done = project.run(
        "risk", "risk=table", f"risk.file={tmp_path / 'risk.csv'}", "risk.score=score", "risk.outcome=died",
        "risk.event=TRUE", "risk.unit=unit", "+risk.groups.name=name", "use.bootstrap_draws=0", "tracking=off",
    )  # fmt: skip
    assert done.status == 0, done.said
    assert "[/bold] x" in done.said
    assert "lies below one half" in done.said
    assert "the AUC within [/bold] x is" in done.said
    (page,) = project.folder.rglob("risk.md")
    text = page.read_text()
    assert "<img" not in text
    assert "&lt;img" in text
    assert "two lines&#124;a bar" in text
    assert all(line.endswith("|") for line in text.splitlines() if line.startswith("|"))
    assert "(no interval: one_event in A/B)" in text
    assert list(project.folder.rglob("*_matrix.svg"))
    (record,) = project.folder.rglob("run.json")
    metrics = json.loads(record.read_text())["metrics"]
    assert "auc/name/A%2FB/A-B" in metrics
    assert "auc/name/A-B/A%2FB" in metrics
    groups = {name.split("/")[2] for name in metrics if name.startswith("auc/name/")}
    assert len(groups) == len(NAMES)
