"""The p beside the rank test that groups of unequal spread do not mislead."""

import numpy as np

from tworulers.schema.settings import Audit
from tworulers.stats.groups import GroupedSample
from tworulers.stats.types import Row
from tworulers.stats.unequal import compare_unequal, permute_unequal

MOST_DRAWS = 1_000
"""Most permutations of a statistic whose variance has to be taken anew in each."""


def judge_unequal(
    sample: GroupedSample, fault: str | None, settings: Audit, rng: np.random.Generator
) -> Row:
    """Test a sample whatever its groups' spreads, by permutation of patients where one has several exams.

    Parameters
    ----------
    sample : groups of two or more exams.
    fault : why no test of ranks could be made, if none could.
    settings : `permutations`.
    rng : source of chance.

    Returns
    -------
    `p_unequal_spread` and `unequal_spread_undefined_because`.
    """
    names = ("p_unequal_spread", "unequal_spread_undefined_because")
    people = [len(np.unique(sample.patients[sample.codes == g])) for g in range(len(sample.names))]
    if fault or min(people) < 2:
        return dict(
            zip(names, (np.nan, fault or "a group has fewer than two patients"), strict=True)
        )
    values = sample.values, sample.codes, sample.patients
    found = compare_unequal(*values)
    p = found.p
    draws = min(settings.permutations, MOST_DRAWS)
    if draws > 0 and not found.undefined_because and sum(people) < len(sample.codes):
        p = permute_unequal(*values, draws, rng)
    return dict(zip(names, (p, found.undefined_because), strict=True))
