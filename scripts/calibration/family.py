"""How often a whole family finds something where nothing can be found: labels are permuted."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from calibration.rows import Row, Topic
from tworulers.stats.families import adjust_p
from tworulers.stats.groups import group_sample
from tworulers.stats.ranks import compare_ranks

SHARES = {
    "sex": (0.5, 0.5),
    "race": (0.21, 0.09, 0.70),
    "age": (0.28, 0.38, 0.34),
    "ethnicity": (0.11, 0.86, 0.03),
}
"""Shares of the published cohort; the last ethnicity is not reported."""


def draw_people(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw the seven published groupings of n people, codings of one attribute kept consistent."""
    drawn = {name: rng.choice(len(shares), n, p=shares) for name, shares in SHARES.items()}
    years = 20 + 22 * drawn["age"] + rng.uniform(0, 20, n)
    codes = {
        "sex": drawn["sex"],
        "race_wb": np.where(drawn["race"] == 1, -1, drawn["race"] // 2),
        "race_wbo": drawn["race"],
        "race_wn": (drawn["race"] == 2).astype(int),
        "age_3bin": drawn["age"],
        "age_median": (years >= np.median(years)).astype(int),
        "ethnicity": np.where(drawn["ethnicity"] == 2, -1, drawn["ethnicity"]),
    }
    return pd.DataFrame(
        {
            name: pd.Categorical.from_codes(code, [f"group {g}" for g in range(code.max() + 1)])
            for name, code in codes.items()
        }
    )


def count_discoveries(
    scores: pd.DataFrame, draws: int, rng: np.random.Generator
) -> Iterator[tuple[int, int]]:
    """Yield for each permutation how many tests are significant, adjusted and raw.

    People are drawn anew and set beside the scores at random; scores stay together, so that the
    dependence between them is the real one.
    """
    for _ in range(draws):
        people = draw_people(len(scores), rng)
        p = [
            compare_ranks(group_sample(scores[score].to_numpy(), people[grouping])).p
            for grouping in people
            for score in scores
        ]
        yield (
            int(np.sum(adjust_p(np.array(p)) < 0.05)),
            int(np.sum(np.array(p) < 0.05)),
        )


def measure(studies: int, rng: np.random.Generator) -> list[Row]:
    """Count the families of true nulls that hold a discovery, adjusted and raw."""
    rows = []
    for ruler, scores in read_shapes().items():
        found = np.array(list(count_discoveries(scores, studies, rng)))
        tests = len(draw_people(len(scores), rng).columns) * scores.shape[1]
        scenario = f"{len(scores)} exams, {tests} tests, scores as by {ruler} labels"
        shares = (found > 0).mean(axis=0)
        rows += [
            Row(scenario, "any adjusted p below .05", float(shares[0]), studies, at_most=0.05),
            Row(scenario, "any raw p below .05", float(shares[1]), studies),
        ]
    return rows


def read_shapes() -> dict[str, pd.DataFrame]:
    """Read the simulated scores of the published design that the tests use, by ruler."""
    path = Path(__file__).parents[2] / "tests" / "golden" / "e2_rulers.json"
    simulated = json.loads(path.read_text())
    return {
        ruler: pd.DataFrame(simulated[ruler] | simulated["hd95"][ruler])
        for ruler in ("gold", "silver")
    }


TOPIC = Topic(
    title="Families under permuted labels",
    introduction="People of the published cohort's make-up (seven groupings; three codings of race and two of age kept "
    "consistent) are set beside the scores at random, so that no difference is real; the whole family is corrected, as "
    "in an audit.",
    measure=measure,
    studies=1000,
    measured=("tworulers.stats.families", "tworulers.stats.ranks"),
)
