"""Coverage of the enumerated DIR intervals is known from an independent enumeration (golden)."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))
from calibration.anchored import calibrate_anchored
from calibration.diagnosis import calibrate_diagnosis
from calibration.family import calibrate_family, draw_people
from calibration.intervals import calibrate_ratio

GOLDEN = {  # n, rates: coverage of BCa and percentile
    ("38 / 38", "0.97 / 0.97"): (0.93, 0.9826),
    ("45 / 20", "0.95 / 0.95"): (0.6651, 0.5901),
    ("45 / 20", "0.95 / 0.85"): (0.8362, 0.9766),
    ("38 / 38", "0.95 / 0.80"): (0.9192, 0.9573),
    ("100 / 50", "0.95 / 0.85"): (0.898, 0.9529),
}


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.slow
def test_exact_coverage_is_the_golden_one() -> None:
    found = calibrate_ratio(50, 5, rng()).set_index(["n", "rates", "interval"])["coverage"]
    for (n, rates), (bca, percentile) in GOLDEN.items():
        assert found[n, rates, "exact BCa"] == pytest.approx(bca, abs=2e-3)
        assert found[n, rates, "exact percentile"] == pytest.approx(percentile, abs=2e-3)


@pytest.mark.slow
def test_flips_of_one_mode_seldom_get_the_opposite_one() -> None:
    judged = calibrate_diagnosis(150, 4, 300, (76,), rng())
    pure = judged[~judged["mode"].isin(["both", "neither"])]
    assert len(pure) > 250
    assert pure["opposite"].mean() < 0.05
    named = pure[pure["gap (SD)"] > 0].groupby("mode")["verdict"]
    silent = ["unattributed", "not_shown"]
    right = named.apply(lambda verdicts: (~verdicts.isin(silent)).mean())
    assert (right > 0.4).all()
    scaled = judged[judged["ruler"].str.startswith("everything")]
    assert len(scaled) > 40
    assert (~scaled["verdict"].isin(silent)).mean() < 0.15


def test_codings_of_one_attribute_are_consistent_and_families_keep_their_level() -> None:
    people = draw_people(300, rng())
    white = people["race_wbo"] == "group 2"
    assert (people.loc[white, "race_wb"] == "group 1").all()
    assert (people.loc[white, "race_wn"] == "group 1").all()
    assert people.loc[people["race_wbo"] == "group 1", "race_wb"].isna().all()
    scores = pd.DataFrame(rng().normal(size=(60, 2)), columns=["a", "b"])
    (row,) = calibrate_family({"noise": scores}, 40, rng()).to_dict("records")
    assert row["tests"] == 14
    assert row["any discovery"] <= 0.2


def test_a_closer_silver_score_makes_the_anchored_interval_narrower() -> None:
    found = calibrate_anchored(30, 100, rng())
    widths = found[found["gold exams"] == 60].groupby("correlation")["width / gold alone"].first()
    assert widths.loc[0.9] < widths.loc[0.6] < widths.loc[0.35] < 1.02
