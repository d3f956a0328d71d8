"""What the tests that found nothing could have found."""

from dataclasses import asdict

import numpy as np
import pandas as pd

from tworulers.battery.detectable import find_detectable_gap, not_found
from tworulers.battery.questions import EXTRA, KEY, MAIN, PRIMARY, Question, tested_part
from tworulers.schema.settings import Audit
from tworulers.schema.tables import list_rows
from tworulers.stats.draw import named_stream
from tworulers.stats.groups import group_medians, spread_of
from tworulers.stats.types import Row


def measure_power(
    questions: list[Question], tests: pd.DataFrame, families: pd.DataFrame, settings: Audit
) -> pd.DataFrame:
    """Measure the power of every stated test that is not significant, each by the spread of its own scores.

    Scores of one grouping share their draws. A test that could not be computed has no gap, and says why.

    Parameters
    ----------
    questions : of the audit.
    tests : row by row with them.
    families : with the size of each.
    settings : level, draws and seed.

    Returns
    -------
    One row a test and correction: see `DetectableGap`, and `observed_gap` between group medians. The level is alpha
    (`none`), alpha over the tests of the family (`family`), and of primary questions also alpha over these and the main
    family together (`all`).
    """
    rows: list[Row] = []
    size = families.set_index("family")["size"]
    stated = size.reindex([PRIMARY, MAIN]).sum()
    for question, test in zip(questions, list_rows(tests), strict=True):
        if test["significant"] or test["family"] == EXTRA or settings.power_draws < 1:
            continue
        beside = {"none": 1, "family": size[test["family"]]}
        beside |= {"all": stated} if test["family"] == PRIMARY else {}
        alphas = [settings.alpha / max(int(number), 1) for number in beside.values()]
        sample = tested_part(question.sample)
        if np.isnan(test["p_verdict"]):
            found = [not_found(alpha, str(test["verdict_undefined_because"])) for alpha in alphas]
        else:
            stream = named_stream(settings.seed, "power", question.grouping)
            found = find_detectable_gap(sample, alphas, settings.power_draws, stream)
        facts = question.key | {"observed_gap": spread_of(group_medians(sample))}
        rows += [
            facts | {"correction": correction} | asdict(gap)
            for correction, gap in zip(beside, found, strict=True)
        ]
    names = [*KEY, "correction", "alpha", "power", "detectable_gap", "detectable_gap_low"]
    names += ["detectable_gap_high", "observed_gap", "power_at_observed", "draws"]
    return pd.DataFrame(rows, columns=[*names, "undefined_because"])
