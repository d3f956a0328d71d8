"""The macro score where structures are undefined: over those there are, over all, or over those of both sides."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tworulers.metrics.macro import align_macro, average_structures, count_partial

VALUES = st.one_of(st.just(np.nan), st.just(np.inf), st.floats(0, 100))


def table(values: dict[str, dict[str, float]]) -> pd.DataFrame:
    """Scores of exams by structure with the macro they have."""
    rows = []
    for exam, of in values.items():
        reasons = {name: None if np.isfinite(x) else "both_empty" for name, x in of.items()}
        macro, because = average_structures(of, reasons)
        rows += [(exam, name, x, reasons[name]) for name, x in of.items()]
        rows += [(exam, "macro", macro, because), (exam, "level_C2C3", 0.1, None)]
    names = ["exam_id", "structure", "value", "undefined_because"]
    return pd.DataFrame(rows, columns=names).assign(metric="dice")


def macro_of(scores: pd.DataFrame) -> dict[str, float]:
    return scores[scores["structure"] == "macro"].set_index("exam_id")["value"].to_dict()


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_the_mean_is_over_the_defined_or_asks_for_all(values: list[float]) -> None:
    named = {f"s{place}": value for place, value in enumerate(values)}
    reasons = dict.fromkeys(named, "both_empty")
    known = [value for value in values if not np.isnan(value)]
    for rule in ("defined", "complete"):
        value, because = average_structures(named, reasons, rule)
        if len(known) == len(values):
            # bit by bit the plain mean, so that nothing changes where nothing is missing
            assert value == np.mean(values)
            assert (because is None) is bool(np.isfinite(values).all())
        elif not known or rule == "complete":
            assert np.isnan(value)
            assert because is not None
            assert "structures" not in because
        else:
            assert value == np.mean(known)
            assert str(because).startswith(f"{len(known)} of {len(values)} structures: both_empty")


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(
        ValueError, match="audit.macro is 'some', expected one of defined, complete"
    ):
        average_structures({"a": 1.0}, {"a": None}, "some")


def test_two_sides_are_averaged_over_what_both_define() -> None:
    nan = np.nan
    base = table(
        {"e1": {"a": 0.2, "b": 0.4}, "e2": {"a": 0.6, "b": 0.8}, "e3": {"a": nan, "b": 0.5}}
    )
    other = table(
        {"e1": {"a": 0.9, "b": nan}, "e2": {"a": 1.0, "b": 0.8}, "e3": {"a": 0.3, "b": nan}}
    )
    assert (count_partial(base), count_partial(other)) == ({"dice": 1}, {"dice": 2})
    first, second = align_macro(base, other)
    assert macro_of(first) == pytest.approx({"e1": 0.2, "e2": 0.7, "e3": nan}, nan_ok=True)
    assert macro_of(second) == pytest.approx({"e1": 0.9, "e2": 0.9, "e3": nan}, nan_ok=True)
    assert count_partial(first) == count_partial(second) == {"dice": 1}
    for before, after in ((base, first), (other, second)):
        rest = before["structure"] != "macro"
        pd.testing.assert_frame_equal(before[rest], after[rest])


def test_nothing_changes_where_nothing_is_missing() -> None:
    whole = table({"e1": {"a": 0.2, "b": 0.4}})
    first, second = align_macro(whole, whole)
    assert first is whole
    assert second is whole
    missing = table({"e1": {"a": np.nan, "b": np.nan}})
    assert align_macro(whole, missing)[0] is whole
