"""Folds of the race against nnU-Net's own split."""

import gzip
import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
from _folds import split_folds

GOLDEN = json.loads(
    gzip.decompress((Path(__file__).parents[2] / "golden" / "nnunet_splits.json.gz").read_bytes())
)
TWELVE = [f"c{i:02d}" for i in range(12)]


@pytest.mark.parity
def test_twelve_exams_are_split_as_recorded() -> None:
    folds = [asdict(fold) for fold in split_folds(TWELVE[::-1])]
    assert json.loads(json.dumps(folds)) == GOLDEN["twelve"]


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


@given(st.integers(5, 60))
def test_every_exam_validates_once(n: int) -> None:
    exams = [f"exam{i}" for i in range(n)]
    folds = split_folds(exams)
    assert sorted(e for fold in folds for e in fold.val) == sorted(exams)
    assert all(set(fold.train) == set(exams) - set(fold.val) for fold in folds)


def test_fewer_exams_than_folds_are_refused() -> None:
    with pytest.raises(ValueError, match="n_splits=5 greater than the number of samples"):
        split_folds(["a", "b", "c"])
