"""Gold-anchored means: which exams count as with and without an expert label, and when the reader is warned."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tworulers.io.paths import Layout
from tworulers.io.records import read_json, write_table
from tworulers.schema import Audit, Settings
from tworulers.schema_sources import Attributes, Dataset, Grouping
from tworulers.stages._anchoring import anchor_scores
from tworulers.stages.score import BEYOND

GOLD, MORE = 20, 60
EXAMS = [f"e{i:02}" for i in range(GOLD + MORE)]
SEX = Grouping("Sex", "levels", "sex", {"F": ["F"], "M": ["M"]}, group_order=["F", "M"])


@pytest.fixture
def settings() -> Settings:
    return Settings(
        dataset=Dataset("made_up", structures={"disc": 1}),
        attributes=Attributes("sexes", resampling_unit="exam", groupings={"sex": SEX}),
        audit=Audit("made", thresholds={"dice": 0.8}, permutations=200),
    )


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path, tmp_path / "in", tmp_path / "out")


def make_scores(ruler: str, values: pd.Series) -> pd.DataFrame:
    rows = pd.DataFrame({"exam_id": values.index, "value": values.to_numpy()})
    rows = rows.assign(regime="mix", ruler=ruler, provenance=ruler, undefined_because=None)
    return pd.concat(
        [
            rows.assign(structure="macro", metric="dice"),
            rows.assign(structure="disc", metric="dice", value=0.1),
            rows.assign(structure="macro", metric="hd95", value=9.0),
        ],
        ignore_index=True,
    )


def write_inputs(layout: Layout, ages: np.ndarray) -> tuple[pd.Series, pd.Series]:
    """Write scores that both rulers give the first exams and silver alone the others."""
    rng = np.random.default_rng(7)
    silver = pd.Series(rng.uniform(0.7, 0.95, len(EXAMS)), EXAMS)
    gold = silver[:GOLD] - 0.1 + rng.normal(0, 0.005, GOLD)
    write_table(make_scores("gold", gold), layout.scores("mix", "gold") / "scores.parquet")
    folder = layout.scores("mix", "silver")
    write_table(make_scores("silver", silver[:GOLD]), folder / "scores.parquet")
    write_table(make_scores("silver", silver[GOLD:]), folder / BEYOND)
    cohort = pd.DataFrame({"exam_id": EXAMS, "patient_id": EXAMS, "image": "i", "label": "l"})
    cohort = cohort.assign(
        provenance="gold", sex=["F", "M"] * (len(EXAMS) // 2), age=ages, age_over_89=False,
        race=None, ethnicity=None, manufacturer=None, field_strength_t=3.0, spacing="1x1x1",
        shape="2x2x2",
    )  # fmt: skip
    write_table(cohort, layout.cohort / "cohort.parquet")
    return gold, silver


def test_means_keep_to_the_expert_and_gain_from_the_machine(
    settings: Settings, layout: Layout
) -> None:
    gold, silver = write_inputs(layout, np.tile([40.0, 50.0, 60.0, 70.0], 20))
    said = anchor_scores("mix", "gold", "silver", settings, layout, layout.root)
    assert said[0].startswith("Gold-anchored means rest on 20 exams with an expert label and 60")
    assert len(said) == 1
    assert read_json(layout.root / "anchored.json", "compare")["sentences"] == said
    means = pd.read_parquet(layout.root / "anchored_means.parquet").set_index("group")
    assert means[["n_gold", "n_silver"]].to_numpy().tolist() == [[10, 30], [10, 30]]
    female = gold[[i % 2 == 0 for i in range(GOLD)]]
    assert means.loc["F", "gold_mean"] == pytest.approx(female.mean())
    # Silver lies a tenth above the expert; the anchored means lie where the expert's would.
    for place, sex in enumerate(("F", "M")):
        everyone = silver[place::2].mean() - 0.1
        assert means.loc[sex, "mean"] == pytest.approx(everyone, abs=0.01)
        assert means.loc[sex, "effective_n"] > 20
    gaps = pd.read_parquet(layout.root / "anchored_gaps.parquet")
    assert gaps[["grouping", "group_a", "group_b"]].to_numpy().tolist() == [["sex", "F", "M"]]
    assert gaps["difference"][0] == pytest.approx(means.loc["M", "mean"] - means.loc["F", "mean"])


def test_exams_that_are_drawn_otherwise_are_warned_of(settings: Settings, layout: Layout) -> None:
    write_inputs(layout, np.where(np.arange(len(EXAMS)) < GOLD, 70.0, 30.0) + np.arange(80) / 50)
    said = anchor_scores("mix", "gold", "silver", settings, layout, layout.root)
    assert said[1:] == ["They are not drawn alike in age: do not lean on these estimates."]
    table = pd.read_parquet(layout.root / "exchangeability.parquet").set_index("attribute")
    assert table.index[table["warning"]].tolist() == ["age"]
    assert "silver_score" in table.index
    # What is known of no exam is not asked about.
    assert "race" not in table.index


def test_nothing_is_written_where_only_exams_with_an_expert_label_were_scored(
    settings: Settings, layout: Layout
) -> None:
    write_inputs(layout, np.full(len(EXAMS), 50.0))
    (layout.scores("mix", "silver") / BEYOND).unlink()
    assert anchor_scores("mix", "gold", "silver", settings, layout, layout.root) == []
    assert not list(layout.root.glob("anchored*"))
