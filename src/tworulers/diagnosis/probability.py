"""How often each ruler would show a difference if the study had more or fewer exams."""

from collections.abc import Sequence

import pandas as pd

from tworulers.battery.power import trace_verdicts
from tworulers.battery.questions import MAIN, PRIMARY
from tworulers.diagnosis.pairs import SCORE
from tworulers.schema.settings import Audit
from tworulers.stats.draw import named_stream

TIMES = (0.5, 0.75, 1, 1.5, 2, 3, 4)
"""How many times as many exams as there are a verdict's probability is traced for."""


def trace_rulers(
    base: pd.DataFrame,
    other: pd.DataFrame,
    groups: pd.DataFrame,
    verdicts: pd.DataFrame,
    *,
    settings: Audit,
) -> pd.DataFrame | None:
    """Trace how often each ruler would find a difference with fewer and with more exams, in one family.

    Parameters
    ----------
    base, other : long scores under two rulers, of the exams in `groups` and others.
    groups : index `exam_id`, the exams that studies are drawn from: one a patient, since a study of exams would count
        a patient with several twice.
    verdicts : of the comparison, whose primary questions are traced, or the main family where there are none.
    settings : draws, seed and level; None is returned where they ask for no draws.
    """
    first = PRIMARY if (verdicts["family"] == PRIMARY).any() else MAIN
    tests = verdicts.loc[verdicts["family"] == first]
    if tests.empty or settings.power_draws < 1:
        return None
    keys = tests[SCORE].drop_duplicates()
    base, other = (side[side["exam_id"].isin(groups.index)].merge(keys) for side in (base, other))
    n = base["exam_id"].nunique()
    sizes = sorted({max(8, round(n * times)) for times in TIMES})
    asked = groups[list(tests["grouping"].unique())]
    draws, seed = settings.power_draws, settings.seed
    return verdict_probability(base, other, asked, sizes, draws, seed, alpha=settings.alpha)


def verdict_probability(
    base: pd.DataFrame,
    other: pd.DataFrame,
    groups: pd.DataFrame,
    sizes: Sequence[int],
    draws: int,
    seed: int,
    *,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Give the probability of a significant test under both rulers as the number of exams grows.

    A flip is a window in n: with more exams the experts' labels find a real gap too.

    Parameters
    ----------
    base, other : long scores of the same exams under two rulers; the tests are one family each.
    groups : index `exam_id`, one ordered categorical column a grouping.
    sizes : numbers of exams, drawn with replacement from those there are.
    draws : studies drawn at each size, the same exams under both rulers.
    seed : of the draws.
    alpha : level.

    Returns
    -------
    One row a size and test: `n`, `grouping`, `structure`, `metric`, and for raw and adjusted p
    `probability_base`, `probability_other`, `probability_fdr_base`, `probability_fdr_other`.
    """
    key = ["n", "grouping", "structure", "metric"]
    traced = []
    for side, scores in (("base", base), ("other", other)):
        wide = scores.pivot_table(
            index="exam_id", columns=["structure", "metric"], values="value", dropna=False
        ).sort_index()
        labels = wide.columns.to_frame(index=False)
        wide.columns = pd.RangeIndex(len(labels))
        rng = named_stream(seed, "verdict probability")
        rows = trace_verdicts(wide, groups.loc[wide.index], sizes, draws, rng, alpha)
        rows = rows.join(labels, on="score").set_index(key)[["probability", "probability_fdr"]]
        traced.append(rows.add_suffix(f"_{side}"))
    return traced[0].join(traced[1], how="outer").reset_index()
