"""The compare stage on made-up scores: which pairs it takes, what it writes, what it refuses."""

import json
import shutil
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tworulers.battery.audit import audit_scores
from tworulers.cohort.ungrouped import form_groups
from tworulers.diagnosis.comparison import Comparison, RegimeComparison
from tworulers.io.answers import read_common_audits
from tworulers.io.audits import write_audit
from tworulers.io.paths import Layout
from tworulers.io.records import read_json, write_table
from tworulers.metrics.macro import average_structures
from tworulers.runner.tracking.record import RECORD
from tworulers.schema.settings import Audit, Grid, Settings
from tworulers.schema.sources import Attributes, Dataset, Grouping, ScoreTable
from tworulers.stages.compare import compare

pytestmark = pytest.mark.usefixtures("unrendered")

ROOT = Path(__file__).parents[3]
SEX = Grouping("Sex", "levels", "sex", {"F": ["F"], "M": ["M"]}, group_order=["F", "M"])
EXAMS = [f"e{i:02}" for i in range(60)]


@pytest.fixture
def settings() -> Settings:
    audit = Audit(
        "test", metrics=["dice"], thresholds={"dice": 0.8}, bootstrap_draws=200, permutations=100
    )
    return Settings(
        dataset=Dataset("made_up", structures={"disc": 1}),
        attributes=Attributes("sexes", resampling_unit="exam", groupings={"sex": SEX}),
        audit=audit,
        grid=Grid(regimes=["gold", "mix"], rulers=["gold", "silver"]),
    )


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(ROOT, tmp_path / "in", tmp_path / "out")


def make_cohort(repeated: int = 0) -> pd.DataFrame:
    """Make a cohort of 60 exams, in which the first patients have two exams each."""
    patients = [f"p{i - i // 2 % 2 * 2 if i < 4 * (repeated // 2) else i}" for i in range(60)]
    return pd.DataFrame(
        {
            "exam_id": EXAMS,
            "patient_id": patients if repeated else EXAMS,
            "image": "i",
            "label": "l",
            "provenance": "gold",
            "sex": ["F", "M"] * 30,
            "age": 50.0,
            "age_over_89": False,
            "race": None,
            "ethnicity": None,
            "manufacturer": None,
            "field_strength_t": 3.0,
            "spacing": "1x1x1",
            "shape": "9x9x9",
        }
    )


def draw_scores(seed: int, centre: float, spread: float) -> np.ndarray:
    return np.clip(centre + spread * np.random.default_rng(seed).normal(size=60), 0, 1)


def make_scores(regime: str, ruler: str, values: np.ndarray) -> pd.DataFrame:
    rows = pd.DataFrame({"exam_id": EXAMS, "regime": regime, "ruler": ruler, "provenance": ruler})
    rows["structure"], rows["metric"] = "disc", "dice"
    extra = rows.assign(metric="tp", value=100.0)
    shared = rows.assign(metric="shared_error", value=0.75)
    parts = [rows.assign(value=values), extra, *([shared] if ruler == "silver" else [])]
    return pd.concat(parts, ignore_index=True).assign(undefined_because=pd.array([None], "str")[0])


def make_all(settings: Settings, layout: Layout, repeated: int = 0) -> None:
    cohort = make_cohort(repeated)
    write_table(cohort, (layout.cohort / "cohort.parquet"))
    groups, _ = form_groups(cohort, settings.attributes)
    base = draw_scores(0, 0.85, 0.05)
    values = {
        ("gold", "gold"): draw_scores(1, 0.86, 0.05),
        ("gold", "silver"): np.ones(60),
        ("mix", "gold"): base,
        ("mix", "silver"): 0.96 + 0.2 * (base - 0.85),
    }
    for (regime, ruler), column in values.items():
        scores = make_scores(regime, ruler, column)
        write_table(scores, layout.scores(regime, ruler) / "scores.parquet")
        patients = cohort.set_index("exam_id")["patient_id"]
        judged = scores[scores["metric"] == "dice"]
        found = audit_scores(judged, groups, patients, settings.audit, settings.attributes)
        folder = layout.audit(regime, ruler)
        folder.mkdir(parents=True)
        write_audit(found, folder)


def test_every_ruler_is_compared_with_gold_and_every_regime_under_one_ruler(
    settings, layout
) -> None:
    make_all(settings, layout)
    root, record = compare(settings, layout)
    made = {path.parent.relative_to(root).as_posix() for path in root.rglob("summary.json")}
    assert made == {
        "rulers/gold/gold_silver",
        "rulers/mix/gold_silver",
        "regimes/gold/gold_mix",
        "regimes/silver/gold_mix",
    }
    for name in made:
        kind = Comparison if name.startswith("rulers") else RegimeComparison
        for field in fields(kind):
            if field.name not in ("summary", "metrics"):
                pd.read_parquet(root / name / f"{field.name}.parquet")
        shown = json.loads((root / name / RECORD).read_text())
        assert shown["stage"] == "compare"
    assert record.metrics["mix/gold_silver/flips/main/neither"] == 1
    assert all(np.isfinite(value) for value in record.metrics.values())


def test_patients_with_several_exams_are_kept_together(settings, layout) -> None:
    make_all(settings, layout, repeated=4)
    root, _ = compare(settings, layout)
    folder = root / "rulers" / "mix" / "gold_silver"
    verdicts = pd.read_parquet(folder / "verdicts.parquet")
    assert set(verdicts["verdict_by"]) == {"patient"}
    assert verdicts["sentence"].str.contains("patients kept together").all()
    # studies are drawn of one exam a patient: 56 of 60
    assert 56 in set(pd.read_parquet(folder / "probability.parquet")["n"])


def test_the_rulers_own_errors_enter_the_closeness(settings, layout) -> None:
    make_all(settings, layout)
    root, _ = compare(settings, layout)
    summary = read_json(root / "rulers" / "mix" / "gold_silver" / "summary.json", "compare")
    disc = summary["closeness"]["disc"]
    # the silver ruler is the gold model, whose Dice against the experts is known
    gold = pd.read_parquet(layout.scores("gold", "gold") / "scores.parquet")
    assert disc["ruler_expert"] == pytest.approx(gold.loc[gold["metric"] == "dice", "value"].mean())
    assert disc["shared_error"] == pytest.approx(0.75)
    assert summary["status"] == "too_close"
    own = read_json(root / "rulers" / "gold" / "gold_silver" / "summary.json", "compare")
    assert own["status"] == "identical"


def test_another_attribute_set_is_refused(settings, layout) -> None:
    make_all(settings, layout)
    settings.attributes.name = "others"
    with pytest.raises(ValueError, match="attributes=sexes, asked for attributes=others"):
        compare(settings, layout)


def test_without_audits_the_message_names_the_command(settings, layout) -> None:
    with pytest.raises(ValueError, match=r"python -m tworulers\.stages\.audit"):
        compare(settings, layout)


def test_two_ready_tables_are_audited_and_compared(settings, tmp_path: Path) -> None:
    people = pd.DataFrame({"exam_id": EXAMS, "sex": ["F", "M"] * 30})
    base = draw_scores(0, 0.85, 0.05)
    for name, values in (("gold", base), ("silver", 0.96 + 0.2 * (base - 0.85))):
        people.assign(dice_disc=values).to_csv(tmp_path / f"{name}.csv", index=False)
    settings.scores = ScoreTable(str(tmp_path / "gold.csv"), provenance="gold")
    layout = Layout(tmp_path, tmp_path / "in", tmp_path / "out")
    with pytest.raises(ValueError, match=r"against\.file"):
        compare(settings, layout)
    settings.against = ScoreTable(str(tmp_path / "silver.csv"), provenance="silver")
    folder, record = compare(settings, layout)
    verdicts = pd.read_parquet(folder / "verdicts.parquet")
    assert len(verdicts) == 1
    assert verdicts.loc[0, "vcr_mad"] == pytest.approx(5)
    assert "gold_silver/flips/main/neither" in record.metrics
    assert "too close to the model" in record.description


def test_macro_scores_are_compared_over_the_structures_that_both_rulers_define(
    settings, layout
) -> None:
    """The experts' masks of three exams hold no disc, and the model predicts none; the machine's masks do."""
    make_all(settings, layout)
    settings.dataset.structures = {"disc": 1, "cord": 2}
    cohort = make_cohort()
    groups, _ = form_groups(cohort, settings.attributes)
    patients = cohort.set_index("exam_id")["patient_id"]
    cord = np.linspace(0.7, 0.9, 60)
    for ruler in ("gold", "silver"):
        one = make_scores("mix", ruler, draw_scores(2, 0.9, 0.02))
        dice = one[one["metric"] == "dice"].set_index("exam_id")["value"]
        if ruler == "gold":
            dice[EXAMS[:3]] = np.nan
        rows = []
        for exam, disc, other in zip(EXAMS, dice, cord, strict=True):
            known = {"disc": disc, "cord": other}
            macro, why = average_structures(known, {"disc": "both_empty", "cord": None})
            rows += [(exam, name, value, None) for name, value in known.items()]
            rows.append((exam, "macro", macro, why))
        scores = pd.DataFrame(rows, columns=["exam_id", "structure", "value", "undefined_because"])
        scores = scores.assign(regime="mix", ruler=ruler, provenance=ruler, metric="dice")
        write_table(scores, layout.scores("mix", ruler) / "scores.parquet")
        found = audit_scores(scores, groups, patients, settings.audit, settings.attributes)
        write_audit(found, layout.audit("mix", ruler))
    shutil.rmtree(layout.outputs / "audits" / "gold")
    root, _ = compare(settings, layout)
    folder = root / "rulers/mix/gold_silver"
    assert read_json(folder / "summary.json", "compare")["macro_partial"] == {"dice": 3}
    means = pd.read_parquet(folder / "inflation.parquet").set_index("structure").loc["macro"]
    whole = draw_scores(2, 0.9, 0.02)
    expected = np.where(np.arange(60) < 3, cord, (whole + cord) / 2).mean()
    # both rulers agree on what both define, though the silver audit alone has the disc of three exams more
    assert means[["n", "mean_base", "mean_other"]].tolist() == pytest.approx(
        [60, expected, expected]
    )
    again = read_common_audits(folder)
    assert again["silver"].overall.set_index("structure").loc["macro", "n_partial"] == 3
    flips = pd.read_parquet(folder / "flips.parquet").set_index("structure").loc["macro"]
    assert flips["p_base"] == flips["p_other"]
    assert json.loads((root / "about.json").read_text())["comparisons"] == 1
