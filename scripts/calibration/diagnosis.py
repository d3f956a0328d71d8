"""Which mode the diagnosis names, against the mode that made the flip."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from calibration.intervals import draw_noise
from tworulers.schema import METRICS, Audit
from tworulers.stats.counterfactual import kruskal_rows
from tworulers.stats.diagnosis import Verdict
from tworulers.stats.disagreement import measure_disagreement
from tworulers.stats.pairs import GroupedPair

SHARES = (0.28, 0.38, 0.34)


@dataclass(frozen=True)
class Distorting:
    """What a ruler does to the expert's scores: factor and addition of the gap, factor of the
    noise.

    `opposite` is the verdict that would name the wrong mode; None where neither mode is at work.
    """

    mode: str
    name: str
    gap_factor: float
    gap_added: float
    noise: float
    opposite: Verdict | None


CONFIDENCE, MAGNITUDE = Verdict.FALSE_CONFIDENCE, Verdict.FALSE_MAGNITUDE
BY_NOISE, BY_MAGNITUDE = Verdict.REASSURANCE_BY_NOISE, Verdict.REASSURANCE_BY_MAGNITUDE

MAKING = [
    Distorting("false confidence", "noise x .25", 1, 0, 0.25, MAGNITUDE),
    Distorting("false confidence", "noise x .25, gap x .5", 0.5, 0, 0.25, MAGNITUDE),
    Distorting("false confidence", "noise x .5", 1, 0, 0.5, MAGNITUDE),
    Distorting("false confidence", "noise x .7", 1, 0, 0.7, MAGNITUDE),
    Distorting("false magnitude", "gap + .4", 1, 0.4, 1, CONFIDENCE),
    Distorting("false magnitude", "gap + .8", 1, 0.8, 1, CONFIDENCE),
    Distorting("false magnitude", "gap + 1.2", 1, 1.2, 1, CONFIDENCE),
    Distorting("false magnitude", "gap + 1.2, noise x 1.3", 1, 1.2, 1.3, CONFIDENCE),
    Distorting("both", "gap + .4, noise x .5", 1, 0.4, 0.5, None),
    Distorting("both", "gap + .8, noise x .5", 1, 0.8, 0.5, None),
    Distorting("neither", "same gap, same noise", 1, 0, 1, None),
    Distorting("neither", "gap x .5", 0.5, 0, 1, None),
    Distorting("neither", "everything x .25", 0.25, 0, 0.25, None),
    Distorting("neither", "everything x .5", 0.5, 0, 0.5, None),
]
"""Rulers whose flips make a difference significant."""

HIDING = [
    Distorting("reassurance by magnitude", "gap x .2", 0.2, 0, 1, BY_NOISE),
    Distorting("reassurance by noise", "noise x 2.5", 1, 0, 2.5, BY_MAGNITUDE),
    Distorting("neither", "same gap, same noise", 1, 0, 1, None),
]
"""Rulers whose flips hide a difference."""


def calibrate_diagnosis(
    studies: int, flips: int, draws: int, sizes: tuple[int, ...], rng: np.random.Generator
) -> pd.DataFrame:
    """Judge flips over a grid of rulers, effects, correlations, sizes and levels, one row a flip.

    Parameters
    ----------
    studies : studies drawn in each cell of the grid.
    flips : at most so many of a cell's flips are judged.
    draws : bootstrap draws of a diagnosis, and exchanges of the rulers.
    sizes : exams of a study.
    rng : source of chance.
    """
    rows = []
    settings = Audit(name="calibration", bootstrap_draws=draws, permutations=draws)
    for making, rulers, gaps in ((True, MAKING, (0.0, 0.4, 0.8)), (False, HIDING, (0.8, 1.2))):
        for ruler in rulers:
            for gap in gaps:
                for n in sizes:
                    for correlation in (0.5, 0.95):
                        for level in (0.05, 0.005):
                            cell = (ruler, gap, n, correlation, level)
                            rows += _judge_cell(cell, making, studies, flips, settings, rng)
    return pd.DataFrame(rows)


def _judge_cell(cell, making, studies, flips, settings, rng) -> list[dict[str, object]]:
    ruler, gap, n, correlation, level = cell
    codes = np.repeat(np.arange(3), np.diff(np.round(np.cumsum((0, *SHARES)) * n).astype(int)))
    at = np.array([0.0, 0.5, 1.0])[codes]
    noise, own = draw_noise("left-skewed", (2, studies, n), rng)
    base = gap * at + noise
    mixed = correlation * noise + np.sqrt(1 - correlation**2) * own
    other = (ruler.gap_factor * gap + ruler.gap_added) * at + ruler.noise * mixed
    p = [stats.chi2.sf(kruskal_rows(scores, codes), 2) for scores in (base, other)]
    significant = [values < level for values in p]
    flipped = significant[1] & ~significant[0] if making else significant[0] & ~significant[1]
    rows = []
    for study in np.flatnonzero(flipped)[:flips]:
        pair = GroupedPair(
            "age",
            "macro",
            METRICS["dice"],
            ["a", "b", "c"],
            codes,
            base[study],
            other[study],
            None,
            [],
        )
        found = measure_disagreement(pair, settings).judge(not making, making, 0.05)
        rows.append(
            {
                "direction": "to significance" if making else "from significance",
                "mode": ruler.mode,
                "ruler": ruler.name,
                "gap (SD)": gap,
                "n": n,
                "correlation": correlation,
                "level": level,
                "verdict": str(found.verdict),
                "opposite": ruler.opposite is not None and found.verdict is ruler.opposite,
            }
        )
    return rows


def tabulate_confusion(judged: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Count the verdicts of each kind of flip, with the share of the opposite mode."""
    counts = judged.pivot_table(
        index=by, columns="verdict", aggfunc="size", fill_value=0, sort=False
    )
    counts.insert(0, "flips", counts.sum(axis=1))
    counts["opposite"] = judged.groupby(by, sort=False)["opposite"].mean()
    return counts.reset_index()
