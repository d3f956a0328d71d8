"""Numbers that nothing can be computed with, found when the settings are composed, whichever stage they are for."""

from collections.abc import Mapping

from tworulers.schema.bounds import list_faults
from tworulers.schema.metric import Metric
from tworulers.schema.settings import Settings


def check_numbers(settings: Settings, reads: tuple[str, ...]) -> None:
    """Refuse numbers out of bounds, all of them in one message.

    Parameters
    ----------
    settings : of all groups.
    reads : the settings that the stage reads; one that reads thresholds has loaded the metrics they are values of.

    Raises
    ------
    ValueError : with each key, what was expected and what was found.
    """
    metrics: Mapping[str, Metric] = {}
    if {"audit", "audit.thresholds", "audit.sweep"} & set(reads):
        from tworulers.metrics.registry import METRICS

        metrics = METRICS
    if faults := list_faults(settings, metrics):
        raise ValueError(
            "nothing can be computed with these settings; give others on the command line, as key=value:\n  "
            + "\n  ".join(faults)
        )
