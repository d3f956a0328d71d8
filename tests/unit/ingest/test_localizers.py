"""Localizers are told by how their slices lie among the others', in every layout, and by no single number."""

from pathlib import Path

import numpy as np
import pytest
from tiny_sources import STRUCTURES, draw_image, draw_label, make_nnunet, save

from tworulers.ingest.inspect import Inspection
from tworulers.ingest.localizers import find_localizers
from tworulers.ingest.read import ingest
from tworulers.schema.sources import Dataset, Reading

USUAL = Inspection("usual", (320, 320, 15), (0.53, 0.53, 4.0), axes="AIR")


def mix(odd: Inspection, n: int = 7) -> dict[str, str]:
    usual = [Inspection(f"e{k}", USUAL.shape, USUAL.spacing, axes=USUAL.axes) for k in range(n)]
    return find_localizers([*usual, odd])


def test_many_slices_close_together_are_a_localizer_wherever_their_axis_is_stored() -> None:
    found = mix(Inspection("odd", (56, 512, 512), (1.0, 0.488, 0.488), axes="LPI"))
    assert found == {
        "odd": "localizer by its geometry: 56 slices, where 15 are usual, 1 mm apart, where 4 mm are usual"
    }


def test_few_slices_in_another_plane_are_a_localizer() -> None:
    odd = Inspection("odd", (256, 256, 3), (1.0, 1.0, 8.5), axes="RAS")
    assert "slices across S, where R is usual" in mix(odd)["odd"]


@pytest.mark.parametrize(
    "odd",
    [
        Inspection("wide", (320, 320, 40), (0.53, 0.53, 4.0), axes="AIR"),
        Inspection("thin", (320, 320, 25), (0.53, 0.53, 1.9), axes="AIR"),
        Inspection("turned", (15, 320, 320), (4.0, 0.53, 0.53), axes="LPI"),
        Inspection("large", (1024, 1024, 15), (0.2, 0.2, 4.0), axes="AIR"),
        Inspection("unplaced", (320, 320, 15), (0.53, 0.53, 4.0)),
    ],
    ids=lambda odd: odd.exam_id,
)
def test_one_unusual_number_makes_no_localizer(odd: Inspection) -> None:
    assert mix(odd) == {}


def test_where_exams_differ_there_is_no_usual_geometry() -> None:
    thick = [Inspection(f"a{k}", (320, 320, 15), (0.5, 0.5, 4.0), axes="AIR") for k in range(4)]
    thin = [Inspection(f"b{k}", (320, 320, 150), (1.0, 1.0, 1.0), axes="RAS") for k in range(4)]
    assert find_localizers([*thick, *thin]) == {}
    assert mix(Inspection("odd", (56, 512, 512), (1.0, 0.488, 0.488)), 2) == {}


def test_a_localizer_is_left_out_of_any_layout_unless_it_is_kept(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path, [f"e{k}" for k in range(8)])
    affine = np.diag([0.5, 0.5, 1.0, 1.0])
    for name, array in (("imagesTr/e3_0000", draw_image(3)), ("labelsTr/e3", draw_label())):
        save(root / f"{name}.nii.gz", np.concatenate([array] * 4, axis=2), affine)
    dataset = Dataset("n", source="nnunet", root=str(root), structures=STRUCTURES)
    found = ingest(dataset, tmp_path, processes=1)
    assert found.exclusions["exam_id"].tolist() == ["e3"]
    (told,) = [fault.describe() for fault in found.faults if "localizer" in fault.describe()]
    assert "dataset.reading.keep=['e3'] keeps it" in told
    dataset.reading = Reading(keep=["e3"])
    assert len(ingest(dataset, tmp_path, processes=1).cohort) == 8
