"""The open acceptance cases of kinds metrics, stats and mlops, through the stages a person runs.

Cases of kind ingest are in tests/unit/ingest/test_open_cases.py, those of kind auc in
tests/unit/stats/test_auc_cases.py; tests/contract/test_open_cases_are_tried.py asks that none is forgotten.
"""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tworulers.battery.audit import AuditResult
from tworulers.ingest.faults import IngestError
from tworulers.io.audits import read_audit
from tworulers.io.paths import Layout
from tworulers.runner.checks.overrides import check_overrides
from tworulers.runner.tracking import RunRecord, write_record
from tworulers.runner.tracking.publishing import publish
from tworulers.runner.tracking.store import connect
from tworulers.schema.settings import Audit, Paths, Settings, Tracking
from tworulers.schema.sources import Attributes, Grouping, Predictions, Reference, ScoreTable
from tworulers.stages.audit import audit
from tworulers.stages.judge import judge
from tworulers.stats.families import adjust_p

pytestmark = pytest.mark.needs_shared

Values = dict[str, Any]
DIRECTIONS = {"dice": 0.8, "ndsc": 0.8, "hd95": 5.0}
FEW = Audit("few", thresholds=DIRECTIONS, bootstrap_draws=200, permutations=200, power_draws=0)


def judge_case(folder: Path, project: Path, **more: Any) -> dict[str, pd.DataFrame]:
    """Score a case's folder of predictions by each of its references; scores by reference."""
    inputs = json.loads((folder / "case.json").read_text())["inputs"]
    given = inputs.get("references", {"reference": inputs.get("reference")})
    references = {
        name: Reference(str(folder / place), "silver" if name == "machine" else "gold")
        for name, place in given.items()
    }
    structures = {f"class{value}": value for value in inputs.get("classes", [1, 2])}
    audit_settings = more.pop("audit", FEW)
    settings = Settings(
        attributes=Attributes("none", resampling_unit="exam"),
        audit=audit_settings,
        predictions=Predictions(
            name="theirs",
            folder=str(folder / "prediction"),
            references=references,
            structures=structures,
            **more,
        ),
        paths=Paths("repro"),
        processes=1,
    )
    place, _ = judge(settings, Layout.of(settings, project))
    found = {
        name: pd.read_parquet(place / "scores" / "theirs" / name / "scores.parquet")
        for name in references
    }
    return {
        name: scores.set_index(["structure", "metric", "exam_id"])["value"].sort_index()
        for name, scores in found.items()
    }


def audit_case(
    folder: Path,
    project: Path,
    column: str,
    columns: dict[str, str],
    settings: Audit = FEW,
    **more: Any,
) -> AuditResult:
    """Audit a case's table of scores by the levels its column has."""
    table = pd.read_csv(folder / "scores.csv", dtype=str)
    levels = {str(level): [str(level)] for level in table[column].dropna().unique()}
    groupings = {"g": Grouping("G", "levels", column, levels, **more.pop("grouping", {}))}
    groupings |= more.pop("groupings", {})
    spec = ScoreTable(
        str(folder / "scores.csv"), columns={"exam_id": "case_id", **columns}, provenance="gold"
    )
    for name, value in more.items():
        setattr(spec, name, value)
    whole = Settings(
        attributes=Attributes("case", "Case", "exam", groupings),
        audit=settings,
        scores=spec,
        paths=Paths("repro"),
    )
    return read_audit(audit(whole, Layout.of(whole, project))[0])


def close(case: Values, value: Any) -> Any:
    return pytest.approx(value, abs=case["tolerance"])


def one(frame: pd.DataFrame, **where: object) -> "pd.Series[Any]":
    for name, value in where.items():
        frame = frame[frame[name] == value]
    assert len(frame) == 1
    return frame.iloc[0]


def flipped_storage(folder: Path, case: Values, project: Path) -> None:
    scores = judge_case(folder, project)["reference"]
    for value in ("1", "2"):
        assert scores[f"class{value}", "dice", "cs_100"] == close(case, 1)
        assert scores[f"class{value}", "hd95", "cs_100"] == close(case, 0)


def both_empty(folder: Path, case: Values, project: Path) -> None:
    dice = judge_case(folder, project)["reference"]["class1", "dice"]
    for exam, value in case["expected_values"]["dice"].items():
        assert pd.isna(dice[exam]) if value is None else dice[exam] == close(case, value)
    assert (dice.mean(), dice.count()) == (close(case, 0.875), 2)


def empty_prediction(folder: Path, case: Values, project: Path) -> None:
    expected = case["expected_values"]
    hd95 = judge_case(folder, project)["reference"]["class1", "hd95"]
    for exam, value in expected["hd95_mm"].items():
        assert hd95[exam] == (float("inf") if value is None else close(case, value))
    assert (hd95 < 5).mean() == expected["success_rate_hd95_5mm"]


def hd95_definition(folder: Path, case: Values, project: Path) -> None:
    both = Audit("both", metrics=["dice", "hd95"], extra_metrics=["hd95_voxel", "hd95_pooled"])
    scores = judge_case(folder, project, audit=both)["reference"]["class1"]
    names = {
        "hd95": "surface_element_variant_max_of_two_p95",
        "hd95_voxel": "max_of_two_directed_p95",
        "hd95_pooled": "pooled_p95",
        "dice": "dice",
    }
    for metric, name in names.items():
        assert scores[metric, "m_030"] == close(case, case["expected_values"][name])


def anisotropic(folder: Path, case: Values, project: Path) -> None:
    hd95 = judge_case(folder, project)["reference"]["class1", "hd95"]
    for exam, value in case["expected_values"].items():
        assert hd95[exam] == close(case, value["mm"])


def normalised_dice(folder: Path, case: Values, project: Path) -> None:
    for r in ("0.05", "0.10", "0.15", "0.20"):
        given = Audit("given", metrics=["dice", "ndsc"], ndsc_fractions={"class1": float(r)})
        scores = judge_case(folder, project / r, audit=given)["reference"]["class1", "ndsc"]
        for exam, values in case["expected_values"].items():
            if f"ndsc_r_{r}" in values:
                assert scores[exam] == close(case, values[f"ndsc_r_{r}"])
        assert scores[["m_082", "m_083"]].isna().all()


def missing_prediction(folder: Path, case: Values, project: Path) -> None:
    with pytest.raises(IngestError, match=r"(?s)m_093.*3 of 4 cases.*m_099.*no reference"):
        judge_case(folder, project)
    dice = judge_case(folder, project, incomplete=True)["reference"]["class1", "dice"]
    assert dice.to_dict() == close(case, case["expected_values"]["dice"])
    summary = json.loads((project / "artifacts/judged/theirs/summary.json").read_text())
    found = summary["references"]["reference"]
    assert found["share"] == "3 of 4 cases"
    pairing = json.loads((project / "artifacts/judged/theirs/pairing.json").read_text())
    for name in ("missing_predictions", "without_reference"):
        assert pairing["references"]["reference"][name] == case["expected_values"][name]
        assert found[name] == len(case["expected_values"][name])


def reference_is_prediction(folder: Path, case: Values, project: Path) -> None:
    found = judge_case(folder, project)
    for name, scores in found.items():
        dice = scores["class1", "dice"]
        assert dice.mean() == close(case, case["expected_values"]["mean_dice"][name])
        assert dice.std() == close(case, case["expected_values"]["sd_dice"][name])
    root = project / "artifacts/judged/theirs"
    machine = json.loads((root / "summary.json").read_text())["references"]["machine"]
    assert (machine["status"], machine["identical_files"]) == ("identical", 6)
    assert "voxel by voxel in all exams" in machine["no_verdict"]


def identical_scores(folder: Path, case: Values, project: Path) -> None:
    names = {"saturated/dice": "dice_saturated", "normal/dice": "dice_normal"}
    tests = audit_case(folder, project, "sex", names).tests
    flat, usual = (one(tests, structure=name) for name in ("saturated", "normal"))
    assert (flat["effect"], flat["statistic"]) == (
        0,
        case["expected_values"]["dice_saturated"]["U1"],
    )
    assert flat["p"] == 1 or (pd.isna(flat["p"]) and flat["undefined_because"])
    known = case["expected_values"]["dice_normal"]
    assert min(abs(usual["p"] - known[name]) for name in known if name[0] == "p") < 1e-5
    assert usual["p_fdr"] <= 1


def group_of_one(folder: Path, case: Values, project: Path) -> None:
    found = audit_case(folder, project, "race", {"all/dice": "dice"})
    test = found.tests.iloc[0]
    assert pd.isna(test["p"]) or test["p"] >= 2 / 7
    assert test["undefined_because"] or test["not_assessed"]
    assert found.groups.set_index("group")["n"].to_dict() == case["expected_values"]["n"]


def ties_and_direction(folder: Path, case: Values, project: Path) -> None:
    expected = case["expected_values"]
    test = audit_case(folder, project, "sex", {"all/dice": "dice"}).tests.iloc[0]
    known = [value for name, value in expected.items() if name.startswith("p_")]
    assert min(abs(test["p"] - value) for value in known) < 1e-5
    assert abs(test["effect"]) == close(case, expected["rank_biserial_abs"])
    assert test["worst_group"] == expected["lower_group"]
    assert test["statistic"] in (expected["U_F"], expected["U_M"])


def undefined_tests(folder: Path, case: Values, project: Path) -> None:
    p = pd.to_numeric(pd.read_csv(folder / "pvalues.csv")["p"], errors="coerce")
    adjusted = adjust_p(p.to_numpy())
    assert p.notna().sum() == case["expected_values"]["m"]
    for found, expected in zip(adjusted, case["expected_values"]["q_m6"], strict=True):
        assert pd.isna(found) if expected is None else found == close(case, expected)


def no_failures(folder: Path, case: Values, project: Path) -> None:
    row = one(audit_case(folder, project, "sex", {"all/dice": "dice"}).disparities, primary=True)
    assert (row["dir"], row["dpd"], row["degenerate"]) == (1, 0, True)
    assert row["interval_note"]


def zero_rates(folder: Path, case: Values, project: Path) -> None:
    for scenario, expected in case["expected_values"].items():
        filters = {"scenario": [scenario]}
        found = audit_case(
            folder, project / scenario, "group", {"all/dice": "dice"}, filters=filters
        )
        row = one(found.disparities, primary=True)
        assert row["dpd"] == close(case, expected["dpd"])
        if expected["dir"] is None:
            assert pd.isna(row["dir"])
            assert row["undefined_because"]
        else:
            assert row["dir"] == close(case, expected["dir"])
        assert row["below_four_fifths"] == (scenario == "one_zero_")


def missing_groups(folder: Path, case: Values, project: Path) -> None:
    wanted = case["expected_values"]
    pair = Grouping("Pair", "levels", "race", {"White": ["White"], "Black": ["Black"]})
    found = audit_case(
        folder,
        project,
        "race",
        {"all/dice": "dice"},
        grouping={"missing": "missing"},
        groupings={"pair": pair},
    )
    groups = found.groups[found.groups["grouping"] == "g"].set_index("group")["n"]
    assert groups.to_dict() == wanted["n"]
    overall = found.overall.iloc[0]
    assert (overall["n_exams"], overall["mean"]) == (10, close(case, wanted["overall_mean"]))
    row = one(found.disparities, primary=True, grouping="pair")
    assert row["dir"] == close(case, wanted["dir_white_black"])
    left = found.groupings.set_index("grouping")["n_left_out"]
    assert left.to_dict() == {"g": 0, "pair": 3}


def small_group(folder: Path, case: Values, project: Path) -> None:
    wanted = case["expected_values"]
    found = audit_case(folder, project, "group", {"all/dice": "dice"})
    row = one(found.disparities, primary=True)
    assert (row["dpd"], row["dir"]) == tuple(wanted["all_groups"].values())
    assert (row["dpd_eligible"], row["dir_eligible"]) == tuple(wanted["eligible_groups"].values())
    assert "C (n 1)" in row["not_assessed"]
    rates = found.rates[found.rates["primary"]].set_index("group")["rate"]
    assert rates.to_dict() == wanted["rates"]


def missing_rows(folder: Path, case: Values, project: Path) -> None:
    wanted = case["expected_values"]
    joint = Audit("joint", power_draws=0, permutations=0, bootstrap_draws=50, thresholds=DIRECTIONS)
    joint.linear_terms = ["sex", "g", "age"]
    sex = Grouping("Sex", "levels", "sex", {"F": ["F"], "M": ["M"]}, group_order=["F", "M"])
    terms = audit_case(
        folder, project, "race", {"macro/dice": "dice_macro"}, joint, groupings={"sex": sex}
    ).linear
    first = terms.iloc[0]
    assert (first["n"], first["n_total"]) == (wanted["n_used"], wanted["n_total"])
    assert first["r2"] == close(case, wanted["r2"])
    assert first["f"] == close(case, wanted["F"])
    slopes = terms.set_index("term")["coefficient"]
    age = next(value for name, value in slopes.items() if "age" in str(name))
    assert age == close(case, wanted["coef_age_per_year"])
    for key in ("coef_M_minus_F", "coef_White_minus_Black"):
        assert any(abs(abs(value) - abs(wanted[key])) < case["tolerance"] for value in slopes)


def names_for_mlflow(folder: Path, case: Values, project: Path) -> None:
    rows = pd.read_csv(folder / "metrics.csv", keep_default_na=False)
    metrics = dict(zip(rows["name"], rows["value"].astype(float), strict=True))
    result = project / "artifacts" / "result"
    result.mkdir(parents=True)
    write_record(RunRecord("audit", "audit", "Names.", metrics=metrics), result)
    settings = Tracking("local", experiment="names")
    run = publish(result, project, settings)
    found = connect(project, settings)[0].get_run(run)
    assert found.info.status == "FINISHED"
    assert sorted(found.data.metrics.values()) == sorted(metrics.values())
    assert len(found.data.metrics) == case["expected_values"]["n_metrics"]


def refusal_of(argument: str) -> str:
    try:
        check_overrides([argument])
    except ValueError as error:
        return str(error)
    return ""


def quoting(folder: Path, case: Values, project: Path) -> None:
    lines = (folder / "overrides.tsv").open(encoding="utf-8")
    rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    refused: dict[str, int] = {}
    for row in rows:
        argument = row["override_as_the_program_receives_it"]
        message = refusal_of(argument)
        if message:
            assert argument in message
            assert not refusal_of(message.rpartition(": ")[2].strip('"'))
            refused[row["kind"]] = refused.get(row["kind"], 0) + 1
    wanted = case["expected_values"]
    assert len(rows) == wanted["n"]
    assert refused == {"error": wanted["errors"], "sweep": wanted["sweeps"]}
    for argument in ("tau=0.8,0.85", "name=a,b"):
        check_overrides(["-m", argument])


def strict_json(folder: Path, case: Values, project: Path) -> None:
    wanted = case["expected_values"]
    names = {"all/dice": "dice", "all/hd95": "hd95_mm"}
    found = audit_case(folder, project, "group", names)
    groups = found.groups.set_index(["metric", "group"])
    for group, means in wanted["finite_mean"].items():
        assert groups.loc[("dice", group), "mean"] == close(case, means["dice"])
        assert groups.loc[("hd95", group), "mean"] == close(case, means["hd95_mm"])
        assert groups.loc[("hd95", group), "n_infinite"] == wanted["n_infinite"][group]
        assert groups.loc[("dice", group), "n_undefined"] == wanted["n_missing_dice"][group]
    written = list((project / "artifacts").rglob("*.json"))
    assert len(written) > 2

    def refuse(word: str) -> None:
        raise AssertionError(f"bare {word}")

    for path in written:
        json.loads(path.read_text(), parse_constant=refuse)
    summary = next(path for path in written if path.name == "summary.json")
    content = json.loads(summary.read_text())
    undefined = {name for name, value in content["metrics"].items() if value is None}
    assert undefined == set(content["undefined"])


Adapter = Callable[[Path, Values, Path], None]

ADAPTERS: dict[str, Adapter] = {
    "33-both-empty": both_empty,
    "35-empty-prediction-hd95": empty_prediction,
    "36-hd95-definition": hd95_definition,
    "37-anisotropic-spacing": anisotropic,
    "41-ndsc-numbers": normalised_dice,
    "42-missing-prediction": missing_prediction,
    "43-reference-equals-prediction": reference_is_prediction,
    "45-identical-scores": identical_scores,
    "46-group-of-one": group_of_one,
    "47-ties-and-direction": ties_and_direction,
    "49-fdr-with-undefined-tests": undefined_tests,
    "50-bootstrap-no-failures": no_failures,
    "52-zero-success-rates": zero_rates,
    "54-missing-group-values": missing_groups,
    "55-small-group-vanishes": small_group,
    "57-ols-with-missing-rows": missing_rows,
    "64-mlflow-names": names_for_mlflow,
    "66-hydra-quoting": quoting,
    "69-strict-json-metrics": strict_json,
}

ALSO = {"11-flipped-storage": flipped_storage}
"""Cases of another kind that are run through these commands too."""


@pytest.mark.parametrize("name", sorted({**ADAPTERS, **ALSO}))
def test_case(name: str, shared: Path, tmp_path: Path) -> None:
    folder = shared / "cases" / name
    case = json.loads((folder / "case.json").read_text())
    {**ADAPTERS, **ALSO}[name](folder, case, tmp_path)
