"""Rows of one exam, and nDSC of a set, against golden values and worked cases."""

import json

import numpy as np
import pandas as pd
import pytest

from tworulers.metrics.case import COUNT_METRICS, score_case
from tworulers.metrics.known.ndsc import NDSC, average_references
from tworulers.metrics.registry import METRICS
from tworulers.metrics.sets import add_set_metrics, spread_counts
from tworulers.schema.metric import BORDER, Metric
from tworulers.schema.settings import Audit

AFFINE = np.diag([0.5, 0.5, 4.0, 1.0])
VB_DISC = {"vb": 1, "disc": 2}


def block(corner: tuple[int, int, int], label: int = 1) -> np.ndarray:
    """A label map of 8 x 10 x 6 voxels with a block of 4 x 6 x 3."""
    labels = np.zeros((8, 10, 6), np.uint8)
    labels[tuple(slice(i, i + side) for i, side in zip(corner, (4, 6, 3), strict=True))] = label
    return labels


NOTHING = np.zeros((8, 10, 6), np.uint8)
HERE, BESIDE, FAR = block((1, 2, 0)), block((2, 2, 0)), block((3, 2, 0))


def score(prediction, reference, structures=None, metrics=("dice", "hd95"), **options):
    structures = structures or {"vb": 1}
    return score_case(
        prediction,
        reference,
        affine=AFFINE,
        structures=structures,
        metrics=[METRICS[name] for name in metrics],
        settings=Audit(**options),
    )


def add_ndsc(scores, averages=None, **options):
    asked = {f"ndsc_{name}" if name != "macro" else name: x for name, x in options.items()}
    return add_set_metrics(scores, [NDSC], Audit(ndsc_fractions=averages or {}, **asked))


def reference_averages(scores, reading="fraction"):
    return average_references(spread_counts(scores), Audit(ndsc_reference=reading))


def value(scores: pd.DataFrame, structure: str, metric: str) -> float:
    return scores.set_index(["structure", "metric"]).loc[(structure, metric), "value"]


def reason(scores: pd.DataFrame, structure: str, metric: str) -> str | None:
    found = scores.set_index(["structure", "metric"]).loc[(structure, metric), "undefined_because"]
    return None if pd.isna(found) else found


def score_set(pairs: dict[str, tuple[np.ndarray, np.ndarray]], structures=None) -> pd.DataFrame:
    return pd.concat(
        [
            score(*pair, structures, metrics=["dice"]).assign(
                exam_id=exam, regime="gold", ruler="gold"
            )
            for exam, pair in pairs.items()
        ],
        ignore_index=True,
    )


def test_columns_and_rows_of_an_exam():
    scores = score(HERE, HERE, VB_DISC)
    assert list(scores.columns) == ["structure", "metric", "value", "undefined_because"]
    names = set(zip(scores["structure"], scores["metric"], strict=True))
    assert len(names) == len(scores)
    assert names == {
        *((structure, metric) for structure in (*VB_DISC, "macro") for metric in ("dice", "hd95")),
        *((structure, count) for structure in VB_DISC for count in COUNT_METRICS),
    }


def test_golden_cases_as_two_structures(golden):
    case = golden["two_classes"]
    scores = score_case(
        case.prediction,
        case.reference,
        affine=case.affine,
        structures=VB_DISC,
        metrics=[METRICS[name] for name in ("dice", "hd95", "hd95_voxel")],
        settings=Audit(),
    )
    for metric, key in {
        "dice": "dice",
        "hd95": "hd95_surfel",
        "hd95_voxel": "hd95_directed_max",
    }.items():
        vb, disc = case.expected["1"][key], case.expected["2"][key]
        assert value(scores, "vb", metric) == pytest.approx(vb, abs=1e-9)
        assert value(scores, "disc", metric) == pytest.approx(disc, abs=1e-9)
        assert value(scores, "macro", metric) == pytest.approx((vb + disc) / 2, abs=1e-9)
    assert value(scores, "disc", "reference_mm3") == pytest.approx(
        case.expected["2"]["vol_ref_mm3"]
    )
    assert value(scores, "vb", "predicted_mm3") == pytest.approx(case.expected["1"]["vol_pred_mm3"])
    assert value(scores, "vb", "image_mm3") == pytest.approx(case.expected["1"]["fov_mm3"])
    assert scores["undefined_because"].isna().all()


@pytest.mark.parametrize(("prediction", "dice"), [(HERE, 1.0), (BESIDE, 0.75), (FAR, 0.5)])
def test_dice_of_shifted_blocks(prediction, dice):
    """Blocks of 4 x 6 x 3 voxels, one or two voxels apart along the side of 4."""
    assert value(score(prediction, HERE), "vb", "dice") == pytest.approx(dice)


def test_both_masks_empty_is_undefined_with_its_reason():
    scores = score(NOTHING, NOTHING)
    for metric in ("dice", "hd95"):
        assert np.isnan(value(scores, "vb", metric))
        assert reason(scores, "vb", metric) == "both_empty"
        assert np.isnan(value(scores, "macro", metric))
        assert reason(scores, "macro", metric) == "both_empty in vb"


@pytest.mark.parametrize(
    ("prediction", "reference", "because"),
    [(NOTHING, HERE, "prediction_empty"), (HERE, NOTHING, "reference_empty")],
)
def test_one_mask_empty_is_the_worst_score(prediction, reference, because):
    scores = score(prediction, reference)
    assert value(scores, "vb", "dice") == 0
    assert value(scores, "vb", "hd95") == np.inf
    assert reason(scores, "vb", "dice") is None
    assert reason(scores, "vb", "hd95") == because


def test_a_missed_structure_makes_the_macro_infinite_and_an_absent_one_is_left_out_of_it():
    both = np.maximum(HERE, block((1, 2, 3), label=2))
    missed = score(HERE, both, VB_DISC)
    assert value(missed, "macro", "hd95") == np.inf
    assert reason(missed, "macro", "hd95") == "prediction_empty in disc"
    assert value(missed, "macro", "dice") == pytest.approx(0.5)
    absent = score(block((1, 2, 3), label=3), HERE, VB_DISC | {"cord": 3})
    assert value(absent, "macro", "hd95") == np.inf
    assert reason(absent, "macro", "hd95") == (
        "2 of 3 structures: both_empty in disc; prediction_empty in vb, reference_empty in cord"
    )


def test_levels_of_a_structure(golden):
    case = golden["six_discs"]
    options = {"structures": {"disc": 2}, "metrics": [METRICS["dice"]]}
    options["settings"] = Audit(levels_of="disc")
    found = score_case(case.prediction, case.reference, affine=case.affine, **options)
    assert value(found, "disc", "level_components") == 6
    levels = found[found["structure"].str.startswith("level_")]
    assert sorted(levels["value"]) == pytest.approx(sorted(case.levels["dice"]), abs=1e-9)
    one_gone = np.where(np.arange(44)[:, None, None] < 8, 0, case.reference)
    found = score_case(case.prediction, one_gone, affine=case.affine, **options)
    assert value(found, "disc", "level_components") < 6
    assert np.isnan(value(found, "level_C2C3", "dice"))
    assert reason(found, "level_C7T1", "dice") == "levels_fewer"


def test_planes_are_scored():
    scores = score_case(
        HERE[:, :, 0],
        BESIDE[:, :, 0],
        affine=AFFINE,
        structures={"vb": 1},
        metrics=[METRICS["dice"], METRICS["hd95"]],
        settings=Audit(),
    )
    assert value(scores, "vb", "dice") == pytest.approx(0.75)
    assert value(scores, "vb", "hd95") == pytest.approx(0.5)


def test_voxel_sizes_are_column_lengths_of_the_affine():
    turned = AFFINE[:, [1, 2, 0, 3]] @ np.diag([-1, 1, -1, 1])
    axes = [np.transpose(labels, (1, 2, 0)) for labels in (block((1, 2, 1)), HERE)]
    scores = score_case(
        *axes, affine=turned, structures={"vb": 1}, metrics=[METRICS["hd95"]], settings=Audit()
    )
    assert value(scores, "vb", "hd95") == pytest.approx(4.0)


def test_all_faults_of_a_call_are_listed():
    with pytest.raises(ValueError, match="cannot be scored") as error:
        score_case(
            HERE.astype(float),
            HERE[:-1],
            affine=np.eye(3),
            structures={"macro": 0},
            metrics=[Metric("hd96", "HD96", False)],
            settings=Audit(),
        )
    with pytest.raises(ValueError, match="voxel sizes above 0"):
        score_case(
            HERE,
            HERE,
            affine=np.diag([0.5, 0, 4, 1]),
            structures={"vb": 1},
            metrics=[],
            settings=Audit(),
        )
    for part in ("(8, 10, 6)", "(7, 10, 6)", "float64", "(3, 3)", "hd96", "'macro'"):
        assert part in str(error.value)


def test_ndsc_of_a_set_is_normalised_to_its_mean_fraction():
    scores = score_set({"a": (BESIDE, HERE), "b": (FAR, np.maximum(HERE, FAR))})
    averages = reference_averages(scores)
    assert averages == {"vb": pytest.approx((72 + 108) / 2 / 480)}
    found = add_ndsc(scores, averages).set_index(["exam_id", "structure", "metric"])["value"]
    r = averages["vb"]
    for exam, tp, fp, fn in (("a", 54, 18, 18), ("b", 72, 0, 36)):
        reference = tp + fn
        kappa = (1 - r) * reference / (r * (480 - reference))
        expected = 2 * tp / (2 * tp + kappa * fp + fn)
        assert found[exam, "vb", "ndsc"] == pytest.approx(expected, abs=1e-12)
        assert found[exam, "macro", "ndsc"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("reading", ["volume", "ratio"])
def test_ndsc_by_mean_volume(golden, reading):
    case = golden["two_classes"]
    scores = score_case(
        case.prediction,
        case.reference,
        affine=case.affine,
        structures=case.structures,
        metrics=[METRICS["dice"]],
        settings=Audit(),
    ).assign(exam_id="e1")
    found = add_ndsc(scores, golden.mean_volume_mm3, reference=reading)
    expected = [case.expected[label][f"ndsc_{reading}"] for label in ("1", "2")]
    assert value(found, "1", "ndsc") == pytest.approx(expected[0], abs=1e-9)
    assert value(found, "macro", "ndsc") == pytest.approx(np.mean(expected), abs=1e-9)
    assert reference_averages(scores, reading)["2"] == pytest.approx(
        case.expected["2"]["vol_ref_mm3"]
    )


def test_ndsc_keeps_columns_and_replaces_itself():
    scores = score_set({"a": (BESIDE, HERE), "b": (HERE, HERE)})
    once = add_ndsc(scores, {"vb": 0.1})
    assert list(once.columns) == list(scores.columns)
    assert not once[["exam_id", "regime", "ruler"]].isna().any(axis=None)
    twice = add_ndsc(once, {"vb": 0.2})
    assert len(twice) == len(once) == len(scores) + 4
    assert (twice["metric"] == "ndsc").sum() == 4
    assert value(twice[twice["exam_id"] == "a"], "vb", "ndsc") > value(
        once[once["exam_id"] == "a"], "vb", "ndsc"
    )


@pytest.mark.parametrize(("empty", "expected"), [("nan", np.nan), ("zero", 0.0)])
def test_ndsc_without_a_reference_says_why(empty, expected):
    scores = score_set(
        {"alarm": (HERE, NOTHING), "nothing": (NOTHING, NOTHING), "fine": (HERE, HERE)}
    )
    found = add_ndsc(scores, reference_averages(scores), empty=empty)
    alarm = found[found["exam_id"] == "alarm"]
    assert value(alarm, "vb", "ndsc") == pytest.approx(expected, nan_ok=True)
    assert reason(alarm, "vb", "ndsc") == "reference_empty"
    nothing = found[found["exam_id"] == "nothing"]
    assert np.isnan(value(nothing, "vb", "ndsc"))
    assert reason(nothing, "macro", "ndsc") == "both_empty in vb"
    fine = found[found["exam_id"] == "fine"]
    assert value(fine, "vb", "ndsc") == 1
    assert reason(fine, "vb", "ndsc") is None


def test_ndsc_of_a_structure_that_no_reference_has():
    scores = score_set({"a": (HERE, HERE)}, VB_DISC)
    found = add_ndsc(scores, reference_averages(scores))
    assert value(found, "macro", "ndsc") == 1
    assert reason(found, "macro", "ndsc") == "1 of 2 structures: both_empty in disc"
    whole = add_ndsc(scores, reference_averages(scores), macro="complete")
    assert np.isnan(value(whole, "macro", "ndsc"))
    assert reason(whole, "macro", "ndsc") == "both_empty in disc"


def test_ndsc_is_undefined_where_the_reference_fills_its_image():
    scores = score_set({"e7": (HERE, np.ones_like(HERE)), "e8": (HERE, HERE)})
    found = add_ndsc(scores, {"vb": 0.1})
    full, other = (found[found["exam_id"] == exam] for exam in ("e7", "e8"))
    assert np.isnan(value(full, "vb", "ndsc"))
    assert reason(full, "vb", "ndsc") == "reference_fills_image"
    assert value(other, "vb", "ndsc") == 1
    assert reason(other, "vb", "ndsc") is None
    with pytest.raises(ValueError, match=r"exam e7 \(vb\): .* on average 1"):
        add_ndsc(scores, {"vb": 1.0})


def test_ndsc_refuses_mixed_or_repeated_sets():
    scores = score_set({"a": (HERE, HERE)})
    with pytest.raises(ValueError, match=r"one evaluated set.*\['gold', 'silver'\]"):
        reference_averages(pd.concat([scores, scores.assign(ruler="silver")]))
    with pytest.raises(ValueError, match=r"more than once: \['a'\]"):
        reference_averages(pd.concat([scores, scores]))
    with pytest.raises(ValueError, match=r"none is given for \['vb'\]"):
        add_ndsc(scores, {"disc": 0.1})


@pytest.mark.needs_shared
@pytest.mark.parametrize(
    ("folder", "metric", "expected"),
    [
        ("33-both-empty", "dice", lambda values: values["dice"]),
        ("35-empty-prediction-hd95", "hd95", lambda values: values["hd95_mm"] | {"m_023": np.inf}),
        (
            "36-hd95-definition",
            "hd95",
            lambda values: {"m_030": values["surface_element_variant_max_of_two_p95"]},
        ),
        (
            "36-hd95-definition",
            "hd95_voxel",
            lambda values: {"m_030": values["max_of_two_directed_p95"]},
        ),
        ("36-hd95-definition", "hd95_pooled", lambda values: {"m_030": values["pooled_p95"]}),
        (
            "37-anisotropic-spacing",
            "hd95",
            lambda values: {exam: found["mm"] for exam, found in values.items()},
        ),
        (
            "41-ndsc-numbers",
            "dice",
            lambda values: {exam: found["dice"] for exam, found in values.items()},
        ),
        ("42-missing-prediction", "dice", lambda values: values["dice"]),
    ],
)
def test_acceptance_cases_as_files(shared, folder, metric, expected):
    nibabel = pytest.importorskip("nibabel")
    case = shared / "cases" / folder
    for exam, number in expected(
        json.loads((case / "case.json").read_text())["expected_values"]
    ).items():
        images = [
            nibabel.load(case / part / f"{exam}.nii.gz") for part in ("prediction", "reference")
        ]
        scores = score_case(
            *(np.asarray(image.dataobj) for image in images),
            affine=images[1].affine,
            structures={"vb": 1},
            metrics=[METRICS[metric]],
            settings=Audit(),
        )
        target = np.nan if number is None else number
        assert value(scores, "vb", metric) == pytest.approx(target, abs=1e-5, nan_ok=True), exam


def test_a_metric_that_could_not_be_computed_of_some_exam_is_refused():
    with pytest.raises(ValueError, match="give one_empty"):
        Metric("own", "Own", True, needs=BORDER, compute=lambda *_: 1.0)
    with pytest.raises(ValueError, match="'voxels'; expected one of counts"):
        Metric("own", "Own", True, needs="voxels")


def test_cropping_to_a_structure_changes_no_score(monkeypatch):
    rng = np.random.default_rng(2)
    reference = np.zeros((14, 15, 16), dtype=np.int16)
    reference[2:6, 3:7, 4:9], reference[9:13, 10:14, 2:6], reference[0, 0, 0] = 1, 7, -3
    prediction = np.where(rng.random(reference.shape) < 0.1, 7, np.roll(reference, 1, axis=2))
    structures = {"near": 1, "far": 7, "absent": 4}
    cropped = score(prediction, reference, structures)
    monkeypatch.setattr("tworulers.metrics.case.HIGHEST_LISTED", 0)
    pd.testing.assert_frame_equal(cropped, score(prediction, reference, structures))


def test_what_several_metrics_need_is_measured_once(monkeypatch):
    from tworulers.metrics import case

    measured = []
    for needs, measure in case.SURFACES.items():

        def count(*masks, needs=needs, measure=measure):
            measured.append(needs)
            return measure(*masks)

        monkeypatch.setitem(case.SURFACES, needs, count)
    score(HERE, BESIDE, metrics=[name for name in METRICS if name != "ndsc"])
    assert sorted(measured) == ["border", "elements"]
