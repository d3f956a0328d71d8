"""Which test exams a ruler judges, and which a ruler made of predictions scores beyond them."""

from pathlib import Path

import pandas as pd
import pytest

from tworulers.rulers.find import make_ruler
from tworulers.rulers.kinds import Material
from tworulers.rulers.kinds import choose_exams as choose
from tworulers.schema.settings import Ruler

NOTHING = Material("d", {}, {}, Path, None, Path(), lambda _: pd.Series())

SPLITS = pd.DataFrame(
    [
        ("g2", "gold", "test"),
        ("g1", "gold", "test"),
        ("t1", "gold", "train"),
        ("g1", "mix", "test"),
        ("s2", "mix", "test"),
        ("s1", "mix", "test"),
        ("g2", "mix", "test"),
        ("t2", "mix", "train"),
    ],
    columns=["exam_id", "regime", "split"],
)


def choose_exams(ruler: Ruler, splits: pd.DataFrame) -> tuple[list[str], list[str]]:
    return choose(make_ruler(ruler, NOTHING), splits, "mix", "gold")


@pytest.mark.parametrize("kind", ["gold", "truth", "biased", "folder"])
def test_rulers_judge_the_gold_test_exams_alone(kind: str) -> None:
    assert choose_exams(Ruler("one", kind=kind), SPLITS) == (["g1", "g2"], [])


def test_the_datasets_own_labels_judge_all_test_exams() -> None:
    assert choose_exams(Ruler("dataset", kind="dataset"), SPLITS) == (["g1", "g2", "s1", "s2"], [])


def test_predictions_judge_the_gold_ones_and_score_the_rest_beside_them() -> None:
    ruler = Ruler("silver", kind="predictions", regime="gold")
    assert choose_exams(ruler, SPLITS) == (["g1", "g2"], ["s1", "s2"])


def test_without_a_mix_the_datasets_labels_judge_the_gold_exams() -> None:
    gold = SPLITS[SPLITS["regime"] == "gold"]
    assert choose_exams(Ruler("dataset", kind="dataset"), gold) == (["g1", "g2"], [])
    ruler = Ruler("silver", kind="predictions", regime="gold")
    assert choose_exams(ruler, gold) == (["g1", "g2"], [])


def test_a_split_without_a_gold_test_exam_is_refused() -> None:
    train = SPLITS[SPLITS["split"] == "train"]
    with pytest.raises(ValueError, match="ruler gold: the split has no gold test exam"):
        choose_exams(Ruler("gold", kind="gold"), train)
