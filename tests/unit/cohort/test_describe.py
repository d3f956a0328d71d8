"""Table 1, scanner entanglement and volumes against values of SciPy (golden/e2_cohort.json)."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats

from tworulers.cohort.describe import (
    compare_pools,
    relate_age,
    relate_scanner,
    relate_volumes,
    summarise_ages,
    tabulate_cohort,
)
from tworulers.cohort.grouping import assign_groups
from tworulers.cohort.relate import relate_levels, relate_numbers, relate_ranks
from tworulers.schema.sources import Grouping

ROOT = Path(__file__).parents[3]
GOLDEN = json.loads((ROOT / "tests" / "golden" / "e2_cohort.json").read_text())
EXPECTED = GOLDEN["expected"]


@pytest.fixture(scope="module")
def cohort() -> pd.DataFrame:
    frame = pd.DataFrame(GOLDEN["exams"], columns=GOLDEN["columns"])
    for column in ("age", "field_strength_t", "vb_volume_mm3", "disc_volume_mm3"):
        frame[column] = pd.to_numeric(frame[column])
    return frame.assign(age_over_89=frame["age_over_89"] == "1", provenance="gold")


@pytest.fixture(scope="module")
def groups(cohort: pd.DataFrame) -> dict[str, pd.Series]:
    conf = yaml.safe_load((ROOT / "conf" / "attributes" / "paper.yaml").read_text())["groupings"]
    names = ("sex", "race_wb", "age_3bin")
    return {name: assign_groups(cohort, Grouping(**conf[name])) for name in names}


@pytest.mark.parametrize("grouping", ["sex", "race_wb", "age_3bin"])
@pytest.mark.parametrize("column", ["manufacturer", "field_strength_t"])
def test_scanner_entanglement(
    cohort: pd.DataFrame, groups: dict, grouping: str, column: str
) -> None:
    table = relate_scanner(cohort, groups).set_index(["variable", "by"])
    found, expected = table.loc[(grouping, column)], EXPECTED["scanner"][f"{grouping}~{column}"]
    assert found["statistic"] == pytest.approx(expected["chi2"], abs=1e-8)
    assert found["p"] == pytest.approx(expected["p"], abs=1e-8)
    assert found["effect"] == pytest.approx(expected["v"], abs=1e-8)


@pytest.mark.parametrize("column", ["manufacturer", "field_strength_t"])
def test_age_by_scanner(cohort: pd.DataFrame, groups: dict, column: str) -> None:
    found = relate_scanner(cohort, groups).set_index(["variable", "by"]).loc[("age", column)]
    assert found["p"] == pytest.approx(EXPECTED["scanner"][f"age~{column}"]["p"], abs=1e-8)


def test_age_by_race(cohort: pd.DataFrame, groups: dict) -> None:
    found = relate_age(cohort, {"race_wb": groups["race_wb"]}).iloc[0]
    expected = EXPECTED["age_by_race_wb"]
    assert found["p"] == pytest.approx(expected["p"], abs=1e-8)
    assert abs(found["effect"]) == pytest.approx(abs(expected["rank_biserial"]), abs=1e-8)
    assert found["highest"] == "Black"
    assert np.isnan(found["ratio_of_means"])


@pytest.mark.parametrize("structure", ["vb", "disc"])
def test_volumes(cohort: pd.DataFrame, groups: dict, structure: str) -> None:
    volumes = cohort[["exam_id"]].assign(
        structure=structure, volume_mm3=cohort[f"{structure}_volume_mm3"]
    )
    found = relate_volumes(volumes, cohort, groups).set_index("by")
    expected = EXPECTED[f"{structure}_volume_mm3"]
    for name in ("sex", "race_wb", "age_3bin"):
        assert found.loc[name, "statistic"] == pytest.approx(expected[name]["statistic"], abs=1e-8)
        assert found.loc[name, "p"] == pytest.approx(expected[name]["p"], abs=1e-8)
    assert found.loc["sex", "ratio_of_means"] == pytest.approx(
        expected["male_over_female_mean"], abs=1e-8
    )
    assert found.loc["sex", "effect"] == pytest.approx(
        expected["sex"]["cliffs_delta_first_minus_second"], abs=1e-8
    )
    assert found.loc["age", "effect"] == pytest.approx(expected["spearman_age"]["rho"], abs=1e-8)


def test_table_1_counts_every_exam_once_and_blanks_as_a_level(
    cohort: pd.DataFrame, groups: dict
) -> None:
    changed = cohort.copy()
    changed.loc[:1, "race"] = [None, " "]
    table = tabulate_cohort(changed, {"age_3bin": groups["age_3bin"]})
    assert (table.groupby("variable")["exams"].sum() == 76).all()
    cells = table.set_index(["variable", "level"])["exams"]
    assert cells["race", "missing"] == 2
    assert cells["field_strength_t", "1.5"] == (cohort["field_strength_t"] == 1.5).sum()
    assert table[table["variable"] == "age_3bin"]["exams"].tolist() == [21, 29, 26]


def test_ages_above_89_are_counted_and_not_averaged(cohort: pd.DataFrame) -> None:
    row = summarise_ages(cohort).set_index("pool").loc["all"]
    known = cohort["age"].dropna()
    assert (row["known"], row["over_89"], row["unknown"]) == (75, 1, 0)
    assert row["mean"] == pytest.approx(known.mean())
    assert row["sd"] == pytest.approx(np.std(known, ddof=1))


def test_pools_that_differ_are_told() -> None:
    rng = np.random.default_rng(0)
    n = 400
    pool = np.repeat(["gold", "silver"], n // 2)
    frame = pd.DataFrame(
        {
            "exam_id": [f"e{i}" for i in range(n)],
            "patient_id": [f"p{i}" for i in range(n)],
            "provenance": pool,
            "age_over_89": False,
            "age": rng.normal(np.where(pool == "gold", 50, 60), 10),
            "manufacturer": rng.choice(["A", "B"], n),
        }
    )
    sex = pd.Series(pd.Categorical(rng.choice(["F", "M"], n)), index=frame["exam_id"])
    found = compare_pools(frame, {"sex": sex}).set_index("variable")
    assert found.loc["age", "p"] < 1e-6
    assert found.loc["age", "highest"] == "silver"
    assert found.loc["sex", "p"] > 0.001


def test_small_expected_counts_use_an_exact_test() -> None:
    first = pd.Series(["a"] * 6 + ["b"] * 4)
    second = pd.Series(["x"] * 5 + ["y"] * 5)
    found = relate_levels(first, second)
    assert found.test == "fisher_exact"
    assert found.p == pytest.approx(stats.fisher_exact([[5, 1], [0, 4]])[1])


def test_small_expected_counts_of_a_larger_table_use_random_tables() -> None:
    rng = np.random.default_rng(1)
    first = pd.Series(rng.choice(list("abc"), 30))
    second = pd.Series(rng.choice(list("xyz"), 30))
    found = relate_levels(first, second)
    table = pd.crosstab(first, second).to_numpy()
    reference = stats.chi2_contingency(
        table,
        correction=False,
        method=stats.PermutationMethod(n_resamples=9999, rng=np.random.default_rng(5)),
    )
    assert found.test == "permutation"
    assert found.p == pytest.approx(reference.pvalue, abs=0.02)


def test_what_cannot_be_tested_says_why() -> None:
    values = pd.Series([1.0, 2.0, 3.0])
    groups = pd.Series(pd.Categorical(["a", "b", "b"], ordered=True))
    assert relate_numbers(values, groups).undefined_because == "fewer than two exams in a"
    alone = relate_levels(pd.Series(["a"] * 3), pd.Series(["x", "y", "x"]))
    assert alone.undefined_because == "fewer than two levels"
    assert np.isnan(alone.p)


def test_what_goes_together_is_tested_by_patients_where_they_repeat() -> None:
    rng = np.random.default_rng(2)
    sex = pd.Series(pd.Categorical(rng.permutation(["F", "M"] * 12), ["F", "M"], ordered=True))
    scanner = pd.Series(rng.choice(["A", "B", "C"], 24))
    age = pd.Series(rng.normal(50, 10, 24))
    size = age + pd.Series(rng.normal(0, 25, 24))
    once = pd.Series([f"p{i}" for i in range(24)])
    single = [
        relate_levels(sex, scanner, once),
        relate_numbers(age, sex, once),
        relate_ranks(size, age, once),
    ]
    assert all(found.p_verdict == found.p for found in single)
    shown = []
    for copies in (2, 6):
        frame = pd.DataFrame(
            {"sex": sex, "scanner": scanner, "age": age, "size": size, "who": once}
        )
        frame = frame.loc[frame.index.repeat(copies)].reset_index(drop=True)
        found = [
            relate_levels(frame["sex"], frame["scanner"], frame["who"]),
            relate_numbers(frame["age"], frame["sex"], frame["who"]),
            relate_ranks(frame["size"], frame["age"], frame["who"]),
        ]
        assert [one.p <= alone.p + 1e-9 for one, alone in zip(found, single, strict=True)] == [
            True
        ] * 3
        shown.append([one.p_verdict for one in found])
    # copies of exams leave p of patients where they are, near those of one exam each
    assert shown[0] == pytest.approx(shown[1], abs=1e-9)
    assert shown[0] == pytest.approx([one.p for one in single], abs=0.12)
