"""Voxels that nobody annotated are counted when data are read, and judge nothing when predictions are scored."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tiny_sources import STRUCTURES, draw_label, make_decathlon, make_nnunet, save

from tworulers.ingest.dataset_json import read_dataset_json
from tworulers.ingest.faults import IngestError
from tworulers.ingest.read import ingest
from tworulers.ingest.scoring import ScoreTask, finish_scores, score_exams
from tworulers.runner.declared import declare_structures
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Dataset, Reading

IGNORED = 3


def draw_partly() -> np.ndarray:
    """A label whose last two slices nobody annotated: 160 of 480 voxels."""
    label = draw_label()
    label[:, :, 4:] = IGNORED
    return label


def make_partly(root: Path, **labels: int) -> Path:
    make_nnunet(root, ["a", "b", "c"], labels={**STRUCTURES, **labels})
    save(root / "labelsTr" / "a.nii.gz", draw_partly())
    save(root / "labelsTr" / "c.nii.gz", np.full_like(draw_label(), IGNORED))
    return root


def test_what_is_not_annotated_is_counted_and_no_fault(tmp_path: Path) -> None:
    root = make_partly(tmp_path / "data", ignore=IGNORED)
    dataset = Dataset(
        "t", source="nnunet", root=str(root), structures=dict(STRUCTURES), ignore=IGNORED
    )
    found = ingest(dataset, tmp_path, processes=1)
    assert list(found.cohort["exam_id"]) == ["a", "b", "c"]
    told = " ".join(fault.found for fault in found.faults if fault.note)
    assert "value 3 marks 640 voxels (44 %) of 2 of 3 label maps as not annotated" in told
    assert "1 label maps have no annotated voxel: c" in told
    volumes = found.volumes.set_index(["exam_id", "structure"])["volume_mm3"]
    assert volumes["a", "disc"] == 8 * 3


def test_it_is_taken_from_the_declaration_unless_its_voxels_are_replaced(tmp_path: Path) -> None:
    from omegaconf import OmegaConf

    root = make_partly(tmp_path / "data", ignore=IGNORED)
    for given, expected in (
        ({}, IGNORED),
        ({"ignore": 7}, 7),
        ({"reading": {"label_map": {IGNORED: 0}}}, None),
    ):
        config = OmegaConf.create(
            {
                "dataset": {
                    "source": "nnunet", "root": str(root), "structures": {},
                    "ignore": None, "reading": {"label_map": {}}, **given,
                }
            }
        )  # fmt: skip
        declare_structures(config, ("dataset",))
        assert config.dataset.ignore == expected
        assert dict(config.dataset.structures) == STRUCTURES


def test_the_decathlons_dialect_declares_it_too(tmp_path: Path) -> None:
    root = make_decathlon(tmp_path / "data", ["a"])
    content = json.loads((root / "dataset.json").read_text())
    content["labels"][str(IGNORED)] = "Ignore"
    (root / "dataset.json").write_text(json.dumps(content))
    declared = read_dataset_json(root)
    assert (declared.ignore, declared.structures, declared.faults) == (IGNORED, STRUCTURES, [])


@pytest.mark.parametrize(
    ("declared", "changed", "message"),
    [
        ({"ignore": IGNORED}, {}, "expected dataset.ignore 3, as the source declares"),
        ({}, {"ignore": 255}, r"dataset.reading.label_map=\{255: 3\}"),
        ({}, {"ignore": 2}, "expected 3, the value after those of the structures"),
        ({"ignore": IGNORED}, {"ignore": 4}, "set dataset.ignore=3"),
        ({}, {"structures": {**STRUCTURES, "ignore": 3}}, "set dataset.ignore=3 if it is that"),
    ],
)
def test_a_value_that_cannot_be_is_refused_before_an_image_is_read(
    tmp_path: Path, declared: dict[str, int], changed: dict[str, object], message: str
) -> None:
    root = make_partly(tmp_path / "data", **declared)
    for image in (root / "imagesTr").iterdir():
        image.write_bytes(b"")
    fields = {"structures": dict(STRUCTURES), **changed}
    dataset = Dataset("t", source="nnunet", root=str(root), **fields)  # type: ignore[arg-type]
    with pytest.raises(IngestError, match=message):
        ingest(dataset, tmp_path, processes=1)


def test_a_value_of_ones_own_is_mapped_to_the_one_after_the_structures(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["a", "b"])
    label = draw_partly()
    save(root / "labelsTr" / "a.nii.gz", np.where(label == IGNORED, 255, label).astype(np.uint8))
    reading = Reading(label_map={255: IGNORED})
    dataset = Dataset("t", "", "nnunet", str(root), dict(STRUCTURES), IGNORED, reading=reading)
    found = ingest(dataset, tmp_path, processes=1)
    assert any("value 3 marks 160 voxels (17 %) of 1 of 2" in fault.found for fault in found.faults)


def score(
    folder: Path, references: dict[str, np.ndarray], own: np.ndarray | None = None
) -> pd.DataFrame:
    """Score a prediction that is right where the partly annotated label says, and wrong elsewhere."""
    predicted = draw_partly()
    predicted[predicted == IGNORED] = 1
    prediction = save(folder / "prediction.nii.gz", predicted)
    audit = Audit(name="t", metrics=["dice", "hd95", "ndsc"])
    tasks = [
        ScoreTask(
            exam, "gold", prediction, save(folder / f"{exam}.nii.gz", reference), None,
            dict(STRUCTURES), audit, ignore=IGNORED,
            own=None if own is None else save(folder / "own.nii.gz", own),
        )
        for exam, reference in references.items()
    ]  # fmt: skip
    scores, _ = finish_scores(score_exams(tasks, 1), audit, "mix", "gold")
    return scores.set_index(["exam_id", "structure", "metric"])


def test_it_is_part_of_neither_map_nor_of_the_image(tmp_path: Path) -> None:
    empty = np.full_like(draw_label(), IGNORED)
    scores = score(tmp_path, {"partly": draw_partly(), "empty": empty})
    values = scores["value"]
    assert values["partly", "vertebra", "dice"] == 1
    assert values["partly", "vertebra", "hd95"] == 0
    assert values["partly", "vertebra", "ndsc"] == 1
    assert values["partly", "vertebra", "image_voxels"] == 8 * 10 * 4
    nothing = scores.loc["empty"]
    assert set(nothing.index.get_level_values("metric")) == {"dice", "hd95", "ndsc"}
    assert set(nothing.index.get_level_values("structure")) == {*STRUCTURES, "macro"}
    assert nothing["value"].isna().all()
    assert set(nothing["undefined_because"]) == {"not_annotated"}


def test_every_ruler_judges_the_voxels_that_the_exams_own_label_annotates(tmp_path: Path) -> None:
    machine = draw_label()
    assert score(tmp_path, {"a": machine})["value"]["a", "vertebra", "dice"] < 1
    assert score(tmp_path, {"a": machine}, draw_partly())["value"]["a", "vertebra", "dice"] == 1
