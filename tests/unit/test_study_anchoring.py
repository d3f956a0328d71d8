"""Gold-anchored means: which exams count as with and without an expert label, and when the reader is warned."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tworulers.io.answers import read_anchored, write_anchored
from tworulers.metrics.registry import METRICS
from tworulers.report.words.anchored import say_anchored
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes, Grouping
from tworulers.study import Reference, Study

GOLD, MORE = 20, 60
EXAMS = [f"e{i:02}" for i in range(GOLD + MORE)]
SEX = Grouping("Sex", "levels", "sex", {"F": ["F"], "M": ["M"]}, group_order=["F", "M"])


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


def make_study(
    ages: np.ndarray, more: bool = True, fails: float | None = 0.5, patients: int = 80
) -> tuple[Study, pd.Series, pd.Series]:
    """Make scores that both rulers give the first exams and silver alone the others."""
    rng = np.random.default_rng(7)
    silver = pd.Series(rng.uniform(0.7, 0.95, len(EXAMS)), EXAMS)
    gold = silver[:GOLD] - 0.1 + rng.normal(0, 0.005, GOLD)
    people = pd.DataFrame(
        {
            "exam_id": EXAMS,
            "patient_id": [f"p{i % patients}" for i in range(80)],
            "age": ages,
            "age_over_89": False,
        }
    )
    people = people.assign(sex=["F", "M"] * (len(EXAMS) // 2), race=None, field_strength_t=3.0)
    study = Study(
        pd.concat([make_scores("gold", gold), make_scores("silver", silver[:GOLD])]),
        people,
        Attributes("sexes", resampling_unit="exam", groupings={"sex": SEX}),
        Audit("made", thresholds={} if fails is None else {"dice": fails}, permutations=200),
        {name: Reference(name, provenance=name) for name in ("gold", "silver")},
        {"mix": "mix"},
        METRICS,
        beyond=make_scores("silver", silver[GOLD:]) if more else None,
    )
    return study, gold, silver


def test_means_keep_to_the_expert_and_gain_from_the_machine(tmp_path: Path) -> None:
    study, gold, silver = make_study(np.tile([40.0, 50.0, 60.0, 70.0], 20))
    found = study.anchor("gold", "silver", "mix")
    assert found is not None
    said = say_anchored(found)
    assert said[0].startswith("Gold-anchored means rest on 20 exams with an expert label and 60")
    assert said[1:] == [
        "They are of exams that do not fail by the expert's label (macro Dice > 0.5); "
        "how often exams fail is estimated apart."
    ]
    write_anchored(found, said, tmp_path)
    again = read_anchored(tmp_path)
    assert again is not None
    assert say_anchored(again) == said
    means = again.means.set_index("group")
    assert means[["n_gold", "n_silver"]].to_numpy().tolist() == [[10, 30], [10, 30]]
    female = gold[[i % 2 == 0 for i in range(GOLD)]]
    assert means.loc["F", "gold_mean"] == pytest.approx(female.mean())
    # Silver lies a tenth above the expert; the anchored means lie where the expert's would.
    for place, sex in enumerate(("F", "M")):
        everyone = silver.iloc[place::2].mean() - 0.1
        assert means.loc[sex, "mean"] == pytest.approx(everyone, abs=0.01)
        assert means.loc[sex, "effective_n"] > 20
    gaps = again.gaps
    assert gaps[["grouping", "group_a", "group_b"]].to_numpy().tolist() == [["sex", "F", "M"]]
    assert gaps["difference"][0] == pytest.approx(means.loc["M", "mean"] - means.loc["F", "mean"])


def test_exams_that_are_drawn_otherwise_are_warned_of() -> None:
    ages = np.where(np.arange(len(EXAMS)) < GOLD, 70.0, 30.0) + np.arange(80) / 50
    found = make_study(ages)[0].anchor()
    assert found is not None
    warned = say_anchored(found)[2]
    assert warned.startswith("They are not drawn alike in age (adjusted p ")
    assert warned.endswith("): do not lean on these estimates.")
    table = found.exchangeability.set_index("attribute")
    assert table.index[table["warning"]].tolist() == ["age"]
    assert "silver_score" in table.index
    # What is known of no exam is not asked about.
    assert "race" not in table.index


def test_nothing_is_anchored_where_only_exams_with_an_expert_label_were_scored(
    tmp_path: Path,
) -> None:
    assert make_study(np.full(len(EXAMS), 50.0), more=False)[0].anchor() is None
    assert read_anchored(tmp_path) is None


AGES = np.tile([40.0, 50.0, 60.0, 70.0], 20)


def test_failures_are_counted_apart_and_the_mean_is_of_the_others(tmp_path: Path) -> None:
    study, gold, silver = make_study(AGES, fails=0.7)
    found = study.anchor()
    assert found is not None
    write_anchored(found, [], tmp_path)
    again = read_anchored(tmp_path)
    assert again is not None
    assert again.threshold == 0.7
    female = gold.iloc[::2]
    rate, mean = (table.set_index("group").loc["F"] for table in (again.failures, again.means))
    assert rate["failed"] == (female <= 0.7).sum() > 0
    assert rate["silver_failed"] == (silver.iloc[GOLD::2] <= 0.7).sum()
    assert mean["n_rest"] == (female > 0.7).sum()
    assert mean["gold_mean"] == pytest.approx(female[female > 0.7].mean())
    assert mean["all_mean"] == pytest.approx(female.mean())
    assert mean["all_low"] < female.mean() < mean["all_high"]
    gap = again.failure_gaps.iloc[0]
    rates = again.failures["gold_rate"]
    assert gap["gold_difference"] == pytest.approx(rates[1] - rates[0])
    # What may be excluded of a difference is what each interval of half the error leaves.
    bound = again.gaps.iloc[0]
    width = bound["all_difference_high"] - bound["all_difference_low"]
    assert width > (again.means["all_high"] - again.means["all_low"]).sum()


def test_without_a_threshold_the_bound_stands_alone() -> None:
    found = make_study(AGES, fails=None)[0].anchor()
    assert found is not None
    assert found.failures.empty
    assert found.means[["gold_mean", "low", "high", "gold_low"]].isna().all(axis=None)
    assert set(found.means["undefined_because"]) == {"no failure threshold was fixed"}
    assert found.means[["all_mean", "all_low", "all_high"]].notna().all(axis=None)
    assert found.gaps["difference"].isna().all()
    assert found.gaps["all_difference_low"].notna().all()
    assert "neither how often exams fail nor the mean" in say_anchored(found)[1]


def test_patients_are_the_units_wherever_one_repeats() -> None:
    alone, repeated = (make_study(AGES, fails=0.7, patients=n)[0].anchor() for n in (80, 10))
    assert alone is not None
    assert repeated is not None
    assert list(alone.means["n_patients"]) == list(alone.means["n_rest"])
    assert (repeated.means["n_patients"] < repeated.means["n_rest"]).all()
    for name, low, high in (
        ("means", "all_low", "all_high"),
        ("failures", "gold_low", "gold_high"),
    ):
        widths = [getattr(one, name)[high] - getattr(one, name)[low] for one in (alone, repeated)]
        assert (widths[1] > widths[0]).all()
