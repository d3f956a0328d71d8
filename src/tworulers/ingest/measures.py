"""A metric of a ready table's own, as the table's user declares it."""

from collections.abc import Mapping

from tworulers.schema.metric import Metric
from tworulers.schema.sources import Measure


def declare_metric(name: str, measure: Measure) -> Metric:
    """Make a metric of what a table's own measure is declared to be."""
    range_of = (measure.low, measure.high, measure.perfect)
    title = measure.title or name
    return Metric(name, title, measure.higher_is_better, measure.unit, *range_of)


def tell_metric(metric: Metric) -> str:
    """Say what a metric was declared to be: `Volume error (mm3): lower is better`."""
    unit = f" ({metric.unit})" if metric.unit else ""
    better = "higher" if metric.higher_is_better else "lower"
    return f"{metric.title}{unit}: {better} is better, as scores.measures.{metric.name} declares"


def tell_range(metric: Metric) -> str:
    """Say where the values of a metric lie: `from 0 to 1`, `of at least 0`."""
    if metric.low is None:
        return f"of at most {metric.high:g}"
    if metric.high is None:
        return f"of at least {metric.low:g}"
    return f"from {metric.low:g} to {metric.high:g}"


def require_same_measures(first: Mapping[str, Metric], second: Mapping[str, Metric]) -> None:
    """Refuse two tables that declare a metric of their own differently.

    Raises
    ------
    ValueError : naming each metric and both declarations.
    """
    apart = [
        f"{name}: {first.get(name)} and {second.get(name)}"
        for name in {**first, **second}
        if first.get(name) != second.get(name)
    ]
    if apart:
        raise ValueError(
            "scores.measures and against.measures have to declare the same:\n  "
            + "\n  ".join(apart)
        )
