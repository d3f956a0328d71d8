"""How much of a changed conclusion is the test's own doing, and how much its family's."""

from typing import Any

import numpy as np
import pandas as pd

from tworulers.diagnosis.flips import tabulate_flips
from tworulers.stats.families import adjust_p


def family_of(published: list[list[float]]) -> pd.DataFrame:
    p, adjusted = np.array(published).T
    table = pd.DataFrame({"structure": [f"s{i}" for i in range(len(p))], "p": p, "p_fdr": adjusted})
    table = table.assign(grouping="g", metric="dice", family="main", verdict_by="exam")
    return table.assign(p_verdict=p, p_verdict_fdr=adjusted, verdict_undefined_because=None)


def test_the_published_flips_are_mostly_made_by_the_correction(
    battery_golden: dict[str, Any],
) -> None:
    gold, silver = (family_of(battery_golden["paper_fdr"][f"E2_{r}"]) for r in ("gold", "silver"))
    found = tabulate_flips(gold, silver, 0.05)
    flips = found[found["flip"] == "other_only"]
    assert len(flips) == 11
    # seven are significant before correction under gold already
    assert (flips["flip_unadjusted"] == "both").sum() == 7
    assert (flips["p_fdr_own_exchanged"] < 0.05).sum() == 4
    assert (flips["p_fdr_rest_exchanged"] < 0.05).sum() == 4


def test_the_exchange_is_what_it_says_and_an_untested_score_takes_no_part() -> None:
    base = family_of([[0.2, 0.3], [0.3, 0.3], [np.nan, np.nan], [0.04, 0.12]])
    other = family_of([[0.001, 0.003], [0.5, 0.5], [np.nan, np.nan], [0.03, 0.05]])
    found = tabulate_flips(base, other, 0.05)
    own = adjust_p(np.array([0.001, 0.3, np.nan, 0.04]))[0]
    rest = adjust_p(np.array([0.2, 0.5, np.nan, 0.03]))[0]
    assert found.loc[0, "p_fdr_own_exchanged"] == own
    assert found.loc[0, "p_fdr_rest_exchanged"] == rest
    assert found.loc[2, ["p_fdr_own_exchanged", "p_fdr_rest_exchanged"]].isna().all()
    assert found.loc[2, "flip"] == "undefined"
