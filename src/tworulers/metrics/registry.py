"""The metrics there are: every one that a file of `metrics/known` holds, and those of a project's own files."""

from importlib import import_module
from pkgutil import iter_modules

from tworulers.schema.file_names import is_plain
from tworulers.schema.metric import Metric

KNOWN = "tworulers.metrics.known"

METRICS: dict[str, Metric] = {
    metric.name: metric
    for found in iter_modules(import_module(KNOWN).__path__, f"{KNOWN}.")
    for metric in vars(import_module(found.name)).values()
    if isinstance(metric, Metric)
}
"""The metrics we compute, by name. A result carries the declarations of its own; nothing that shows one looks here."""


def register_metric(metric: Metric) -> Metric:
    """Add a metric of a project's own, which settings may then name.

    Raises
    ------
    ValueError : it does not say how it is computed, its name is no plain one, or there is one of that name.
    """
    if metric.compute is None:
        raise ValueError(
            f"metric {metric.name!r} has no compute; give it the function that computes it"
        )
    if not is_plain(metric.name):
        raise ValueError(
            f"expected a metric's name of small letters, digits and _, found {metric.name!r}"
        )
    there = METRICS.get(metric.name)
    if there is not None and _find_home(there) != _find_home(metric):
        raise ValueError(
            f"metric {metric.name!r} is defined in {_find_home(there)} and in {_find_home(metric)}; rename one"
        )
    METRICS[metric.name] = metric
    return metric


def _find_home(metric: Metric) -> str:
    return str(getattr(metric.compute, "__module__", ""))
