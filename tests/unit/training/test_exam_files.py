"""Where an exam's files are looked for, and which exams are predicted."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tworulers.cohort.folds import list_tested
from tworulers.io.exam_files import find_label
from tworulers.io.images import ImageError, write_image
from tworulers.io.paths import Layout
from tworulers.training.volumes import read_channels


def test_a_label_is_the_datasets_or_the_machines(tmp_path: Path) -> None:
    layout = Layout(tmp_path, tmp_path / "artifacts", tmp_path / "artifacts")
    assert find_label(layout, "a", "labels/a.nii.gz") == tmp_path / "labels" / "a.nii.gz"
    made = tmp_path / "artifacts" / "annotations" / "labels" / "a.nii.gz"
    assert find_label(layout, "a", None) == made
    assert find_label(layout, "a", np.nan) == made


def test_channels_lie_beside_the_first(tmp_path: Path) -> None:
    for channel in range(2):
        array = np.arange(60, dtype=np.int16).reshape(3, 4, 5) + 100 * channel
        write_image(tmp_path / f"a_000{channel}.nii.gz", array, np.diag([2.0, 1, 1, 1]))
    image, spacing = read_channels(tmp_path / "a_0000.nii.gz", 2)
    np.testing.assert_array_equal(image[0], np.arange(60).reshape(3, 4, 5).T)
    np.testing.assert_array_equal(image[1], image[0] + 100)
    assert spacing == (1, 1, 2)
    write_image(tmp_path / "b.nii.gz", np.ones((3, 4, 5), np.int16), np.eye(4))
    with pytest.raises(ImageError, match="2 channels are configured"):
        read_channels(tmp_path / "b.nii.gz", 2)


def test_every_test_exam_of_any_regime_is_predicted() -> None:
    splits = pd.DataFrame(
        {
            "regime": ["mix", "mix", "gold", "gold"],
            "exam_id": ["b", "a", "a", "c"],
            "split": ["test", "test", "test", "train"],
        }
    )
    assert list_tested(splits) == ["a", "b"]
