"""Patients are never on both sides, sexes are equal, and nothing but names and the seed decides."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tworulers.cohort.leakage import apply_given_folds, find_fold_faults
from tworulers.cohort.split import (
    SplitError,
    check_folds,
    hide_expert_labels,
    split_cohort,
    split_patients,
)
from tworulers.schema.settings import Provenance, Regime, SplitSettings
from tworulers.schema.sources import Grouping
from tworulers.schema.table_models import Splits, check_table

CONF = Path(__file__).parents[3] / "conf" / "split"
MIX = Regime(name="mix", provenances=[Provenance.GOLD, Provenance.SILVER])
GOLD = Regime(name="gold", provenances=[Provenance.GOLD])
SILVER = Regime(name="silver", provenances=[Provenance.SILVER])


def read_settings(name: str) -> SplitSettings:
    content = yaml.safe_load((CONF / f"{name}.yaml").read_text())
    groupings = {key: Grouping(**fields) for key, fields in content.pop("groupings").items()}
    return SplitSettings(groupings=groupings, **content)


def make_cohort(
    patients: int = 1231, gold: int = 481, second_exams: int = 23, seed: int = 0
) -> pd.DataFrame:
    """Draw people with the published shares of sex, race and age; the first patients are gold."""
    rng = np.random.default_rng(seed)
    rows = [(f"p{i:04d}", f"p{i:04d}_1") for i in range(patients)]
    rows += [
        (f"p{i:04d}", f"p{i:04d}_2") for i in rng.choice(patients, second_exams, replace=False)
    ]
    cohort = pd.DataFrame(rows, columns=["patient_id", "exam_id"])
    number = cohort["patient_id"].str[1:].astype(int)
    age = np.round(rng.normal(54.6, 16.3, patients).clip(18, 95))
    sex = np.repeat(
        ["Female", "Male"], [round(0.547 * patients), patients - round(0.547 * patients)]
    )
    cohort["sex"] = rng.permutation(sex)[number]
    races = ["White", "Black or African American", "Not Reported", "Other", "Asian"]
    cohort["race"] = rng.choice(races, patients, p=[0.645, 0.278, 0.027, 0.03, 0.02])[number]
    cohort["age"] = np.where(age > 89, np.nan, age)[number]
    cohort["age_over_89"] = cohort["age"].isna()
    cohort["provenance"] = np.where(number < gold, "gold", "silver")
    cohort["label"] = "label"
    return cohort


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    return split_cohort(make_cohort(), read_settings("paper"), [MIX, GOLD, SILVER])


def kept(splits: pd.DataFrame, regime: str) -> pd.DataFrame:
    return splits[(splits["regime"] == regime) & (splits["split"] != "dropped")]


def test_sizes_are_about_the_published_ones(published: pd.DataFrame) -> None:
    check_table(published, Splits, "splits")
    sizes = kept(published, "mix")["split"].value_counts()
    assert sizes["train"] == pytest.approx(798, rel=0.04)
    assert sizes["val"] == pytest.approx(116, rel=0.12)
    assert sizes["test"] == pytest.approx(228, rel=0.08)
    gold = kept(published, "gold")["split"].value_counts()
    assert gold["train"] == pytest.approx(288, rel=0.12)
    assert gold["test"] == pytest.approx(76, rel=0.25)


@pytest.mark.parametrize("regime", ["mix", "gold", "silver"])
def test_each_set_is_balanced_and_no_patient_is_in_two(
    published: pd.DataFrame, regime: str
) -> None:
    exams = kept(published, regime).merge(make_cohort()[["exam_id", "sex"]], on="exam_id")
    assert exams.groupby("patient_id")["split"].nunique().max() == 1
    assert exams.groupby("patient_id")["fold"].nunique().max() <= 1
    for _, members in exams.groupby("split"):
        counts = members["sex"].value_counts()
        assert counts["Female"] == counts["Male"]
    dropped = published[(published["regime"] == regime) & (published["split"] == "dropped")]
    assert dropped["reason"].str.contains("sex balanced in").all()
    assert len(dropped) > 0


def test_a_regime_has_only_exams_of_the_mix_sets(published: pd.DataFrame) -> None:
    mix = kept(published, "mix").set_index("exam_id")["split"]
    for regime in ("gold", "silver"):
        own = kept(published, regime).set_index("exam_id")["split"]
        assert (mix[own.index] == own).all()


def test_folds_cover_development_evenly_by_stratum(published: pd.DataFrame) -> None:
    mix = kept(published, "mix")
    development = mix[mix["split"] != "test"]
    assert development["fold"].notna().all()
    assert mix.loc[mix["split"] == "test", "fold"].isna().all()
    patients = development.drop_duplicates("patient_id")
    assert np.ptp(patients["fold"].value_counts()) <= 1
    assert np.ptp(pd.crosstab(patients["stratum"], patients["fold"]).to_numpy(), axis=1).max() <= 1


def test_small_race_groups_and_missing_values_share_a_stratum(published: pd.DataFrame) -> None:
    strata = set(published["stratum"])
    assert "other" in strata
    assert len(strata) == 13


@settings(max_examples=8, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 1000))
def test_row_order_changes_nothing(random: object, seed: int) -> None:
    cohort = make_cohort(120, 50, 8)
    choice = read_settings("paper")
    choice.seed = seed
    order = list(range(len(cohort)))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = cohort.iloc[order]
    first, second = (split_cohort(frame, choice, [MIX, GOLD]) for frame in (cohort, shuffled))
    pd.testing.assert_frame_equal(first, second)


def test_another_seed_makes_another_split() -> None:
    choice = read_settings("plain")
    first = split_patients(make_cohort(), choice)["split"]
    choice.seed = 1
    assert (first != split_patients(make_cohort(), choice)["split"]).mean() > 0.2


def test_the_split_does_not_look_at_provenance() -> None:
    cohort = make_cohort(200, 80)
    other = cohort.assign(provenance="gold")
    choice = read_settings("plain")
    assert (split_patients(cohort, choice)["split"] == split_patients(other, choice)["split"]).all()


def test_a_plain_split_drops_nobody() -> None:
    splits = split_cohort(make_cohort(260, 260, 0), read_settings("plain"), [MIX])
    assert splits["split"].value_counts().to_dict() == {"train": 182, "test": 52, "val": 26}


def test_unreported_sex_is_neither_balanced_nor_dropped() -> None:
    cohort = make_cohort(200, 200, 0)
    cohort.loc[:3, "sex"] = ["Not Reported", None, "", "unknown"]
    splits = split_cohort(cohort, read_settings("paper"), [MIX]).set_index("exam_id")
    assert (splits.loc[cohort["exam_id"][:4], "split"] != "dropped").all()


def test_hidden_expert_labels_leave_the_test_set_alone() -> None:
    cohort = make_cohort(260, 260, 0)
    choice = read_settings("plain")
    hidden = hide_expert_labels(cohort, choice, share=0.4, seed=0)
    split = split_patients(cohort, choice).set_index("exam_id")["split"]
    silver = hidden[hidden["provenance"] == "silver"]
    assert len(silver) == 208 - round(0.4 * 208)
    assert silver["label"].isna().all()
    assert (split[silver["exam_id"]] != "test").all()
    splits = split_cohort(hidden, choice, [MIX, GOLD])
    assert (kept(splits, "mix")["split"] == "test").sum() == 52
    assert (kept(splits, "gold")["split"] == "test").sum() == 52


@pytest.mark.parametrize(("folds", "fails"), [(5, True), (2, False)])
def test_too_few_patients_for_the_folds(folds: int, fails: bool) -> None:
    cohort = pd.DataFrame(
        {
            "exam_id": ["p1_a", "p1_b", "p2_a"],
            "patient_id": ["p1", "p1", "p2"],
            "provenance": "gold",
        }
    )
    choice = SplitSettings(test=0, val=0, folds=folds)
    if fails:
        message = r"2 patients \(3 cases\) cannot make 5 folds; at most 2"
        with pytest.raises(SplitError, match=message):
            split_cohort(cohort, choice, [MIX])
    else:
        splits = split_cohort(cohort, choice, [MIX]).set_index("exam_id")["fold"]
        assert splits["p1_a"] == splits["p1_b"] != splits["p2_a"]
        check_folds(cohort, folds)


def test_no_expert_labels_is_one_clear_error() -> None:
    cohort = make_cohort(100, 0)
    with pytest.raises(SplitError, match="0 of 123; regimes mix, gold need them"):
        split_cohort(cohort, read_settings("paper"), [MIX, GOLD])
    assert len(split_cohort(cohort, read_settings("plain"), [SILVER])) == 123


def test_a_regime_without_exams_in_a_set_is_named() -> None:
    cohort = make_cohort(60, 1, 0)
    with pytest.raises(SplitError, match=r"regime gold .* has no exam in .*(val|test)"):
        split_cohort(cohort, read_settings("plain"), [GOLD])


LEAKY = [
    {"train": ["e1", "e3"], "val": ["e2"]},
    {"train": ["e2", "e4", "e5"], "val": ["e1", "e4", "e9"]},
]
EXAMS = pd.DataFrame(
    {"exam_id": ["e1", "e2", "e3", "e4", "e5"], "patient_id": ["P1", "P1", "P2", "P3", "P4"]}
)


def test_every_fault_of_a_given_split_is_listed() -> None:
    faults = find_fold_faults(LEAKY, EXAMS)
    assert faults.patient_overlap == {0: ["P1"], 1: ["P1", "P3"]}
    assert faults.case_overlap == {0: [], 1: ["e4"]}
    assert faults.unknown_cases == ["e9"]
    assert faults.never_validated == ["e3", "e5"]
    with pytest.raises(SplitError) as error:
        apply_given_folds(EXAMS.assign(provenance="gold"), LEAKY, SplitSettings(), [MIX])
    for text in ("fold 0: patients P1", "fold 1: cases e4", "e9", "e3, e5"):
        assert text in str(error.value)


def test_a_sound_given_split_is_taken_as_it_is() -> None:
    cohort = make_cohort(60, 30, 0)
    ids = sorted(cohort["exam_id"])[:40]
    folds = [{"train": ids[20:], "val": ids[:20]}, {"train": ids[:20], "val": ids[20:]}]
    splits = apply_given_folds(cohort, folds, SplitSettings(), [MIX])
    splits = splits.set_index("exam_id")
    assert (splits["split"] == "test").sum() == 20
    assert (splits.loc[ids[:20], "fold"] == 0).all()
    assert (splits.loc[ids[20:], "fold"] == 1).all()
