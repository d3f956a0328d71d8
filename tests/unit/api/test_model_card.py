"""A card of one page says who was judged, by what, of how many, and what came out; names from data stay text."""

import warnings
from typing import Any

import numpy as np
import pytest

import tworulers as tr

SEX, SITE = np.tile(["F", "M"], 30), np.repeat(["A|x", "B", "C"], 20)


@pytest.fixture(scope="module")
def dice() -> np.ndarray:
    return np.random.default_rng(1).normal(0.85, 0.03, 60) - 0.05 * (SEX == "M")


def audit(dice: np.ndarray, **others: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tr.AuditWarning)
        about = {"sex": SEX, "site": SITE}
        return tr.audit(dice, about, provenance="gold", metric="dice", success=0.8, **others)


def test_a_card_tells_of_model_use_data_ruler_results_and_caveats(dice: np.ndarray) -> None:
    card = audit(dice).to_model_card("spine, v2", "To choose between two models.")
    headings = [line for line in card.splitlines() if line.startswith("#")]
    assert headings == [
        "# Fairness of a model: Audit of 60 exams of 60 patients by gold labels",
        "## Model",
        "## Intended use of this audit",
        "## Data and groups",
        "## Rulers: what the model was judged by",
        "## Results by group",
        "## What may be said",
        "## How it was found",
        "## Caveats",
    ]
    assert "spine, v2" in card
    assert "To choose between two models." in card
    assert "- sex: F n = 30, M n = 30" in card
    assert "provenance gold (drawn by experts)" in card
    mean = dice[SEX == "F"].mean()
    above = int((dice[SEX == "F"] > 0.8).sum())
    assert f"| sex | F | 30 | {mean:.4f} | " in card
    assert f"{above}/30 (" in card
    assert "| site | A&#124;x | 20 |" in card
    assert "groups differ" in card
    assert "An exam succeeds beyond dice 0.8." in card
    assert "is no evidence that there is none" in card
    assert len(card.splitlines()) < 70


def test_a_card_without_names_says_so_and_keeps_the_general_use(dice: np.ndarray) -> None:
    card = audit(dice).to_model_card()
    assert "Not named by whoever made this card." in card
    assert "It is no test of clinical benefit" in card


def test_many_results_are_counted_and_not_listed(dice: np.ndarray) -> None:
    sites = {f"site{k}": np.roll(SITE, k) for k in range(20)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tr.AuditWarning)
        result = tr.audit(dice, sites, provenance="gold", metric="dice")
    card = result.to_model_card()
    assert f"{len(result.by_group) - 40} more rows are in by_group" in card
    assert f"{len(result.sentences) - 12} more sentences are in the result" in card


def test_a_comparison_names_both_rulers_and_a_risk_score_its_events(dice: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tr.AuditWarning)
        rulers = tr.compare(
            {"expert": dice, "machine": 0.5 + dice / 2},
            {"sex": SEX},
            provenance={"expert": "gold", "machine": "silver"},
            metric="dice",
        )
        died = np.random.default_rng(2).random(60) < 0.5
        risk = tr.audit_risk(died, dice, {"sex": SEX}, use="single_threshold", threshold=0.84)
    card = rulers.to_model_card()
    assert "- expert: provenance gold (drawn by experts)" in card
    assert "- machine: provenance silver (drawn by a machine)" in card
    assert "| grouping | group | ruler | n |" in card
    card = risk.to_model_card()
    assert f"60 rows, {int(died.sum())} with the event." in card
    assert "People at or above 0.84 are selected." in card
    assert "Rulers" not in card
    auc = risk.by_group.iloc[0]
    assert f"| {auc['n_events']} | {auc['n_non_events']} | {auc['auc']:.3f} &#91;" in card


def test_scores_are_drawn_by_group_and_side(dice: np.ndarray) -> None:
    result = audit(dice)
    figure = result.plot("scores")
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["sex", "site"]
    drawn = sum(len(points.get_offsets()) for points in figure.axes[0].collections)
    assert drawn == 60
    with pytest.raises(ValueError, match="there is no figure 'group'; there are"):
        result.plot("group")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tr.AuditWarning)
        models = tr.compare_models(
            {"v1": dice, "v2": dice + 0.01}, {"sex": SEX}, provenance="gold", metric="dice"
        )
    axes = models.plot("all/dice").axes
    assert len(axes) == 2
    assert [ax.get_ylabel().splitlines()[1] for ax in axes] == ["v1 (gold)", "v2 (gold)"]
