"""What stands beside the tests of an audit: given age or scanner, unequal spreads, trends, all pairs, whose labels."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tworulers.battery.audit import AuditResult, audit_scores
from tworulers.battery.mixed import find_stray, transform
from tworulers.battery.ordered import is_ordered
from tworulers.battery.provenance import find_provenance, is_by_machine
from tworulers.metrics.registry import METRICS
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes, Grouping
from tworulers.stats.stratified import compare_within_strata, cut_strata

N = 90
SETTINGS = Audit(
    metrics=["dice", "hd95"], bootstrap_draws=50, permutations=200, power_draws=0, linear_terms=[]
)
ATTRIBUTES = Attributes(
    "few",
    resampling_unit="patient",
    groupings={
        "site": Grouping("Site", "levels", "site", {"A": ["A"], "B": ["B"]}),
        "age_3bin": Grouping("Age", "bins", "age", edges=[45, 60]),
        "bmi": Grouping("BMI", "levels", "bmi", {x: [x] for x in ("low", "mid", "high")}),
    },
)


def make(seed: int = 0, exams_each: int = 1) -> dict[str, pd.DataFrame | pd.Series]:
    """Exams of two sites that differ in age, which alone drives the scores."""
    rng = np.random.default_rng(seed)
    patients = np.arange(N) // exams_each
    site = (np.arange(patients.max() + 1) % 2)[patients]
    age = (rng.normal(45, 10, patients.max() + 1))[patients] + 12 * site
    exams = [f"e{i:02d}" for i in range(N)]
    dice = 1 / (1 + np.exp(0.06 * (age - 50) - 2 + 0.4 * rng.normal(size=N)))
    table = pd.DataFrame(
        {
            "site": np.array(["A", "B"])[site],
            "age": age,
            "bmi": np.array(["low", "mid", "high"])[np.arange(N) // 6 % 3],
            "manufacturer": np.array(["GE", "Siemens ", "siemens"])[np.arange(N) // 2 % 3],
            "patient_id": [f"p{p}" for p in patients],
        },
        index=pd.Index(exams, name="exam_id"),
    )
    scores = pd.DataFrame(
        {
            "exam_id": exams * 2,
            "regime": "r",
            "ruler": "gold",
            "provenance": "gold",
            "structure": "vb",
            "metric": np.repeat(["dice", "hd95"], N),
            "value": [*dice, *np.where(np.arange(N) == 7, np.inf, 10 * (1 - dice))],
            "undefined_because": None,
        }
    )
    return {"scores": scores, "exams": table}


def group(table: pd.DataFrame) -> pd.DataFrame:
    bins = pd.cut(table["age"], [-np.inf, 45, 60, np.inf], labels=["<45", "45-60", "60+"])
    return pd.DataFrame(
        {
            "site": pd.Categorical(table["site"], ["A", "B"], ordered=True),
            "age_3bin": pd.Categorical(bins, ordered=True),
            "bmi": pd.Categorical(table["bmi"], ["low", "mid", "high"], ordered=True),
        },
        index=table.index,
    )


def run(made: dict, settings: Audit = SETTINGS, attributes: Attributes = ATTRIBUTES) -> AuditResult:
    table = made["exams"]
    groups = group(table)
    return audit_scores(
        made["scores"], groups, table["patient_id"], settings, attributes, exams=table
    )


@pytest.fixture(scope="module")
def single() -> AuditResult:
    return run(make())


@pytest.fixture(scope="module")
def repeated() -> AuditResult:
    return run(make(exams_each=3))


def pick(frame: pd.DataFrame, **wanted: str) -> pd.DataFrame:
    for name, value in wanted.items():
        frame = frame[frame[name] == value]
    return frame


def test_a_difference_of_age_is_gone_given_age(single: AuditResult) -> None:
    test = pick(single.tests, grouping="site", metric="dice").iloc[0]
    given = pick(single.adjusted, grouping="site", metric="dice", given="age").iloc[0]
    assert test["p"] < 0.001
    assert given["p"] > 0.05
    made = make()
    values = made["scores"]["value"].to_numpy()[:N]
    age, codes = made["exams"]["age"].to_numpy(), (made["exams"]["site"] == "B").to_numpy()
    wanted = compare_within_strata(
        values, codes.astype(int), cut_strata(age, np.arange(N), 5), np.arange(N)
    )
    assert given["p"] == pytest.approx(wanted.p)
    assert (given["strata"], given["n"], given["counted_by"]) == (wanted.strata, N, "exam")


def test_levels_are_merged_and_groups_made_of_the_column_say_so(single: AuditResult) -> None:
    scanner = pick(single.adjusted, grouping="site", metric="dice", given="manufacturer").iloc[0]
    assert scanner["strata"] == 2
    own = pick(single.adjusted, grouping="age_3bin", given="age")
    assert set(own["undefined_because"]) == {"groups are made of age"}
    assert own["p"].isna().all()
    assert set(single.adjusted["given"]) == {"age", "manufacturer"}


def test_adjusted_p_are_corrected_apart(single: AuditResult) -> None:
    part = pick(single.adjusted, given="manufacturer")
    assert part["p_fdr"].to_numpy() == pytest.approx(stats.false_discovery_control(part["p"]))


def test_patients_stay_together(repeated: AuditResult) -> None:
    for frame in (repeated.adjusted, repeated.trends, repeated.shifts):
        assert set(frame["counted_by"].dropna()) == {"patient"}
    drawn = pick(repeated.adjusted, given="age")["p"].dropna() * (SETTINGS.permutations + 1)
    assert drawn.to_numpy() == pytest.approx(drawn.round().to_numpy())
    spread = repeated.tests["p_unequal_spread"] * (SETTINGS.permutations + 1)
    assert spread.to_numpy() == pytest.approx(spread.round().to_numpy())


def test_p_of_unequal_spread_is_brunner_and_munzels(single: AuditResult) -> None:
    made = make()
    values = made["scores"]["value"].to_numpy()[:N]
    second = (made["exams"]["site"] == "B").to_numpy()
    wanted = stats.brunnermunzel(values[~second], values[second]).pvalue
    row = pick(single.tests, grouping="site", metric="dice").iloc[0]
    assert row["p_unequal_spread"] == pytest.approx(wanted, rel=1e-6)


def test_trends_are_of_ordered_groupings_alone(single: AuditResult) -> None:
    assert set(single.trends["grouping"]) == {"age_3bin"}
    dice = pick(single.trends, metric="dice").iloc[0]
    assert dice["tau"] < -0.3
    assert dice["p"] < 1e-4
    declared = {**ATTRIBUTES.groupings}
    declared["bmi"] = replace(declared["bmi"], ordered=True)
    found = run(make(), attributes=replace(ATTRIBUTES, groupings=declared))
    assert set(found.trends["grouping"]) == {"age_3bin", "bmi"}
    assert is_ordered(Grouping("x", "column", "x", bins=[1, 2]))
    assert not is_ordered(Grouping("x", "column", "x", bins="levels"))


def test_intervals_of_all_pairs(single: AuditResult) -> None:
    pairs = pick(single.shifts, grouping="age_3bin", metric="dice")
    assert list(zip(pairs["group_a"], pairs["group_b"], strict=True)) == [
        ("<45", "45-60"),
        ("<45", "60+"),
        ("45-60", "60+"),
    ]
    assert ((pairs["shift_low"] < pairs["shift"]) & (pairs["shift"] < pairs["shift_high"])).all()
    assert (pairs["shift"] < 0).all()


def test_mixed_model_takes_age_and_patients_in(repeated: AuditResult, single: AuditResult) -> None:
    model = pick(repeated.mixed, grouping="site", metric="dice")
    assert model["term"].tolist() == ["intercept", "B - A", "age", "manufacturer: Siemens - GE"]
    first = model.iloc[0]
    assert (first["response"], first["random"], first["df"]) == ("logit", '["patient"]', 26)
    age = model.iloc[2]
    assert age["low"] < -0.06 < age["high"]
    assert model.iloc[1]["p"] > 0.01
    assert len(set(model["group_p"])) == 1
    assert first["group_p"] == pytest.approx(model.iloc[1]["p"])
    alone = pick(single.mixed, grouping="site", metric="hd95").iloc[0]
    assert (alone["response"], alone["random"], alone["n"]) == ("log1p", "[]", N - 1)
    assert (alone["n_infinite"], alone["n_left_out"]) == (1, 1)


def test_no_model_of_few_patients_and_many_levels_are_random() -> None:
    made = make(exams_each=5)
    found = run(made)
    assert set(found.mixed["undefined_because"]) == {"18 patients, fewer than 20"}
    made = make(exams_each=3)
    made["exams"]["manufacturer"] = [f"s{i % 9}" for i in range(N)]
    model = pick(run(made).mixed, grouping="site", metric="dice")
    assert set(model["random"]) == {'["patient", "manufacturer"]'}
    assert len(model) == 3


def test_scales() -> None:
    share, name = transform(np.array([0.0, 0.5, 1.0]), METRICS["dice"])
    assert name == "logit"
    assert share == pytest.approx([-np.log(5), 0, np.log(5)])
    assert transform(np.array([0.0, np.e - 1]), METRICS["hd95"])[0] == pytest.approx([0, 1])


def test_nothing_is_given_where_nothing_is_asked_or_there() -> None:
    settings = replace(SETTINGS, given=[], linear=False)
    found = run(make(), settings)
    assert found.adjusted.empty
    assert found.mixed.empty
    made = make()
    made["exams"] = made["exams"].drop(columns=["age", "manufacturer"])
    table = made["exams"].assign(age=make()["exams"]["age"])
    bare = audit_scores(made["scores"], group(table), table["patient_id"], SETTINGS, ATTRIBUTES)
    assert bare.adjusted.empty


def test_ages_above_89_are_the_oldest() -> None:
    made = make()
    table = made["exams"]
    over = table["age"] > table["age"].quantile(0.95)
    table["age_over_89"] = over
    whole = pick(run(made).adjusted, grouping="site", metric="dice", given="age").iloc[0]
    groups = group(table)
    table["age"] = table["age"].mask(over)
    found = audit_scores(
        made["scores"], groups, table["patient_id"], SETTINGS, ATTRIBUTES, exams=table
    )
    row = pick(found.adjusted, grouping="site", metric="dice", given="age").iloc[0]
    assert (row["p"], row["n_left_out"]) == (pytest.approx(whole["p"]), 0)


def test_labels_of_a_machine_are_counted_and_taken_out() -> None:
    made = make(1)
    scores, table = made["scores"], made["exams"]
    rng = np.random.default_rng(0)
    machine = pd.Series(rng.random(N) < np.where(table["site"] == "A", 0.3, 0.7), table.index)
    dice = np.where(machine, 0.95, 0.8) + 0.02 * rng.normal(size=N)
    scores["value"] = np.tile(dice, 2)
    scores["provenance"] = np.tile(np.where(machine, "silver", "gold"), 2)
    found = run(made)
    shares = pick(found.label_shares, grouping="site").set_index("group")
    for site in ("A", "B"):
        inside = table["site"] == site
        assert shares.loc[site, "n_machine"] == machine[inside].sum()
        assert shares.loc[site, "share_machine"] == pytest.approx(machine[inside].mean())
    test = pick(found.tests, grouping="site", metric="dice").iloc[0]
    given = pick(found.adjusted, grouping="site", metric="dice", given="provenance").iloc[0]
    assert test["p"] < 0.01 < given["p"]
    assert given["strata"] == 2
    assert is_by_machine(find_provenance(scores)).tolist() == machine.tolist()


def test_one_kind_of_label_has_no_shares(single: AuditResult) -> None:
    assert single.label_shares.empty
    assert list(single.label_shares.columns)[:2] == ["grouping", "group"]


def test_a_score_beyond_its_bounds_is_no_logit_and_is_named() -> None:
    assert find_stray(np.array([0.2, 1.3, 0.5]), METRICS["dice"]) == (
        "a score of 1.3 lies beyond the bounds of Dice"
    )
    assert find_stray(np.array([0.0, 1.0]), METRICS["dice"]) is None
    assert "-0.5" in str(find_stray(np.array([-0.5, 30.0]), METRICS["hd95"]))
    assert find_stray(np.array([0.0, 1e6]), METRICS["hd95"]) is None
