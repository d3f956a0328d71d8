"""How an expert outlines a spine: with a tendency, and with slips by the care taken on an exam."""

import numpy as np
import numpy.typing as npt

from tworulers.phantom.randomness import smooth_field
from tworulers.phantom.shape import Axes, Spine
from tworulers.schema.phantom_settings import Phantom

SLIP_SCALE_MM = 9.0
DISC_FOLLOWS, DISC_OWN, DISC_SLIP = 0.6, 0.6, 0.4


def draw_expert_label(
    spine: Spine, axes: Axes, settings: Phantom, rng: np.random.Generator
) -> npt.NDArray[np.uint8]:
    """Draw an expert's label of a spine: over- or under-segmentation plus smooth slips.

    The exam's slip amplitude is log-normal about `expert_sloppiness_mm` with the given spread and
    capped, so that a few exams are much worse than most; discs partly follow the bodies.

    Parameters
    ----------
    spine : the placed spine.
    axes : coordinates in mm of the voxel centres.
    settings : the expert's knobs, in mm.
    rng : the expert's own stream, apart from the image's, so that the image tells nothing of the
        slips.

    Returns
    -------
    uint8 label of the whole volume: 0 background, 1 body, 2 disc.
    """
    offset = settings.expert_offset_mm * rng.standard_normal()
    disc_offset = (
        DISC_FOLLOWS * offset + DISC_OWN * settings.expert_offset_mm * rng.standard_normal()
    )
    drawn = settings.expert_sloppiness_mm * np.exp(
        settings.expert_sloppiness_spread * rng.standard_normal()
    )
    amplitude = np.float32(min(settings.expert_sloppiness_cap_mm, drawn))
    near = tuple(axis[part] for axis, part in zip(axes, spine.window, strict=True))
    shared = amplitude * smooth_field(near, SLIP_SCALE_MM, rng)
    disc_only = DISC_SLIP * amplitude * smooth_field(near, SLIP_SCALE_MM, rng)
    return spine.label(
        spine.body + np.float32(offset) + shared,
        spine.disc + np.float32(disc_offset) + shared + disc_only,
    )
