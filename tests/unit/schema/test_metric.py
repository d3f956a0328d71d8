"""How a metric writes its values, differences and success, and what travels of it."""

import json
from math import inf, nan

import numpy as np
import pytest

from tworulers.metrics.registry import METRICS
from tworulers.schema.metric import Metric

DICE, HD95 = METRICS["dice"], METRICS["hd95"]
SIGNED = Metric("shift", "Shift", False, "µl", perfect=0.0)


@pytest.mark.parametrize(
    ("metric", "value", "written", "difference"),
    [
        (DICE, 0.89625, "0.8962", "89.62 points"),
        (DICE, -0.00001, "0.0000", "0.00 points"),
        (HD95, 3.4125, "3.413 mm", "3.41 mm"),
        (HD95, inf, "∞ mm", "∞ mm"),
        (SIGNED, -12.5, "-12.500 µl", "-12.50 µl"),
        (SIGNED, -0.00123, "-0.00123 µl", "-0.00123 µl"),
        (SIGNED, nan, "undefined", "undefined"),
        (Metric("r", "r", True, low=-1.0, high=1.0), 0.25, "0.250", "0.25"),
    ],
)
def test_values_and_differences(
    metric: Metric, value: float, written: str, difference: str
) -> None:
    assert (metric.write_value(value), metric.write_difference(value)) == (written, difference)


def test_success_is_strict_in_the_metrics_direction() -> None:
    values = [4.9, 5.0, 5.1, nan, inf]
    assert HD95.succeeds(values, 5.0).tolist() == [True, False, False, False, False]
    assert DICE.succeeds([0.79, 0.8, 0.81, nan], 0.8).tolist() == [False, False, True, False]
    assert (HD95.write_success(5.0), DICE.write_success(0.8)) == ("< 5 mm", "> 0.8")
    assert SIGNED.label("vb") == "Shift, vb (µl)"
    assert SIGNED.name_of("vb") == "vb Shift"


@pytest.mark.parametrize("metric", [*METRICS.values(), SIGNED], ids=lambda metric: metric.name)
def test_the_declaration_is_strict_json_and_comes_back_equal(metric: Metric) -> None:
    told = json.loads(json.dumps(metric.declare(), allow_nan=False))
    assert Metric.of(told) == metric
    assert Metric.of(told).compute is None


@pytest.mark.parametrize("metric", METRICS.values(), ids=list(METRICS))
def test_what_a_metric_says_of_itself_holds_together(metric: Metric) -> None:
    bounds = [
        -inf if metric.low is None else metric.low,
        inf if metric.high is None else metric.high,
    ]
    for value in (metric.perfect, metric.both_empty, metric.one_empty):
        assert value is None or bounds[0] <= value <= bounds[1]
    assert metric.perfect == (metric.high if metric.higher_is_better else metric.low)
    assert np.isfinite(metric.perfect)
