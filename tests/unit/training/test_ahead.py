"""What is prepared and written beside a device leaves the files that the plain way leaves, also where it ends early."""

import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "recipe"))
from recipe_toy import FACTS, RECIPE, SPACING, TRAINER, draw_exam, make_plans

from tworulers.io.images import read_image, write_image
from tworulers.recipe.axes import reverse_axes
from tworulers.recipe.clean import CleanUp
from tworulers.recipe.interop import Member
from tworulers.recipe.network import build_network
from tworulers.recipe.predict import ExamPredictor
from tworulers.recipe.preprocess import preprocess_image
from tworulers.training import ensemble
from tworulers.training.imported import NO_CLEANUP
from tworulers.training.maps import Maps

MAPS = Maps(("probability", "uncertainty"), {"ball": 1, "core": 2})


@dataclass(frozen=True)
class Toy:
    """An untrained network on toy exams; preparing the exam that `fails` names does fail."""

    fails: str = ""
    cleanup: CleanUp = NO_CLEANUP
    threads: list[str] = field(default_factory=list)

    def load(self) -> ExamPredictor:
        plans = make_plans()
        torch.manual_seed(0)
        network = build_network(plans.configuration("3d_fullres").architecture, 1, 3)
        return ExamPredictor(plans, FACTS, {"3d_fullres": [Member(network, ())]}, RECIPE, TRAINER)

    def prepare(self, exam: str, image: Path) -> dict[str, Any]:
        self.threads.append(threading.current_thread().name)
        if exam == self.fails:
            raise ValueError(f"{exam} cannot be prepared")
        array = reverse_axes(read_image(image).array)[None]
        return {"3d_fullres": preprocess_image(array, SPACING, make_plans(), "3d_fullres")}


@pytest.fixture
def chunks(tmp_path: Path) -> list[ensemble.Chunk]:
    """Five exams, two a chunk."""
    items = []
    for index in range(5):
        image, _ = draw_exam(index)
        items.append((f"e{index}", tmp_path / f"e{index}.nii.gz"))
        write_image(items[-1][1], reverse_axes(image[0].astype(np.float32)), np.eye(4))
    return [items[start : start + 2] for start in range(0, 5, 2)]


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    ensemble._LOADED.clear()


def read_tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_same_files_come_of_both_ways(tmp_path: Path, chunks: list[ensemble.Chunk]) -> None:
    plain, ahead = Toy(), Toy()
    told = [ensemble._predict_chunk(plain, tmp_path / "a", MAPS, "a", chunk) for chunk in chunks]
    assert told == [2, 2, 1]
    assert list(ensemble._predict_ahead(ahead, tmp_path / "b", MAPS, "b", chunks)) == told
    files = read_tree(tmp_path / "a")
    assert len(files) == 5 * (1 + 1 + 3)
    assert read_tree(tmp_path / "b") == files
    main = threading.current_thread().name
    assert set(plain.threads) == {main}
    assert main not in ahead.threads
    assert list(ensemble._predict_ahead(ahead, tmp_path / "c", MAPS, "c", [])) == []


def test_what_fails_ends_the_work_and_leaves_whole_exams(
    tmp_path: Path, chunks: list[ensemble.Chunk], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a"
    with pytest.raises(ValueError, match="e3 cannot be prepared"):
        list(ensemble._predict_ahead(Toy("e3"), folder, MAPS, "a", chunks))
    assert {p.name for p in (folder / "confidence").iterdir()} == {"e0.json", "e1.json"}
    assert all(ensemble._is_whole(folder, exam, MAPS) for exam in ("e0", "e1"))

    def interrupt(*_: object) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(1)
        return whole(*_)

    seen: list[int] = []
    whole = ExamPredictor.predict_logits
    monkeypatch.setattr(ExamPredictor, "predict_logits", interrupt)
    folder = tmp_path / "b"
    with pytest.raises(KeyboardInterrupt):
        list(ensemble._predict_ahead(Toy(), folder, MAPS, "b", chunks))
    assert all(ensemble._is_whole(folder, exam, MAPS) for exam in ("e0", "e1"))
    assert not list(tmp_path.rglob(".*"))
    assert threading.active_count() == 1 or not any(
        "ThreadPoolExecutor" in one.name for one in threading.enumerate()
    )
