"""Whether groups lie within a margin of one another: every pair, in scores and in failures."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from tworulers.battery.margins import Margins, find_fault_of_labels, find_margins
from tworulers.battery.needed import find_needed
from tworulers.battery.questions import KEY, TOO_FEW, Question, name_groups
from tworulers.schema.settings import Audit
from tworulers.schema.tables import list_rows
from tworulers.stats.families import adjust_p
from tworulers.stats.groups import GroupedSample
from tworulers.stats.rate_margin import bound_difference, count_independent, p_inside
from tworulers.stats.rates import count_successes, success_rate
from tworulers.stats.shift import measure_shift
from tworulers.stats.types import Row

DIFFERS, DIFFERS_WITHIN, WITHIN, CANNOT_SAY = ANSWERS = (
    "differs",
    "differs_within_margin",
    "within_margin",
    "cannot_say",
)
"""What a test can answer."""

OF_PAIR = (
    *("group_a", "group_b", "n_a", "n_b", "patients_a", "patients_b"),
    *("independent_a", "independent_b", "level"),
    *("margin", "shift", "shift_low", "shift_high", "p_shift"),
    *("failure_margin", "failures_a", "failures_b"),
    *("failure_difference", "failure_difference_low", "failure_difference_high", "p_failures"),
    *("p_within", "inside", "undefined_because"),
)
"""Columns of a pair of groups; differences are second minus first, failures those of exams under the threshold.

`independent` is how many exams without a common patient failures rest on (`stats.rate_margin.count_independent`).
"""


def hold_to_margins(
    questions: Sequence[Question], tests: pd.DataFrame, provenance: str, settings: Audit
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Hold every pair of groups to the margins, and answer every test.

    Groups are *within* where the shift and the difference of failure rates of every pair are inside their margins, at
    the level of the audit: the largest p decides (Berger 1982), adjusted by Holm over the tests of the family that
    are asked and can be answered.

    Parameters
    ----------
    questions : the scores in their groupings.
    tests : one row a question, in the same order, with what the verdict rests on.
    provenance : who drew the labels; only experts and a noise-free truth prove anything.
    settings : margins, thresholds, level and least group.

    Returns
    -------
    The tests with `answer`, `answer_because`, `p_within`, `p_within_holm`, `within_undefined_because`, `n_needed`,
    `n_needed_groups` and `n_needed_because`; and one row a pair of groups and score that was asked.
    """
    pairs: list[Row] = []
    rows: list[Row] = []
    for question, test in zip(questions, list_rows(tests), strict=True):
        margins = find_margins(question.metric, settings)
        mine = [] if margins.missing else measure_pairs(question, margins, settings)
        pairs += [question.key | row for row in mine]
        reason = (
            margins.missing
            or find_fault_of_labels(provenance)
            or _find_fault(question.sample, mine, settings)
        )
        p = np.nan if reason else max(row["p_within"] for row in mine)
        rows.append({**test, "p_within": p, "within_undefined_because": reason})
    equivalence = pd.DataFrame(pairs, columns=[*KEY, *OF_PAIR])
    if not rows:
        return tests, equivalence
    found = pd.DataFrame(rows)
    # As objects: among texts, nothing would become NaN, which is a text to whoever asks for one.
    reasons = [row["within_undefined_because"] for row in rows]
    found["within_undefined_because"] = pd.Series(reasons, dtype=object)
    found["p_within_holm"] = np.nan
    for places in found.groupby("family").indices.values():
        p = found["p_within"].to_numpy(dtype=float)[places]
        found.loc[places, "p_within_holm"] = adjust_p(p, "holm")
    return _answer(found, equivalence, questions, settings), equivalence


def measure_pairs(question: Question, margins: Margins, settings: Audit) -> list[Row]:
    """Measure the shift and the difference of failure rates of every pair of groups that has two exams."""
    sample = question.sample.at_least(TOO_FEW)
    n = sample.sizes
    failures = n - count_successes(sample, margins.threshold, question.metric)
    patients = [np.unique(sample.patients[sample.codes == g]) for g in range(len(n))]
    independent = [count_independent(sample.patients[sample.codes == g]) for g in range(len(n))]
    rate, rows = success_rate(failures, n), []
    for a, b in combinations(range(len(n)), 2):
        units = sample.patients[sample.codes == a], sample.patients[sample.codes == b]
        shift = measure_shift(sample.of(a), sample.of(b), margins.shift, settings.alpha, units)
        rates, counted = rate[[a, b]], np.array([independent[a], independent[b]])
        low, high = bound_difference(rates, counted, settings.alpha)
        p = float(p_inside(rates, counted, margins.failures))
        largest = max(shift.p_inside, p)
        rows.append(
            {"group_a": sample.names[a], "group_b": sample.names[b], "n_a": n[a], "n_b": n[b]}
            | {"patients_a": len(patients[a]), "patients_b": len(patients[b])}
            | {"independent_a": independent[a], "independent_b": independent[b]}
            | {"level": 1 - 2 * settings.alpha, "margin": margins.shift, "shift": shift.value}
            | {"shift_low": shift.low, "shift_high": shift.high, "p_shift": shift.p_inside}
            | {"failure_margin": margins.failures}
            | {"failures_a": int(failures[a]), "failures_b": int(failures[b])}
            | {"failure_difference": float(rates[1] - rates[0])}
            | {"failure_difference_low": float(low), "failure_difference_high": float(high)}
            | {"p_failures": p, "p_within": largest, "inside": bool(largest < settings.alpha)}
            | {"undefined_because": _find_open_side(shift.low, shift.high)}
        )
    return rows


def _find_open_side(low: float, high: float) -> str | None:
    return None if np.isfinite([low, high]).all() else "infinite scores leave the shift unbounded"


def _find_fault(sample: GroupedSample, pairs: Sequence[Row], settings: Audit) -> str | None:
    """Say why groups cannot be shown to be within; None where they can be asked."""
    if small := name_groups(sample, settings.min_group, 1):
        return f"group under {settings.min_group} exams: {small}"
    if not pairs:
        return "fewer than two groups have exams"
    for row in pairs:
        for side in "ab":
            if row[f"patients_{side}"] < settings.min_group:
                return f"group under {settings.min_group} patients: {row[f'group_{side}']}"
    return next((row["undefined_because"] for row in pairs if row["undefined_because"]), None)


def _answer(
    tests: pd.DataFrame, pairs: pd.DataFrame, questions: Sequence[Question], settings: Audit
) -> pd.DataFrame:
    """Answer each test; one that cannot be answered says why, and how many exams would."""
    asked = tests.groupby("family")["p_within"].count()
    tested = tests.groupby("family")["p_verdict"].count()
    by_test = dict(list(pairs.groupby(KEY, sort=False))) if len(pairs) else {}
    rows = []
    for question, test in zip(questions, list_rows(tests), strict=True):
        mine = by_test.get(tuple(question.key.values()), pairs.head(0))
        row: Row = dict.fromkeys(("answer_because", "n_needed_groups", "n_needed_because"))
        row["n_needed"] = np.nan
        row["answer"] = _choose(question.sample, test, settings)
        if row["answer"] == CANNOT_SAY:
            row["answer_because"] = _tell_why(question.sample, test, mine, settings)
            levels = [settings.alpha / max(int(of[test["family"]]), 1) for of in (tested, asked)]
            row |= find_needed(question.sample, test, mine, levels, settings)
        rows.append({**test, **row})
    return pd.DataFrame(rows)


def _count_large(sample: GroupedSample, settings: Audit) -> int:
    return int((sample.sizes >= settings.min_group).sum())


def _choose(sample: GroupedSample, test: Row, settings: Audit) -> str:
    if _count_large(sample, settings) < 2:
        return CANNOT_SAY
    inside = test["p_within_holm"] < settings.alpha
    if test["significant"]:
        return DIFFERS_WITHIN if inside else DIFFERS
    return WITHIN if inside else CANNOT_SAY


def _tell_why(sample: GroupedSample, test: Row, pairs: pd.DataFrame, settings: Audit) -> str:
    """Say why a test has no answer: neither a difference nor equality was shown."""
    if _count_large(sample, settings) < 2:
        return f"fewer than two groups with {settings.min_group} exams"
    if test["within_undefined_because"]:
        return str(test["within_undefined_because"])
    if test["p_within"] < settings.alpha:
        return "within the margin before correction over the family alone"
    outside = pairs[~pairs["inside"].astype(bool)]
    worst = list_rows(outside.nlargest(1, "p_within", keep="first"))[0]
    what = "scores" if worst["p_shift"] >= worst["p_failures"] else "failures"
    return f"interval beyond the margin: {what} of {worst['group_a']} and {worst['group_b']}"
