"""What a synthetic spine is made of: seven bodies and six discs, sized by sex, worn by age."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BODY, DISC = 1, 2
MEN_TO_WOMEN_VOLUME = 1.23

BODY_HEIGHT_MM = np.array([16.0, 12.6, 12.1, 12.0, 12.3, 13.2, 14.4])
BODY_DEPTH_MM = np.array([15.2, 15.4, 15.5, 15.8, 16.1, 16.3, 16.5])
BODY_WIDTH_MM = np.array([18.0, 19.0, 20.0, 21.0, 22.5, 24.0, 25.0])
DISC_HEIGHT_MM = np.array([5.9, 6.0, 6.1, 6.1, 6.1, 5.9])
DISC_WEAR = np.array([0.65, 0.80, 1.00, 1.15, 1.15, 0.80])
"""Levels C2 to T1; wear is highest at C4/5 to C6/7."""

LARGEST_WEAR = 0.85
WEAR_MIDDLE_AGE = 58.0
WEAR_AGE_SCALE = 8.9
BODY_HEIGHT_LOSS, BODY_DEPTH_GAIN = 0.03, 0.10
DISC_HEIGHT_LOSS, DISC_DEPTH_GAIN = 0.10, 0.08


@dataclass(frozen=True)
class Anatomy:
    """The blocks of one spine from C2 to T1, bodies and discs in turn.

    `kind` is body or disc, `wear` lies in [0, 1], the three sizes are full lengths in mm, and
    `lordosis_mm` is how far the middle of the curve lies in front of its ends.
    """

    kind: npt.NDArray[np.int64]
    wear: npt.NDArray[np.float64]
    height_mm: npt.NDArray[np.float64]
    depth_mm: npt.NDArray[np.float64]
    width_mm: npt.NDArray[np.float64]
    lordosis_mm: float


def draw_anatomy(male: bool, age: float, rng: np.random.Generator) -> Anatomy:
    """Draw the spine of one patient; both exams of the patient share it.

    Men's structures have 1.23 times the volume of women's. Wear follows a logistic curve of age; it
    lowers discs, and makes bodies deeper with lips at their endplates.

    Parameters
    ----------
    male : whether the sizes are a man's.
    age : years.
    rng : the patient's own stream.
    """
    size = (MEN_TO_WOMEN_VOLUME if male else 1.0) ** (1 / 3) * rng.lognormal(0, 0.035)
    typical = LARGEST_WEAR / (1 + np.exp(-(age - WEAR_MIDDLE_AGE) / WEAR_AGE_SCALE))
    disc_wear = np.clip(
        typical * rng.lognormal(0, 0.2) * DISC_WEAR + rng.normal(0, 0.05, len(DISC_WEAR)), 0, 1
    )
    beside = np.concatenate([disc_wear[:1], disc_wear, disc_wear[-1:]])
    body_wear = (beside[:-1] + beside[1:]) / 2

    disc_depth = (BODY_DEPTH_MM[:-1] + BODY_DEPTH_MM[1:]) / 2 - 0.3
    disc_width = (BODY_WIDTH_MM[:-1] + BODY_WIDTH_MM[1:]) / 2 - 0.5
    height = _alternate(
        BODY_HEIGHT_MM * (1 - BODY_HEIGHT_LOSS * body_wear),
        DISC_HEIGHT_MM * (1 - DISC_HEIGHT_LOSS * disc_wear),
    )
    depth = _alternate(
        BODY_DEPTH_MM * (1 + BODY_DEPTH_GAIN * body_wear),
        disc_depth * (1 + DISC_DEPTH_GAIN * disc_wear),
    )
    width = _alternate(BODY_WIDTH_MM, disc_width)
    jitter = rng.normal(1, 0.02, (3, len(height)))
    return Anatomy(
        kind=np.array([BODY, DISC] * len(DISC_WEAR) + [BODY]),
        wear=_alternate(body_wear, disc_wear),
        height_mm=height * size * jitter[0],
        depth_mm=depth * size * jitter[1],
        width_mm=width * size * jitter[2],
        lordosis_mm=float(rng.normal(5, 2.5)),
    )


def _alternate(
    bodies: npt.NDArray[np.float64], discs: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Put bodies and discs in turn, a body first and last."""
    both = np.empty(len(bodies) + len(discs))
    both[0::2] = bodies
    both[1::2] = discs
    return both
