"""The open cases that are ready tables, each through `audit`, `compare` or `risk`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from command import Outcome, Project

Case = dict[str, Any]
QUICK = (
    "tracking=off",
    "audit.metrics=[dice]",
    "audit.bootstrap_draws=50",
    "audit.permutations=20",
    "audit.power_draws=0",
    "audit.linear=false",
)
BY_LETTER = "+attributes.groupings={sex: {kind: levels, column: sex, levels: {F: [F], M: [M]}}}"
"""A grouping under the names that the expected values use."""


def audit(project: Project, file: Path, *more: str) -> Outcome:
    """Audit a table of scores by labels of experts."""
    return project.run("audit", f"scores.file={file}", "scores.provenance=gold", *QUICK, *more)


def read_groups(project: Project, outputs: str) -> dict[str, tuple[int, float]]:
    """Return n and mean of the Dice of each group."""
    (path,) = (project.folder / outputs).rglob("groups.parquet")
    groups = pd.read_parquet(path)
    groups = groups[groups["metric"] == "dice"]
    return {str(row.group): (int(row.n), float(row.mean)) for row in groups.itertuples(name="Row")}


def sex_as_numbers(folder: Path, case: Case, project: Project) -> None:
    wanted = case["expected_values"]
    file = folder / "scores.csv"
    done = audit(project, file, "attributes=sex", "paths.outputs=stock")
    assert done.status == 1
    for value, count in wanted["values_found"].items():
        assert f"{value!r}: {count}" in done.said
    for spelling in ("Female", "F", "Male", "M"):
        assert spelling in done.said
    assert "levels" in done.said
    assert "succeed" not in done.said
    assert not (project.folder / "stock").exists()
    declared = "{kind: levels, column: sex, levels: {male: ['1'], female: ['2']}}"
    done = audit(
        project, file, "attributes=none", f"+attributes.groupings={{sex: {declared}}}", "paths.outputs=declared"
    )  # fmt: skip
    assert done.status == 0, done.said
    assert "'0': 2" in done.said
    found = read_groups(project, "declared")
    for group, mean in wanted["mean_dice"].items():
        assert found[group] == (wanted["n"][group], pytest.approx(mean, abs=1e-6))
    (left_out,) = (project.folder / "declared").rglob("left_out.parquet")
    assert pd.read_parquet(left_out)["exams"].sum() == wanted["n"]["in no group"]


def name_taken_twice(folder: Path, case: Case, project: Project) -> None:
    wanted = case["expected_values"]
    file = folder / "scores.csv"
    only_m = "+attributes.groupings={sex: {kind: levels, column: sex, levels: {M: [M]}}}"
    mapped = "+scores.columns={exam_id: accession}"
    done = audit(project, file, "attributes=none", only_m, mapped, "paths.outputs=exams")
    assert done.status == 0, done.said
    assert "exam_id" in done.said
    assert "accession" in done.said
    (left_out,) = (project.folder / "exams").rglob("left_out.parquet")
    exams = pd.read_parquet(left_out)["exam_ids"].item().split(", ")
    assert exams[0] == wanted["first_exam_by_accession"]
    done = audit(
        project, file, "attributes=none", BY_LETTER, "+scores.columns={sex: sex_at_birth}", "paths.outputs=sexes"
    )  # fmt: skip
    assert done.status == 0, done.said
    assert "sex_at_birth" in done.said
    found = read_groups(project, "sexes")
    for group, mean in wanted["mean_dice_by_sex_at_birth"].items():
        n = wanted["groups_by_sex_at_birth"][group]
        assert found[group] == (n, pytest.approx(mean, abs=1e-6))
    table = pd.read_csv(folder / "two_sexes.csv", dtype=str)
    outcomes = []
    for name, columns in (("first", list(table)), ("second", list(table)[::-1])):
        turned = project.folder / f"{name}.csv"
        table[columns].to_csv(turned, index=False)
        done = audit(project, turned, "attributes=none", BY_LETTER, f"paths.outputs={name}")
        assert "sex" in done.said
        assert "Sex" in done.said
        outcomes.append((done.status, done.said.replace(turned.stem, "")))
    assert outcomes[0][0] == outcomes[1][0]
    if outcomes[0][0] == 0:
        assert read_groups(project, "first") == read_groups(project, "second")


def other_exams(folder: Path, case: Case, project: Project) -> None:
    wanted = case["expected_values"]
    for place, (gold, silver) in enumerate((("24", "36"), ("36", "24"))):
        files = folder / f"gold_{gold}.csv", folder / f"silver_{silver}.csv"
        outputs = f"paths.outputs=pair{place}"
        done = project.run(
            "compare", f"scores.file={files[0]}", "scores.provenance=gold", f"against.file={files[1]}",
            "against.provenance=silver", "attributes=none", BY_LETTER, outputs, *QUICK
        )  # fmt: skip
        if done.status:
            for file, count in zip(files, (gold, silver), strict=True):
                assert file.name in done.said
                assert count in done.said
            assert "common" in done.said
            continue
        assert "24" in done.said
        assert "12" in done.said
        (path,) = (project.folder / f"pair{place}").rglob("inflation.parquet")
        inflation = pd.read_parquet(path)
        assert set(inflation["n"]) == {wanted["common"]}
        means = wanted["mean_dice_over_common"]
        for side, name in (("base", "gold"), ("other", "silver")):
            mean = sum(means[name].values()) / 2
            assert inflation[f"mean_{side}"].iloc[0] == pytest.approx(mean, abs=1e-6)


RISK = ("risk=table", "risk.unit=pid", "tracking=off", "use.bootstrap_draws=50")


def read_risk(project: Project, name: str) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return the summary and the cells of a risk audit."""
    (path,) = (project.folder / name).rglob("summary.json")
    return json.loads(path.read_text()), pd.read_parquet(path.parent / "cells.parquet")


def check_risk(project: Project, name: str, wanted: Case) -> None:
    summary, cells = read_risk(project, name)
    (overall,) = (part["overall_of_grouped_rows"] for part in summary["groupings"].values())
    assert overall == pytest.approx(wanted["overall"], abs=1e-5)
    within = cells[cells["events_of"] == cells["non_events_of"]].set_index("events_of")["auc"]
    assert within.to_dict() == pytest.approx(wanted["within"], abs=1e-5)


def spreadsheet(folder: Path, case: Case, project: Project) -> None:
    done = project.run(
        "risk", *RISK, f"risk.file={folder / 'risiko.csv'}", "risk.score=risiko", "risk.outcome=verstorben",
        "risk.event=ja", "+risk.groups.sex=geschlecht", "paths.outputs=out",
    )  # fmt: skip
    if done.status:
        assert "risiko.csv" in done.said
        assert any(word in done.said for word in ("decimal", "encoding", "delimiter"))
        return
    check_risk(project, "out", case["expected_values"])


def logical_outcome(folder: Path, case: Case, project: Project) -> None:
    for file, event in case["inputs"]["event"].items():
        done = project.run(
            "risk", *RISK, f"risk.file={folder / file}", "risk.score=risk", "risk.outcome=died",
            f"risk.event={event}", "+risk.groups.sex=sex", f"paths.outputs={file}.d",
        )  # fmt: skip
        assert done.status == 0, done.said
        check_risk(project, f"{file}.d", case["expected_values"])
        assert f"{case['expected_values']['events']} events" in done.said


def group_spellings(folder: Path, case: Case, project: Project) -> None:
    done = project.run(
        "risk", *RISK, f"risk.file={folder / 'risk.csv'}", "risk.score=risk", "risk.outcome=died",
        "risk.event='1'", "+risk.groups.sex=sex", "paths.outputs=out",
    )  # fmt: skip
    assert done.status == 0, done.said
    check_risk(project, "out", case["expected_values"])
    for spelling in ("FEMALE", "female"):
        assert spelling in done.said


ATTEMPTS: dict[str, Callable[[Path, Case, Project], None]] = {
    "85-risk-table-from-spreadsheet": spreadsheet,
    "86-logical-outcome": logical_outcome,
    "87-risk-group-spellings": group_spellings,
    "89-sex-as-numbers": sex_as_numbers,
    "109-rulers-over-different-exams": other_exams,
    "110-name-taken-twice": name_taken_twice,
}
