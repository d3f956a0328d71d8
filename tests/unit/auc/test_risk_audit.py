"""The whole audit of a score from plain arrays: its tables, what a use shows, and what it is compared by."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from tworulers.auc.audit import audit_risk
from tworulers.auc.covariance import compute_covariance
from tworulers.auc.matrix import compute_matrix, measure_auc_matrix, stratify_scores
from tworulers.auc.summary import collect_metrics, summarise_risk
from tworulers.report.risk_page import write_risk_page
from tworulers.report.words.risk import describe_risk
from tworulers.schema.risk_settings import RiskUse

RNG = np.random.default_rng(8)
OUTCOME = (RNG.random(300) < 0.4).astype(int)
SCORE = np.clip(0.3 + 0.2 * OUTCOME + RNG.normal(0, 0.15, 300), 0, 1)
SEX = RNG.choice(["f", "m"], 300)
QUICK = RiskUse(bootstrap_draws=100)


def test_a_matrix_from_arrays_is_that_of_the_sample():
    matrix = measure_auc_matrix(OUTCOME, SCORE, SEX)
    sample = stratify_scores(SCORE, OUTCOME, SEX)
    np.testing.assert_array_equal(matrix.cells, compute_matrix(sample).cells)
    assert matrix.groups == ("f", "m")


def test_an_ordered_categorical_keeps_its_order_and_its_empty_groups():
    sex = pd.Series(pd.Categorical(SEX, ["x", "m", "f"], ordered=True))
    matrix = measure_auc_matrix(OUTCOME, SCORE, sex)
    assert matrix.groups == ("x", "m", "f")
    audit = audit_risk(OUTCOME, SCORE, {"sex": sex}, QUICK)
    assert audit.matrices["sex"].groups == ("x", "m", "f")


def test_lists_arrays_and_series_give_one_audit():
    audits = [
        audit_risk(make(OUTCOME), make(SCORE), {"sex": make(SEX)}, QUICK, probability=True)
        for make in (list, np.asarray, lambda values: pd.Series(values, index=range(7, 307)))
    ]
    for name in ("cells", "metrics", "tests", "mean_scores", "calibration"):
        first, second, third = (getattr(audit, name) for audit in audits)
        pd.testing.assert_frame_equal(first, second)
        pd.testing.assert_frame_equal(first, third)
    bounds = audits[0].cells[["bootstrap_low", "auc", "bootstrap_high"]].to_numpy()
    assert (np.diff(bounds, axis=1) > 0).all()


def test_a_table_that_the_use_does_not_call_for_is_empty():
    audit = audit_risk(OUTCOME, SCORE, {"sex": SEX}, QUICK)
    assert audit.rates.empty
    assert audit.calibration.empty
    use = RiskUse("single_threshold", threshold=0.5, bootstrap_draws=0)
    audit = audit_risk(OUTCOME, SCORE, {"sex": SEX}, use)
    assert set(audit.rates.threshold) == {0.5}
    assert audit.cells.bootstrap_low.isna().all()


def test_a_large_table_has_no_bootstrap_and_says_so(monkeypatch: pytest.MonkeyPatch):
    for module in ("tworulers.auc.audit", "tworulers.report.words.risk"):
        monkeypatch.setattr(f"{module}.MOST_RESAMPLED", 299)
    audit = audit_risk(OUTCOME, SCORE, {"sex": SEX}, QUICK)
    assert audit.cells.bootstrap_low.isna().all()
    assert audit.cells.low.notna().all()
    assert any("300 rows are more than the 299" in sentence for sentence in describe_risk(audit))


def test_the_covariance_of_persons_is_that_of_their_summed_influence():
    rng = np.random.default_rng(5)
    groups, person = rng.choice(["a", "b", "c", "d"], 300), rng.integers(0, 90, 300)
    groups[:2], outcome = "lone", OUTCOME.copy()
    outcome[:2] = [0, 1]
    sample = stratify_scores(np.round(SCORE, 2), outcome, groups)
    cells = compute_matrix(sample).cells
    influence = np.zeros((5, 5, 90))
    for g, events in enumerate(sample.event_rows):
        for h, others in enumerate(sample.non_event_rows):
            pairs = sample.score[events][:, None] - sample.score[others][None]
            wins = (pairs > 0) + 0.5 * (pairs == 0) - cells[g, h]
            for rows, mean, count in (
                (events, wins.mean(axis=1), np.unique(person[events]).size),
                (others, wins.mean(axis=0), np.unique(person[others]).size),
            ):
                factor = np.sqrt(count / (count - 1)) if count > 1 else np.nan
                np.add.at(influence[g, h], person[rows], factor * mean / rows.size)
    flat = influence.reshape(25, 90)
    expected = np.einsum("ic,jc->ij", flat, flat)
    expected[np.isnan(flat).any(axis=1)] = np.nan
    expected[:, np.isnan(flat).any(axis=1)] = np.nan
    found = compute_covariance(sample, cluster=person).covariance
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-16)


def test_rows_of_one_person_are_kept_together_only_where_one_has_several():
    alone = audit_risk(OUTCOME, SCORE, {"sex": SEX}, QUICK, cluster=np.arange(300))
    pairs = audit_risk(OUTCOME, SCORE, {"sex": SEX}, QUICK, cluster=np.arange(300) // 2)
    assert (alone.clustered, pairs.clustered) == (False, True)
    assert (alone.cells.se != pairs.cells.se).all()


def test_the_bootstrap_draws_persons_where_one_has_several_rows():
    rng = np.random.default_rng(3)
    outcome, person = np.repeat([0, 1], 60), np.repeat(np.arange(30), 4)
    score = outcome + np.repeat(rng.normal(size=30), 4)
    alone, kept = (
        audit_risk(outcome, score, {"all": ["x"] * 120}, QUICK, cluster=cluster).cells.iloc[0]
        for cluster in (None, person)
    )
    width, wider = (one.bootstrap_high - one.bootstrap_low for one in (alone, kept))
    assert wider > 1.6 * width
    assert kept.high - kept.low > 1.6 * (alone.high - alone.low)


def test_one_person_on_a_side_has_no_bootstrap():
    audit = audit_risk(
        [1, 1, 0, 0, 0], [3, 2, 1, 2, 0], {"all": ["x"] * 5}, QUICK, cluster=[0, 0, 1, 2, 3]
    )
    assert audit.cells.bootstrap_low.isna().all()
    assert 0 < audit.cells.low[0] < 0.5


def test_an_auc_below_one_half_is_said():
    audit = audit_risk(1 - OUTCOME, SCORE, {"sex": SEX}, QUICK)
    assert audit.cells.below_half.all()
    said = " ".join(describe_risk(audit))
    assert "below one half, too: events of f against non-events of m" in said
    page = write_risk_page(audit, title="t", sentences=[], notes=[], figures=[])
    assert page.count(", below one half") == 5


def test_what_cannot_be_audited_is_refused():
    with pytest.raises(ValueError, match="use 'screening' is unknown; choose one of"):
        audit_risk(OUTCOME, SCORE, {"sex": SEX}, RiskUse("screening"))
    with pytest.raises(ValueError, match="no grouping was given"):
        audit_risk(OUTCOME, SCORE, {})


def test_metrics_have_names_that_no_slash_of_a_group_breaks():
    site = np.where(SEX == "f", "a/b", "c")
    audit = audit_risk(OUTCOME, SCORE, {"site": site}, QUICK)
    metrics = collect_metrics(audit)
    cells = audit.cells.set_index(["events_of", "non_events_of"])
    assert metrics["auc/site/a-b/c"] == cells.auc["a/b", "c"]
    assert metrics["within_parity/site/p"] == audit.tests.p.iloc[-1]
    summary = summarise_risk(audit, ["said"], ["noted"], {"auc": "wanted"})
    assert summary["groupings"]["site"]["overall_of_grouped_rows"] == audit.overall.value
    assert len(summary["groupings"]["site"]["cells"]) == 4
    json.dumps(summary)
