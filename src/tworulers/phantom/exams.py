"""What one synthetic exam is: a cervical-spine scan, its noise-free truth, an expert's label."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tworulers.phantom.anatomy import draw_anatomy
from tworulers.phantom.image import render_image
from tworulers.phantom.randomness import open_stream
from tworulers.phantom.rater import draw_expert_label
from tworulers.phantom.shape import Axes, Spine, draw_pose, place_spine, voxel_centres
from tworulers.schema.phantom_settings import Phantom
from tworulers.schema.tables import parse_axes

Row = Mapping[Hashable, object] | pd.Series


@dataclass(frozen=True)
class PhantomExam:
    """One synthetic exam; arrays run left, down, back; `affine` gives right, front, up in mm."""

    image: npt.NDArray[np.int16]
    truth: npt.NDArray[np.uint8]
    expert: npt.NDArray[np.uint8]
    affine: npt.NDArray[np.float64]


def make_exam(person: Row, settings: Phantom) -> PhantomExam:
    """Make the scan of one exam, its noise-free mask and an expert's label of it.

    Anatomy depends on the patient, pose, scanner and noise on the exam, and the expert on
    `expert_seed` and the exam, so that labels can be drawn again while images stay as they are.

    Parameters
    ----------
    person : one row of `draw_people`.
    settings : the knobs; shape and spacing are taken from the row, where the localizer has its own.
    """
    axes, spine = _place(person, settings)
    image = render_image(
        spine,
        axes,
        str(person["manufacturer"]),
        float(person["field_strength_t"]),  # type: ignore[arg-type]
        settings.age_contrast,
        open_stream(settings.seed, "image", person["exam_id"]),
    )
    of_expert = open_stream(settings.expert_seed, "expert", person["exam_id"])
    expert = draw_expert_label(spine, axes, settings, of_expert)
    truth = spine.label(spine.body, spine.disc)
    return PhantomExam(image, truth, expert, _orient(axes, person))


def _place(person: Row, settings: Phantom) -> tuple[Axes, Spine]:
    """Draw the patient's spine and put it into the exam's volume."""
    first, second, third = (int(n) for n in parse_axes(str(person["shape"])))
    axes = voxel_centres((first, second, third), parse_axes(str(person["spacing"])))
    of_patient = open_stream(settings.seed, "patient", person["patient_id"])
    above_89 = bool(person["age_over_89"])
    age = of_patient.uniform(90, 97) if above_89 else float(str(person["age"]))
    anatomy = draw_anatomy(person["sex"] == "Male", age, of_patient)
    of_exam = open_stream(settings.seed, "pose", person["exam_id"])
    return axes, place_spine(anatomy, draw_pose(of_exam), axes, of_exam)


def _orient(axes: Axes, person: Row) -> npt.NDArray[np.float64]:
    """Build the affine of a stack whose axes run left, down and back, centred on the origin."""
    left, down, back = parse_axes(str(person["spacing"]))
    affine = np.array([[-left, 0, 0, 0], [0, 0, -back, 0], [0, -down, 0, 0], [0, 0, 0, 1.0]])
    centre = np.array([(len(axis) - 1) / 2 for axis in axes])
    affine[:3, 3] = -affine[:3, :3] @ centre
    return affine
