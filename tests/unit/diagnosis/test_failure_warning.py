"""Confidence as a warning of failure: who slips through, by threshold, quantile and neither."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from tworulers.diagnosis.failure_detection import FailureRule, WarningAudit, audit_warning
from tworulers.diagnosis.warning import Warned
from tworulers.metrics.known.dice import DICE
from tworulers.report.words.warning import say_failures

RULE = FailureRule(DICE, "macro", 0.8, 0.25, 5, "gold")


def make(seed: int = 0, n: int = 400, blind: str = "b"):
    """Dice by group, with an uncertainty that knows nothing in one group."""
    rng = np.random.default_rng(seed)
    group = np.array(["a", "b"])[rng.integers(0, 2, n)]
    dice = np.clip(rng.normal(0.85, 0.07, n), 0, 1)
    uncertainty = np.where(group == blind, rng.random(n), 1 - dice + rng.normal(0, 0.03, n))
    return uncertainty, dice, pd.Series(group)


def say(audit: WarningAudit) -> str:
    empty = pd.DataFrame()
    warned = Warned(empty, empty, empty, empty, {}, found={"confidence": (RULE, audit)})
    return say_failures(warned)["confidence"][0]


def cell(table, first, second, value):
    rows = table[(table.iloc[:, 1] == first) & (table.iloc[:, 2] == second)]
    assert len(rows) == 1
    return rows[value].iloc[0]


def test_a_group_whose_failures_slip_through_is_found_with_and_without_a_threshold():
    uncertainty, dice, group = make()
    audit = audit_warning(uncertainty, dice, {"sex": group}, RULE, level=0.95)
    assert cell(audit.cells, "a", "a", "auc") > 0.85
    assert cell(audit.cells, "b", "b", "auc") < 0.65
    assert cell(audit.concordance, "a", "a", "concordance") > 0.8
    assert cell(audit.concordance, "b", "b", "concordance") < 0.6
    assert audit.tests[audit.tests.group_a == "all"].p.iloc[0] < 1e-4
    assert audit.overall.value == pytest.approx(roc_auc_score(dice <= 0.8, uncertainty))
    words = say(audit)
    assert "failed by gold labels means macro Dice <= 0.8" in words
    assert f"{int(((dice <= 0.8) & (group == 'a')).sum())} of {(group == 'a').sum()} in a" in words


def test_too_few_failures_are_judged_by_the_worst_share_and_it_says_so():
    uncertainty, dice, group = make(n=60)
    high = np.clip(dice + 0.12, 0, 0.99)
    audit = audit_warning(uncertainty, high, {"sex": group}, RULE, level=0.95)
    assert audit.cells.by_quantile.all()
    assert "worst 25% of all exams" in audit.cells.rule[0]
    assert "the threshold 0.8 leaves a group fewer than 5" in say(audit)
    assert audit.cells.n_events.unique().sum() == 15


def test_several_exams_of_a_patient_widen_the_intervals():
    uncertainty, dice, group = make(n=150)
    three = [np.tile(x, 3) for x in (uncertainty, dice)]
    groups = {"sex": pd.concat([group] * 3, ignore_index=True)}
    apart = audit_warning(*three, groups, RULE, level=0.95)
    together = audit_warning(*three, groups, RULE, level=0.95, patient=np.tile(np.arange(150), 3))
    assert (together.cells.se > 1.5 * apart.cells.se).all()
    assert (together.concordance.se > 1.5 * apart.concordance.se).all()
    single = audit_warning(*three, groups, RULE, level=0.95, patient=np.arange(450))
    pd.testing.assert_frame_equal(single.cells, apart.cells)


def test_without_any_failure_or_difference_everything_is_undefined_with_a_reason():
    group = pd.Series(["a", "b"] * 4)
    audit = audit_warning(np.arange(8), np.full(8, np.nan), {"sex": group}, RULE, level=0.95)
    assert audit.cells.auc.isna().all()
    assert audit.cells.undefined_because.ne("").all()
    assert np.isnan(audit.overall.value)
    constant = audit_warning(np.arange(8), np.full(8, 0.9), {"sex": group}, RULE, level=0.95)
    assert constant.concordance.concordance.isna().all()
    assert constant.concordance.undefined_because.ne("").all()
