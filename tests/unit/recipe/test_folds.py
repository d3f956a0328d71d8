"""Folds against nnU-Net's own split, and what a split made elsewhere must hold."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tworulers.recipe.folds import draw_fold, folds_from_json, folds_to_json, split_folds

GOLDEN = json.loads(
    gzip.decompress((Path(__file__).parents[2] / "golden" / "nnunet_splits.json.gz").read_bytes())
)
TWELVE = [f"c{i:02d}" for i in range(12)]


@pytest.mark.parity
def test_twelve_exams_are_split_as_recorded() -> None:
    assert folds_to_json(split_folds(TWELVE[::-1])) == GOLDEN["twelve"]


@pytest.mark.parity
def test_hippocampus_is_split_as_recorded() -> None:
    recorded = GOLDEN["hippocampus_260_val"]
    exams = [exam for fold in recorded for exam in fold]
    assert [list(fold.val) for fold in split_folds(exams)] == recorded


@pytest.mark.parity
def test_uneven_numbers_are_split_as_recorded() -> None:
    folds = split_folds([f"{i:04d}" for i in range(798)])
    assert [len(fold.val) for fold in folds] == GOLDEN["n798_val_sizes"]
    assert [list(fold.val[:10]) for fold in folds] == GOLDEN["n798_val_first10"]


@pytest.mark.parity
def test_fold_beyond_the_split_is_drawn_as_recorded() -> None:
    positions = GOLDEN["fallback_80_20"]["n12_fold5_train_positions"]
    fold = draw_fold(TWELVE, 5)
    assert fold.train == tuple(sorted(TWELVE[i] for i in positions))
    assert set(fold.train) | set(fold.val) == set(TWELVE)


@given(st.integers(5, 60), st.integers(2, 5))
def test_every_exam_validates_once(n: int, n_folds: int) -> None:
    exams = [f"exam{i}" for i in range(n)]
    folds = split_folds(exams, n_folds)
    assert sorted(e for fold in folds for e in fold.val) == sorted(exams)
    assert all(set(fold.train) == set(exams) - set(fold.val) for fold in folds)
    assert folds_from_json(folds_to_json(folds), exams) == folds


def test_all_faults_of_a_split_are_listed() -> None:
    data = [
        {"train": ["a", "b"], "val": ["b"]},
        {"train": ["a"], "val": []},
        {"train": ["a"], "val": ["z"]},
    ]
    with pytest.raises(ValueError, match="cannot be used") as error:
        folds_from_json(data, ["a", "b"])
    for part in ("fold 0 trains and validates on b", "fold 1 has no val", "do not exist: z"):
        assert part in str(error.value)


def test_splits_that_cannot_be_made_are_refused() -> None:
    with pytest.raises(ValueError, match="3 exams cannot fill 5 folds"):
        split_folds(["a", "b", "c"])
    with pytest.raises(ValueError, match="named twice"):
        split_folds(["a", "a", "b", "c", "d"])
