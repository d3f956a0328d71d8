"""Two rulers, two models and label maps through the Python door."""

import json
import warnings
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tworulers as tr

DRAWN_BY = {"expert": "gold", "machine": "silver"}


@pytest.fixture(scope="module")
def exams(root: Path) -> pd.DataFrame:
    """The simulated audit of 76 exams by two rulers."""
    return pd.read_csv(root / "tests/golden/e2_scores.csv", dtype={"exam_id": str}).set_index(
        "exam_id"
    )


def side(exams: pd.DataFrame, ruler: str) -> pd.DataFrame:
    names = {f"{ruler}_dice_{s}": f"dice_{s}" for s in ("vb", "disc")}
    return exams[list(names)].rename(columns=names)


@pytest.fixture(scope="module")
def rulers(exams: pd.DataFrame) -> Any:
    scores = {"expert": side(exams, "gold"), "machine": side(exams, "silver")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tr.AuditWarning)
        return tr.compare(
            scores,
            exams[["age"]],
            provenance=DRAWN_BY,
            bins=[40, 60],
            success=0.8,
            corrected_from={"expert": "machine"},
        )


def test_two_rulers_are_compared_score_by_score(exams: pd.DataFrame, rulers: Any) -> None:
    assert set(rulers.by_group["ruler"]) == set(DRAWN_BY)
    assert len(rulers.verdicts) == 3
    assert rulers.verdicts["sentence"].str.len().gt(20).all()
    silver = rulers.tests.query("ruler == 'machine' and structure == 'vb'").iloc[0]
    cut = pd.cut(exams["age"], [0, 40, 60, 200], right=False)
    groups = [exams["silver_dice_vb"][cut == level] for level in cut.cat.categories]
    assert silver["p"] == pytest.approx(stats.kruskal(*groups).pvalue)
    assert {"inflation", "closeness", "verdicts", "flips"} <= set(rulers.details)
    assert "expert" in str(rulers)
    assert "silver: drawn by a machine" in str(rulers)
    assert "fair" not in str(rulers)
    assert "The expert labels are corrections of the machine ones" in str(rulers)
    told = rulers.difference()
    assert told.index.names == ["grouping", "ruler", "structure", "metric"]
    assert len(told) == 6
    assert json.loads(rulers.to_json())["verdicts"]
    assert rulers.plot().get_axes()


def test_two_models_are_compared_in_pairs(exams: pd.DataFrame) -> None:
    first = side(exams, "gold")
    models = {"v1": first, "v2": (first + 0.02).clip(upper=1).iloc[:-3]}
    sex = exams["sex"]
    with pytest.warns(tr.AuditWarning, match=r"73 of 76 exams|76 .* 73|3 exams"):
        found = tr.compare_models(models, sex, provenance="gold")
    means = found.details["differences"].set_index("structure")["mean"]
    assert means["vb"] == pytest.approx(
        ((first + 0.02).clip(upper=1) - first)["dice_vb"][:-3].mean()
    )
    assert set(found.details["by_group"]["group"]) == {"Female", "Male"}
    assert found.by_group["model"].unique().tolist() == ["v1", "v2"]
    assert "change" in found.verdicts


@pytest.mark.parametrize(
    ("scores", "provenance", "said"),
    [
        ({"a": [0.5] * 4}, {"a": "gold"}, "expected two rulers by name"),
        ([0.5] * 4, {"a": "gold"}, "expected two rulers by name.* found list"),
        ({"a": [0.5] * 4, "b": [0.5] * 4}, {"a": "gold"}, "provenance: expected one for each"),
    ],
)
def test_what_is_no_pair_is_refused(scores: Any, provenance: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        tr.compare(scores, {"g": list("abab")}, provenance=provenance, metric="dice")


def boxes(n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    true = np.zeros((n, 8, 8, 6), np.uint8)
    true[:, 2:6, 2:6, 1:4] = 1
    true[:, 2:6, 6:8, 1:4] = 2
    pred = true.copy()
    for exam in range(n):
        pred[exam, 2 : 2 + exam % 3] = 0
    return pred, true


def test_spacing_counts_and_is_asked_for() -> None:
    pred, true = boxes()
    labels = {"vb": 1, "disc": 2}
    near, far = (
        tr.score_masks(pred, true, labels=labels, spacing=sides).query("metric == 'hd95'")["value"]
        for sides in ((1, 1, 1), (2, 2, 2))
    )
    np.testing.assert_allclose(far, 2 * near)
    with pytest.raises(ValueError, match=r"exam '0': hd95 need spacing=, the voxel size in mm"):
        tr.score_masks(pred, true, labels=labels)


def test_masks_in_memory_and_in_files_give_the_same(tmp_path: Path) -> None:
    pred, true = boxes(3)
    spacing = (1.5, 1.0, 3.0)
    files: dict[str, dict[str, Path]] = {"pred": {}, "true": {}}
    for name, masks in (("pred", pred), ("true", true)):
        for exam, mask in enumerate(masks):
            path = tmp_path / f"{name}_{exam}.nii.gz"
            nib.Nifti1Image(mask, np.diag([*spacing, 1.0])).to_filename(path)
            files[name][str(exam)] = path
    labels = {"vb": 1, "disc": 2}
    arrays = tr.score_masks(list(pred), list(true), labels=labels, spacing=spacing)
    pd.testing.assert_frame_equal(arrays, tr.score_masks(*files.values(), labels=labels))
    assert set(arrays["structure"]) == {"vb", "disc", "macro"}
    assert arrays.query("metric == 'hd95'")["title"].unique().tolist() == ["HD95"]


def test_label_maps_are_audited_at_once() -> None:
    pred, true = boxes()
    sites = ["a", "b"] * 6
    found = tr.audit_masks(
        pred, true, {"site": sites}, provenance="gold", labels={"vb": 1, "disc": 2},
        metrics=["dice"], success=0.7,
    )  # fmt: skip
    scores = tr.score_masks(pred, true, labels={"vb": 1, "disc": 2}, metrics=["dice"])
    mean = scores.query("structure == 'macro'")["value"].to_numpy()[::2].mean()
    own = found.by_group.query("structure == 'macro' and group == 'a'")
    assert own["mean"].iloc[0] == pytest.approx(mean)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"true_masks": {"a": np.ones((2, 2))}}, "exams that are not on both sides"),
        ({"metrics": ["dicee"]}, "no metric is called 'dicee'"),
        ({"labels": None, "true_masks": [np.zeros((3, 3), int)] * 2}, "no reference holds"),
        ({"true_masks": [np.ones((3, 4), int)] * 2}, "exam '0': .*one grid for both"),
    ],
)
def test_masks_that_cannot_be_scored_are_refused(change: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {
        "pred_masks": [np.ones((3, 3), int)] * 2,
        "true_masks": [np.ones((3, 3), int)] * 2,
        "labels": {"vb": 1},
        "metrics": ["dice"],
    }
    with pytest.raises(ValueError, match=f"(?s){said}"):
        tr.score_masks(**given | change)
