"""Golden values: 76 simulated exams (tests/golden/e2_rulers.json), computed with SciPy."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tworulers.diagnosis.comparison import (
    Audited,
    compare_regimes,
    compare_rulers,
)
from tworulers.diagnosis.probability import verdict_probability
from tworulers.report.words.rulers import put_into_words
from tworulers.schema.settings import Audit

SETTINGS = Audit(name="test", bootstrap_draws=2_000, permutations=2_000)
KEY = ["grouping", "structure", "metric"]
FLIPPED = ("age_3bin", "macro", "dice")


@pytest.fixture(scope="module")
def e2(root: Path) -> dict:
    return json.loads((root / "tests" / "golden" / "e2_rulers.json").read_text())


@pytest.fixture(scope="module")
def groups(e2: dict) -> pd.DataFrame:
    levels = {"age_3bin": ["<40", "40-60", "60+"], "age_median": ["younger", "older"]}
    return pd.DataFrame(
        {
            name: pd.Categorical(e2[name], categories=order, ordered=True)
            for name, order in levels.items()
        },
        index=pd.Index([f"E{i:02}" for i in range(76)], name="exam_id"),
    )


def audited(e2: dict, ruler: str, values: dict[str, list[float]] | None = None) -> Audited:
    parts = []
    for score, column in (values or e2[ruler]).items():
        metric, structure = score.split("_")
        part = pd.DataFrame({"exam_id": [f"E{i:02}" for i in range(76)], "value": column})
        parts.append(part.assign(structure=structure, metric=metric))
    scores = pd.concat(parts).assign(regime="mix", ruler=ruler, provenance=ruler)
    tests, disparities = [], []
    for key, test in e2["tests"][ruler].items():
        grouping, score = key.split("/")
        metric, structure = score.split("_")
        row = {"grouping": grouping, "structure": structure, "metric": metric, "family": "main"}
        verdict = {"verdict_by": "exam", "verdict_undefined_because": None}
        verdict |= {"p_verdict": test["p"], "p_verdict_fdr": test["p_fdr"]}
        tests.append(row | test | verdict)
        ratio = e2["dir"][ruler][key]["dir"]
        disparities.append(
            row
            | {"threshold": 0.8, "primary": True, "groups": "", "counts": f"{ruler} counts"}
            | {"dir": ratio, "below_four_fifths": ratio < 0.8}
        )
    return Audited(scores, pd.DataFrame(tests), pd.DataFrame(disparities))


@pytest.fixture(scope="module")
def comparison(e2: dict, groups: pd.DataFrame):
    found = compare_rulers(audited(e2, "gold"), audited(e2, "silver"), groups, SETTINGS)
    return put_into_words(found)


def test_none_of_the_eleven_flips_is_shown_with_the_golden_figures(e2, comparison) -> None:
    """The golden numbers stay; its names claimed what the exchange of the rulers does not show."""
    verdicts = comparison.verdicts.set_index(KEY)
    assert comparison.summary["flips"]["main"] == {"other_only": 11, "neither": 1}
    for key, expected in e2["verdicts"].items():
        grouping, score = key.split("/")
        metric, structure = score.split("_")
        row = verdicts.loc[grouping, structure, metric]
        flipped = expected["verdict"] == "false_confidence"
        assert row["verdict"] == ("consistent_with_noise_part" if flipped else expected["verdict"])
        assert row["mechanism"] == ("consistent_with_noise_part" if flipped else "none")
        assert row["part_moved"] == ("noise" if flipped else "neither")
        assert not row["change_shown"]
        if flipped:
            assert "consistent with less noise under the silver ruler" in row["sentence"]
            assert "within chance, swap p" in row["not_shown_because"]
            assert row["not_shown_because"] in row["sentence"]
            assert "shrinking" not in row["sentence"]
        assert row["collapsed"] == expected["collapsed"]
        assert row["grew"] == expected["grew"]
        assert row["reversal"] == expected["reversal"]
        assert row["hc3_p"] == pytest.approx(expected["hc3_p"], rel=1e-6)
        assert [row["vcr_mad_low"], row["vcr_mad_high"]] == pytest.approx(
            expected["mad_ratio_ci"], rel=0.08
        )
        assert row["swap_p"] == pytest.approx(expected["swap_p"], abs=0.03)
        assert row["sentence"].endswith("This concerns the ruler; of the patients it says nothing.")
        assert "gold is gold, silver is silver" in row["sentence"]


def test_the_silver_ruler_is_too_close_and_its_agreement_confirms_nothing(comparison) -> None:
    assert comparison.summary["status"] == "too_close"
    assert set(comparison.closeness["note"]) == {
        "ruler against expert unknown; shared error unknown"
    }
    agreeing = comparison.verdicts[~comparison.verdicts["significant_other"]]
    assert set(agreeing["verdict"]) == {"too_close"}
    flip = comparison.verdicts.set_index(KEY).loc[FLIPPED]
    assert "base no verdict on fairness on it" in flip["sentence"]


def test_the_summary_is_strict_json_and_two_runs_agree(e2, groups, comparison) -> None:
    text = json.dumps(comparison.summary, allow_nan=False)
    again = put_into_words(
        compare_rulers(audited(e2, "gold"), audited(e2, "silver"), groups, SETTINGS)
    )
    assert json.dumps(again.summary, allow_nan=False) == text
    pd.testing.assert_frame_equal(again.verdicts, comparison.verdicts)


def test_another_seed_moves_resampled_columns_only(e2, groups, comparison) -> None:
    other_seed = Audit(name="test", bootstrap_draws=2_000, permutations=2_000, seed=1)
    again = compare_rulers(audited(e2, "gold"), audited(e2, "silver"), groups, other_seed)
    moved = {
        column
        for table in ("spread", "decomposition", "inflation")
        for column in getattr(comparison, table)
        if not getattr(comparison, table)[column].equals(getattr(again, table)[column])
    }
    assert moved
    assert all(name.endswith(("_low", "_high", "_p")) or "draws" in name for name in moved)


def test_row_order_and_group_order_change_nothing(e2, groups, comparison) -> None:
    gold, silver = audited(e2, "gold"), audited(e2, "silver")
    shuffled = Audited(gold.scores.sample(frac=1, random_state=1), gold.tests, gold.disparities)
    turned = groups.sample(frac=1, random_state=2)
    found = put_into_words(compare_rulers(shuffled, silver, turned, SETTINGS))
    pd.testing.assert_frame_equal(found.verdicts, comparison.verdicts)


def test_identical_rulers_are_stable_with_nothing_to_explain(e2, groups) -> None:
    gold = audited(e2, "gold")
    copy = Audited(gold.scores.assign(ruler="copy"), gold.tests, gold.disparities)
    found = put_into_words(compare_rulers(gold, copy, groups, SETTINGS))
    assert set(found.verdicts["verdict"]) == {"neither_shown"}
    assert found.verdicts["sentence"].str.contains("neither ruler shows a difference").all()
    assert (found.inflation["mean"] == 0).all()
    assert (found.spread["vcr_mad"] == 1).all()
    assert (found.decomposition[["gap_part", "noise_part"]] == 0).all(axis=None)
    assert (found.verdicts["swap_p"] == 1).all()
    assert found.spread["pitman_morgan_p"].isna().all()
    assert set(found.spread["undefined_because"]) == {"no_difference"}


def test_a_regime_under_its_own_predictions_is_identical_without_verdict(e2, groups) -> None:
    ones = {score: [1.0] * 76 for score in e2["gold"] if score.startswith("dice")}
    gold = audited(e2, "gold")
    dice = Audited(gold.scores[gold.scores["metric"] == "dice"], gold.tests, gold.disparities)
    itself = audited(e2, "silver", ones)
    flat = itself.tests.assign(p=1.0, p_fdr=1.0, p_verdict=1.0, p_verdict_fdr=1.0)
    found = compare_rulers(dice, Audited(itself.scores, flat, itself.disparities), groups, SETTINGS)
    assert found.summary["status"] == "identical"
    assert set(found.verdicts["verdict"]) == {"too_close"}
    json.dumps(found.summary, allow_nan=False)


def test_a_small_group_gets_no_verdict_and_says_why(e2, groups) -> None:
    few = groups.copy()
    young = few.index[few["age_3bin"] == "<40"]
    few.loc[young[4:], "age_3bin"] = np.nan
    found = put_into_words(
        compare_rulers(audited(e2, "gold"), audited(e2, "silver"), few, SETTINGS)
    )
    row = found.verdicts.set_index(KEY).loc[FLIPPED]
    assert row["verdict"] == "undefined"
    assert row["undefined_because"] == "a group below 5 exams: <40 (n 4)"
    assert row["sentence"] == ""
    assert np.isfinite(row["vcr_mad"])


def test_one_group_is_undefined_with_its_reason(e2, groups) -> None:
    one = groups[["age_3bin"]].copy()
    one.loc[one["age_3bin"] != "<40", "age_3bin"] = np.nan
    found = compare_rulers(audited(e2, "gold"), audited(e2, "silver"), one, SETTINGS)
    assert set(found.verdicts["verdict"]) == {"undefined"}
    assert found.spread["undefined_because"].str.startswith("fewer than two groups").all()


def test_four_fifths_flips_stand_in_rows_of_their_own(e2, groups) -> None:
    gold, silver = audited(e2, "gold"), audited(e2, "silver")
    low = gold.disparities.copy()
    low.loc[0, ["dir", "below_four_fifths"]] = [0.7, True]
    low.loc[1, "dir"] = np.nan
    found = compare_rulers(Audited(gold.scores, gold.tests, low), silver, groups, SETTINGS)
    (row,) = found.four_fifths.to_dict("records")
    assert row["flip"] == "base_only"
    assert (row["dir_base"], row["dir_other"]) == (0.7, 1)
    assert (row["counts_base"], row["counts_other"]) == ("gold counts", "silver counts")
    assert found.summary["four_fifths_flips"] == {"main": {"base_only": 1}}


def test_rulers_need_one_regime_and_regimes_one_ruler(e2, groups) -> None:
    gold, silver = audited(e2, "gold"), audited(e2, "silver")
    other = Audited(silver.scores.assign(regime="gold"), silver.tests, silver.disparities)
    with pytest.raises(ValueError, match="one regime's predictions only; found 'mix' and 'gold'"):
        compare_rulers(gold, other, groups, SETTINGS)
    with pytest.raises(ValueError, match="one ruler only; found 'gold' and 'silver'"):
        compare_regimes(gold, other, groups, SETTINGS)


def test_regimes_compare_by_paired_differences_and_gap_changes(e2, groups) -> None:
    gold = audited(e2, "gold")
    older = (groups["age_median"] == "older").to_numpy()
    scores = gold.scores.assign(regime="gold")
    lower = np.tile(np.where(older, 0.05, 0.0), 6)
    worse = Audited(
        scores.assign(value=scores["value"].to_numpy() - lower), gold.tests, gold.disparities
    )
    found = compare_regimes(gold, worse, groups, SETTINGS)
    assert found.differences["mean"].to_numpy() == pytest.approx(-0.05 * older.mean())
    gap = found.gaps.set_index(KEY).loc["age_median", "macro", "dice"]
    assert gap["gap_change"] == pytest.approx(0.05)
    assert gap["change"] == "wider"
    back = compare_regimes(worse, gold, groups, SETTINGS).gaps.set_index(KEY)
    assert back.loc[("age_median", "macro", "dice"), "change"] == "narrower"
    assert found.summary["flips"] == {"main": {"neither": 12}}
    json.dumps(found.summary, allow_nan=False)


def test_patients_are_drawn_whole_where_asked(e2, groups) -> None:
    patients = pd.Series([f"P{i // 2}" for i in range(76)], index=groups.index)
    gold, silver = audited(e2, "gold"), audited(e2, "silver")
    exams = compare_rulers(gold, silver, groups, SETTINGS).spread
    whole = compare_rulers(gold, silver, groups, SETTINGS, patients=patients).spread
    assert (exams["vcr_mad"] == whole["vcr_mad"]).all()
    assert (exams["vcr_mad_low"] != whole["vcr_mad_low"]).any()


def test_with_more_exams_the_gold_ruler_finds_the_gap_too(e2, groups) -> None:
    gold, silver = audited(e2, "gold").scores, audited(e2, "silver").scores
    found = verdict_probability(gold, silver, groups, [40, 76, 600], 200, 0)
    row = found.set_index([*KEY, "n"]).sort_index().loc[FLIPPED]
    assert (row["probability_other"] > row["probability_base"]).loc[[40, 76]].all()
    assert row.loc[600, "probability_fdr_base"] > 0.95
    assert (found["probability_fdr_base"] <= found["probability_base"]).all()
    again = verdict_probability(gold, silver, groups, [40, 76, 600], 200, 0)
    pd.testing.assert_frame_equal(found, again)
