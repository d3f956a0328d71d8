"""Confidence as a warning of failure: of the scored exams, by every uncertainty there is, or not at all."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from tworulers.diagnosis.warning import UNCERTAINTIES, Warned
from tworulers.io.answers import read_warned, write_warned
from tworulers.metrics.registry import METRICS
from tworulers.report.words.warning import say_failures
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes, Grouping
from tworulers.study import Reference, Study

N = 40
EXAMS = [f"e{i:02}" for i in range(N)]
DICE = pd.Series(np.linspace(0.6, 0.99, N), EXAMS)
SETTINGS = Audit(
    "made", metrics=["dice"], thresholds={"dice": 0.8}, min_group=5, bootstrap_draws=20,
    permutations=0, power_draws=0, linear=False,
)  # fmt: skip
SEX = Grouping("Sex", "levels", "sex", {"F": ["F"], "M": ["M"]}, group_order=["F", "M"])
SEXES = Attributes("sexes", groupings={"sex": SEX})
PEOPLE = pd.DataFrame({"exam_id": EXAMS, "patient_id": EXAMS, "sex": ["F", "M"] * (N // 2)})


def make_scores() -> pd.DataFrame:
    macro = pd.DataFrame({"exam_id": EXAMS, "regime": "mix", "value": DICE.to_numpy()})
    macro = macro.assign(ruler="machine", provenance="silver", undefined_because=None)
    parts = [
        macro.assign(structure="macro", metric="dice"),
        # Neither another structure nor another metric may call an exam failed.
        macro.assign(structure="disc", metric="dice", value=1.0),
        macro.assign(structure="macro", metric="hd95", value=0.0),
    ]
    return pd.concat(parts, ignore_index=True)


def make_confidence(top: pd.Series) -> pd.DataFrame:
    """Make a confidence for every exam, in another order and with one that nobody scored."""
    table = pd.DataFrame({"exam_id": top.index, "mean_top_probability": top.to_numpy()})
    table = table.assign(mean_entropy=1 - top.to_numpy(), disagreement=np.nan)
    extra = table.head(1).assign(exam_id="unscored", mean_top_probability=0.0)
    return pd.concat([table.iloc[::-1], extra])


def warn(
    top: pd.Series | None,
    scores: pd.DataFrame | None = None,
    attributes: Attributes = SEXES,
    settings: Audit = SETTINGS,
) -> Warned | None:
    confidences = {} if top is None else {"mix": make_confidence(top)}
    study = Study(
        make_scores() if scores is None else scores, PEOPLE, attributes, settings,
        {"machine": Reference("machine", provenance="silver")}, {"mix": "mix"}, METRICS,
        confidences=confidences,
    )  # fmt: skip
    return study.warn()


def test_confidence_that_follows_the_score_warns_of_every_failure() -> None:
    found = warn(DICE)
    assert found is not None
    assert found.numbers["warning/confidence/auc"] == 1
    assert found.numbers["warning/confidence/concordance"] == 1
    cells = found.cells
    own = cells[
        (cells["uncertainty"] == "confidence") & (cells["events_of"] == cells["non_events_of"])
    ]
    failed = (DICE <= 0.8).to_numpy()
    expected = [int(failed[PEOPLE["sex"] == sex].sum()) for sex in ("F", "M")]
    assert own["n_events"].tolist() == expected
    assert not own["by_quantile"].any()


def test_confidence_that_is_sure_of_its_failures_warns_of_none() -> None:
    found = warn(1 - DICE)
    assert found is not None
    assert found.overall["confidence"] == 0


def test_an_uncertainty_without_a_value_is_told_and_left_out(tmp_path: Path) -> None:
    found = warn(DICE)
    assert found is not None
    said = say_failures(found)
    assert said["disagreement"] == ["disagreement is undefined for every exam"]
    assert not any("disagreement" in name for name in found.numbers)
    write_warned(found, said, "silver", tmp_path)
    again = read_warned(tmp_path)
    assert again is not None
    assert again.numbers == found.numbers
    for name in ("cells", "metrics", "tests", "concordance"):
        assert set(getattr(again, name)["uncertainty"]) == set(UNCERTAINTIES) - {"disagreement"}


def test_where_the_threshold_leaves_too_few_failures_the_worst_exams_fail() -> None:
    found = warn(DICE, settings=replace(SETTINGS, thresholds={"dice": 0.62}))
    assert found is not None
    assert found.cells["by_quantile"].all()
    assert found.cells["rule"].str.startswith("worst 25% of all exams").all()
    assert "failed by silver labels" in say_failures(found)["confidence"][0]


def test_nothing_is_asked_without_confidences_groups_or_dice(tmp_path: Path) -> None:
    assert warn(None) is None
    assert warn(DICE, attributes=Attributes("none")) is None
    scores = make_scores()
    hd95 = replace(SETTINGS, metrics=["hd95"])
    assert warn(DICE, scores[scores["metric"] == "hd95"], settings=hd95) is None
    assert read_warned(tmp_path) is None
