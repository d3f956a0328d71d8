"""A gap is called wider or narrower by its size, also where the groups change places."""

import numpy as np
import pandas as pd
import pytest

import tworulers as tr

RNG = np.random.default_rng(0)
SEX = pd.Series(RNG.choice(["F", "M"], 60), name="sex")
FAIR = pd.Series(0.9 + 0.01 * RNG.normal(size=60))
WORSE_FOR_F = FAIR - 0.05 * (SEX == "F") + 0.002 * RNG.normal(size=60)
WORSE_FOR_M = FAIR - 0.05 * (SEX == "M")


@pytest.mark.parametrize(
    ("first", "second", "change", "said"),
    [
        (WORSE_FOR_F, FAIR, "narrower", "the gap shrank [-"),
        (FAIR, WORSE_FOR_F, "wider", "the gap grew ["),
        (WORSE_FOR_F, WORSE_FOR_M, "no clear change", "no clear change [-"),
    ],
)
def test_a_gap_changes_by_its_size(
    first: pd.Series, second: pd.Series, change: str, said: str
) -> None:
    models = {"v1": first, "v2": second}
    found = tr.compare_models(models, SEX.to_frame(), provenance="gold", metric="dice")
    row = found.study.compare_models().gaps.iloc[0]
    assert row["change"] == change
    assert any(said in text for text in found.sentences)
