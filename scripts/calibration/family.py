"""How often a whole family finds something where nothing can be found: labels are permuted."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tworulers.stats.families import adjust_family
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
            int(np.sum(adjust_family(np.array(p)).adjusted < 0.05)),
            int(np.sum(np.array(p) < 0.05)),
        )


def calibrate_family(
    shapes: dict[str, pd.DataFrame], draws: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Give for each table of scores the share of families with any discovery, and its error."""
    rows = []
    for name, scores in shapes.items():
        found = np.array(list(count_discoveries(scores, draws, rng)))
        share = float(np.mean(found[:, 0] > 0))
        rows.append(
            {
                "scores": name,
                "exams": len(scores),
                "tests": 7 * scores.shape[1],
                "families": draws,
                "any discovery": share,
                "± (2 SE)": 2 * float(np.sqrt(max(share * (1 - share), 0.05 * 0.95) / draws)),
                "any raw p < .05": float(np.mean(found[:, 1] > 0)),
            }
        )
    return pd.DataFrame(rows)
