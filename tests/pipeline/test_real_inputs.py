"""Real score tables and masks through the commands: published scores, and one subject with many masks."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tworulers.io.paths import Layout
from tworulers.schema.settings import Audit, Paths, Settings
from tworulers.schema.sources import Attributes, Predictions, Reference, ScoreTable
from tworulers.stages.compare import compare
from tworulers.stages.judge import judge

pytestmark = pytest.mark.needs_shared

THRESHOLDS = {"dice": 0.8, "ndsc": 0.8, "hd95": 5.0}
FEW = Audit("few", thresholds=THRESHOLDS, bootstrap_draws=200, permutations=200, power_draws=0)


def test_published_scores_are_told_to_lean_on_the_model(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = shared / "data/cspineseg_scores"
    settings = Settings(
        attributes=Attributes("none", resampling_unit="exam"),
        audit=FEW,
        scores=ScoreTable(str(data / "eval_ruler_gold.csv"), provenance="gold"),
        against=ScoreTable(str(data / "eval_ruler_silver.csv"), provenance="silver"),
        paths=Paths("repro"),
    )
    place, _ = compare(settings, Layout.of(settings, tmp_path))
    assert json.loads((place / "summary.json").read_text())["status"] == "too_close"
    scores = pd.read_parquet(place / "inflation.parquet").set_index(["metric", "structure"])
    dice = scores.loc[("dice", "macro")]
    means = [dice[f"{name}_{side}"] for name in ("mean", "sd") for side in ("base", "other")]
    assert means == pytest.approx([0.8969, 0.9734, 0.0579, 0.0139], abs=5e-5)
    assert "ruler against expert unknown" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("model", "dice", "surface", "voxel", "same"),
    [("3d", 0.980841, 0.0, 1.0, 0), ("2d", 1.0, 0.0, 0.0, 1)],
)
def test_one_subject_with_many_masks_in_a_folder(
    shared: Path, tmp_path: Path, model: str, dice: float, surface: float, voxel: float, same: int
) -> None:
    folder = str(shared / "data/sct_one_subject/t2")
    manual = Reference(folder, "gold", pattern="{exam}_seg-manual")
    settings = Settings(
        attributes=Attributes("none", resampling_unit="exam"),
        audit=Audit("cord", metrics=["dice", "hd95"], extra_metrics=["hd95_voxel"]),
        predictions=Predictions(
            f"sct_{model}",
            folder=folder,
            pattern=f"{{exam}}_seg-deepseg_sc-{model}",
            references={"manual": manual},
            structures={"cord": 1},
        ),
        paths=Paths("repro"),
        processes=1,
    )
    place, _ = judge(settings, Layout.of(settings, tmp_path))
    scores = pd.read_parquet(place / f"scores/sct_{model}/manual/scores.parquet")
    value = scores[scores["structure"] == "cord"].set_index("metric")["value"]
    assert value[["dice", "hd95", "hd95_voxel"]].tolist() == pytest.approx(
        [dice, surface, voxel], abs=1e-6
    )
    summary = json.loads((place / "summary.json").read_text())["references"]["manual"]
    assert (summary["identical_files"], bool(summary["no_verdict"])) == (same, bool(same))
