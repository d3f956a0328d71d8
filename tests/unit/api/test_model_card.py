"""A card has its fields on one page, and says who was judged, by what, and what came out; names from data stay text."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
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


FIELDS = [
    *("Model details", "Intended use", "Factors", "Metrics", "Evaluation data", "Training data"),
    *("Quantitative analyses", "What could have been missed", "Caveats and recommendations"),
    "How this was made",
]


def read_fields(card: str) -> dict[str, str]:
    """Return what the card says below each heading; hold it to the fields of a card, and to a page."""
    parts = dict(part.split("\n\n", 1) for part in card.split("\n## ")[1:])
    assert list(parts) == FIELDS
    assert len(card.split()) <= 600
    return parts


def test_a_card_names_model_use_and_what_came_out(dice: np.ndarray) -> None:
    found = audit(dice)
    said = read_fields(found.to_model_card("spine, v2", "To choose between two models."))
    assert said["Model details"] == "spine, v2\n"
    assert said["Intended use"].startswith("- To choose between two models.\n- Out of scope")
    assert "- sex: F (n 30), M (n 30)\n- site: A&#124;x (n 20), B (n 20)" in said["Factors"]
    assert "- An exam succeeds by Dice > 0.8.\n- No margin was given" in said["Metrics"]
    assert "The model, 60 exams of 60 patients." in said["Evaluation data"]
    assert "(provenance gold), drawn by experts" in said["Evaluation data"]
    assert found.sentences[0] in said["Quantitative analyses"]
    gap = found.tests.set_index("grouping").loc["sex", "median_gap"]
    row = f"| sex | differs in 1 of 1 score; all Dice {100 * gap:.2f} points &#91;"
    assert row in said["Quantitative analyses"]
    assert "Not named by whoever made this card." in audit(dice, alpha=0.01).to_model_card()
    one, other = (
        card.splitlines()[-1]
        for card in (found.to_model_card(), audit(dice, alpha=0.01).to_model_card())
    )
    assert one != other, "the digest is of the settings"


def test_two_rulers_and_five_groupings_are_one_page(dice: np.ndarray) -> None:
    rng = np.random.default_rng(3)
    about = {"sex": SEX, "site": SITE} | {
        name: rng.choice([f"{name} {n}" for n in "abcdef"[:size]], 60)
        for name, size in {"race": 3, "scanner": 2, "field": 2, "ward": 6}.items()
    }

    def spread(values: np.ndarray) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "dice_disc": values,
                "dice_body": values - 0.01,
                "hd95_disc": 10 * (1 - values),
                "hd95_body": 9 * (1 - values),
            }
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tr.AuditWarning)
        found = tr.compare(
            {"expert": spread(dice), "machine": spread(0.5 + dice / 2)}, about, success={"dice": 0.8},
            provenance={"expert": "gold", "machine": "silver"}, margin={"dice": 2, "failures": 10},
        )  # fmt: skip
    said = read_fields(found.to_model_card())
    assert "- expert (provenance gold)" in said["Evaluation data"].replace(
        "expert: expert", "expert"
    )
    assert "drawn by a machine" in said["Evaluation data"]
    assert "Margins: Dice 2 points, failures 10 %." in said["Metrics"]
    assert (
        "| by expert | by machine | what changing the ruler did |" in said["Quantitative analyses"]
    )
    assert "5 of 6 groupings" in said["Factors"]
    assert "5 of 6 groupings" in said["Quantitative analyses"]


def test_a_risk_score_has_the_same_fields(dice: np.ndarray) -> None:
    died = np.random.default_rng(2).random(60) < 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tr.AuditWarning)
        risk = tr.audit_risk(
            died, dice, {"sex": SEX, "site": SITE}, use="single_threshold", threshold=0.84
        )
    said = read_fields(risk.to_model_card())
    assert said["Evaluation data"] == f"60 rows, {int(died.sum())} with the event.\n"
    assert "used for single threshold, selected at or above 0.84." in said["Metrics"]
    row = risk.by_group.iloc[0]
    told = f"{row['group']}: {row['auc']:.3f} ({row['low']:.3f} to {row['high']:.3f}), n {row['n_events']} × "
    assert told in said["Quantitative analyses"]
    reach = 100 * risk.power["detectable_difference"]
    assert (
        f"below {reach.min():.1f} points to {reach.max():.1f} points"
        in said["What could have been missed"]
    )


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
