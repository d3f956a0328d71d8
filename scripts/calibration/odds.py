"""How often intervals of equal opportunity and equalised odds differences hold the truth."""

import numpy as np
import pandas as pd
from scipy import stats

from calibration.rows import Row, Topic
from tworulers.auc.odds import Odds, compare_odds

THRESHOLD, PREVALENCE, COVERS = 0.5, 0.4, 0.93
CELLS = [(40, 1), (120, 1), (20, 3), (40, 3)]
"""People in each of two groups, and rows of each."""


def measure_odds(studies: int, rng: np.random.Generator) -> list[Row]:
    """Cover the differences of two groups, of equal odds and with a shift of one group's scores.

    Parameters
    ----------
    studies : of each cell.
    rng : source of chance.
    """
    rows: list[Row] = []
    for people, each in CELLS:
        for shift in (0.0, 1.0):
            # A score of an event is normal about 1, of none about 0.
            reached = stats.norm.sf(THRESHOLD - np.array([1.0, 0.0]))
            shifted = stats.norm.sf(THRESHOLD - shift - np.array([1.0, 0.0]))
            apart = reached - shifted
            truth = {
                Odds.OPPORTUNITY: apart[0],
                Odds.FALSE_POSITIVE: apart[1],
                Odds.EQUALIZED: np.abs(apart).max(),
            }
            inside: dict[str, list[bool]] = {str(name): [] for name in truth}
            for _ in range(studies):
                for row in _draw(people, each, shift, rng).itertuples(index=False):
                    if not np.isnan(row.value):
                        inside[row.metric].append(row.low <= truth[Odds(row.metric)] <= row.high)
            scenario = (
                f"two groups of {people} people with {each} rows each, scores shifted by {shift:g}"
            )
            rows += [
                Row(scenario, f"{name.replace('_', ' ')}: interval holds the truth",
                    float(np.mean(held)), len(held), COVERS)
                for name, held in inside.items()
            ]  # fmt: skip
    return rows


def _draw(people: int, each: int, shift: float, rng: np.random.Generator) -> pd.DataFrame:
    """Compare one study; of a person with several rows half of the score's variance is the person's."""
    n, whose = 2 * people * each, np.repeat(np.arange(2 * people), each)
    event = rng.random(n) < PREVALENCE
    own = rng.normal(size=n)
    if each > 1:
        own = np.sqrt(0.5) * (own + rng.normal(size=2 * people)[whose])
    second = np.arange(n) >= n // 2
    groups = pd.Series(pd.Categorical(np.where(second, "b", "a"), ["a", "b"]))
    limits = {"a": THRESHOLD, "b": THRESHOLD}
    return compare_odds(event + own + shift * second, event, groups, limits, whose)


TOPIC = Topic(
    title="Risk scores at a threshold: equal opportunity and equalised odds",
    introduction=(
        "Two groups, 40 % with the event; the score is normal about 1 with it and about 0 without, and those at or "
        "above .5 are selected. Differences of sensitivities and of false positive rates have Newcombe's interval, "
        "with rows of one person counted as fewer by the design effect; the larger of the two without its sign has "
        "what both leave together."
    ),
    measure=measure_odds,
    studies=1_000,
    measured=("tworulers.auc.odds", "tworulers.stats.clustered_rates", "tworulers.stats.rates"),
)
