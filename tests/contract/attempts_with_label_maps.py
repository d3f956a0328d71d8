"""The open cases that are folders of label maps, each through `judge`."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from command import Outcome, Project

Case = dict[str, Any]
QUICK = (
    "tracking=off",
    "processes=1",
    "audit.metrics=[dice]",
    "audit.bootstrap_draws=50",
    "audit.permutations=20",
    "audit.power_draws=0",
)


def judge(
    project: Project, name: str, folders: dict[str, str], structures: str, *more: str
) -> Outcome:
    """Judge a folder of predictions by one reference of experts."""
    reference = f"folder: {folders['reference']}, provenance: gold"
    if "label_map" in folders:
        reference += f", label_map: {folders['label_map']}"
    return project.run(
        "judge",
        f"predictions.name={name}",
        *(f"predictions.folder={folders[key]}" for key in ("prediction",) if key in folders),
        f"+predictions.references={{expert: {{{reference}}}}}",
        f"+predictions.structures={structures}",
        *(("attributes=none",) if not any("attributes" in given for given in more) else ()),
        *QUICK,
        *more,
    )


def read_dice(project: Project, name: str) -> dict[str, dict[str, float]]:
    """Return the Dice by exam and structure, of every structure but the macro."""
    folder = project.folder / "artifacts" / "judged" / name / "scores" / name / "expert"
    scores = pd.read_parquet(folder / "scores.parquet")
    scores = scores[(scores["metric"] == "dice") & (scores["structure"] != "macro")]
    found: dict[str, dict[str, float]] = {}
    for row in scores.itertuples():
        found.setdefault(str(row.exam_id), {})[str(row.structure).removeprefix("class")] = row.value
    return found


def check_dice(found: dict[str, dict[str, float]], wanted: dict[str, Any]) -> None:
    assert sorted(found) == sorted(wanted)
    for exam, values in wanted.items():
        assert found[exam] == pytest.approx(values, abs=1e-6)


def no_position(folder: Path, case: Case, project: Project) -> None:
    for name in ("set_a", "set_b"):
        given = {part: str(folder / name / part) for part in ("prediction", "reference")}
        refused = judge(project, name, given, "{class1: 1, class2: 2}")
        assert refused.status == 1
        for word in ("no position", "np_801", "predictions.trust_grid=true"):
            assert word in refused.said
        assert "resample" not in refused.said
        trusted = "predictions.trust_grid=true"
        done = judge(project, name, given, "{class1: 1, class2: 2}", trusted)
        assert done.status == 0, done.said
        assert "no position" in done.said
        assert "np_801" in done.said
        assert "resample" not in done.said
        check_dice(read_dice(project, name), case["expected_values"]["dice_if_voxels_correspond"])


def above_255(folder: Path, case: Case, project: Project) -> None:
    rule = "{left: ['17'], right: ['53'], background: ['*']}"
    given = {part: str(folder / part) for part in ("prediction", "reference")}
    given["label_map"] = rule
    map_of = f"+predictions.label_map={rule}"
    done = judge(project, "brain", given, "{left: 17, right: 53}", map_of)
    assert done.status == 0, done.said
    check_dice(read_dice(project, "brain"), case["expected_values"]["dice"])


def slash_in_groups(folder: Path, case: Case, project: Project) -> None:
    wanted = case["expected_values"]["groups"]
    levels = "\n".join(f'      "{group}": ["{group}"]' for group in wanted)
    (project.folder / "conf" / "attributes" / "slashes.yaml").write_text(
        f"name: slashes\ngroupings:\n  race:\n    kind: levels\n    column: race\n    levels:\n{levels}\n"
    )
    given = {part: str(folder / part) for part in ("prediction", "reference")}
    table = f"predictions.cohort={folder / 'exams.csv'}"
    done = judge(
        project, "groups", given, "{class1: 1, class2: 2}", table, "attributes=slashes", "audit.min_group=2"
    )  # fmt: skip
    assert done.status == 0, done.said
    groups = project.read("groups.parquet")
    macro = groups[(groups["metric"] == "dice") & (groups["structure"] == "macro")]
    assert macro.set_index("group")["n"].to_dict() == wanted
    rates = project.read("rates.parquet")
    assert set(rates["group"]) == set(wanted)
    (page,) = project.folder.rglob("index.html")
    text = page.read_text(encoding="utf-8")
    for group in wanted:
        assert group in text


def home_sign(folder: Path, case: Case, project: Project) -> None:
    home = project.folder / "home"
    shutil.copytree(folder / "prediction", home / "hm_prediction")
    shutil.copytree(folder / "reference", home / "hm_reference")
    (project.folder / "conf" / "experiment" / "home.yaml").write_text(
        "# @package _global_\npredictions:\n  folder: ~/hm_prediction\n"
    )
    wanted = case["expected_values"]["dice"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        for name, prediction, more in (
            ("typed", "~/hm_prediction", ()),
            ("quoted", "'~/hm_prediction'", ()),
            ("written", None, ("experiment=home",)),
        ):
            given = {"reference": "~/hm_reference"}
            given |= {"prediction": prediction} if prediction else {}
            done = judge(project, name, given, "{class1: 1, class2: 2}", *more)
            assert done.status == 0, done.said
            check_dice(read_dice(project, name), wanted)
    assert not list(project.folder.rglob("~*"))


ATTEMPTS: dict[str, Callable[[Path, Case, Project], None]] = {
    "80-no-position-in-header": no_position,
    "82-labels-above-255": above_255,
    "92-slash-in-group-names": slash_in_groups,
    "104-home-sign-in-path": home_sign,
}
