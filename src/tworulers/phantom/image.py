"""What a scanner sees of a spine: sagittal T2-like contrast, blur, noise, shading and gain."""

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter1d

from tworulers.phantom.randomness import Field, Reals, smooth_field
from tworulers.phantom.shape import Axes, Spine

FAT, MUSCLE, FLUID, CORD, AIR, DARK = 0.80, 0.40, 0.95, 0.50, 0.04, 0.10
MARROW, MARROW_CONTRAST = 0.42, 0.20
ANNULUS, NUCLEUS_CONTRAST = 0.28, 0.42
SHELL_MM, ENDPLATE_MM = 1.6, 1.0
BLUR_MM = {1.5: 0.85, 3.0: 0.75}
NOISE = {1.5: 0.060, 3.0: 0.050}
SHADING = {1.5: 0.15, 3.0: 0.25}
GAMMA = {"Siemens": 0.90, "GE": 1.05}
SIEMENS_BLUR, GE_NOISE = 1.15, 1.10
FULL_SCALE = 400.0


def render_image(
    spine: Spine,
    axes: Axes,
    manufacturer: str,
    field_strength_t: float,
    age_contrast: float,
    rng: np.random.Generator,
) -> npt.NDArray[np.int16]:
    """Render the scan of a spine.

    Wear takes the share `age_contrast * wear` of the contrast of marrow and nucleus, and the
    thin dark endplates and cortical shell lose theirs twice over: the one way by which age makes
    an exam harder to segment.

    Parameters
    ----------
    spine, axes : the placed spine and the coordinates in mm of the voxel centres.
    manufacturer, field_strength_t : Siemens or GE, 1.5 or 3.0 T: blur, noise, shading and gamma.
    age_contrast : share of the contrast that full wear takes away.
    rng : the exam's own stream.

    Returns
    -------
    int16 image of the whole volume in arbitrary units.
    """
    image = _paint_surroundings(spine, axes, rng)
    _paint_spine(image, spine, axes, age_contrast)
    return _scan(image, axes, manufacturer, field_strength_t, rng)


def _paint_surroundings(spine: Spine, axes: Axes, rng: np.random.Generator) -> Field:
    """Paint soft tissue, airway, canal with cord, and the fat and skin of the neck."""
    left, _, back = axes
    behind = back[None, :] - spine.middle_mm[:, None]
    texture = 0.05 * smooth_field(axes, 7.0, rng) + 0.05 * smooth_field(axes, 20.0, rng)

    plane = np.full_like(behind, MUSCLE)
    plane += (FAT - MUSCLE) * _step(behind - 44, 6)
    airway = _step(behind + 29, 1.5) * _step(-15.5 - behind, 1.5)
    plane += (AIR - plane) * airway
    plane += (FAT * 0.6 - plane) * _step(behind - 21.5, 2) * _step(25.5 - behind, 2)
    plane += (AIR - plane) * (_step(behind - 70, 4) + _step(-80 - behind, 4))

    canal = _step(behind - 9.5, 1.2) * _step(21.5 - behind, 1.2)
    cord = _step(behind - 11.8, 1.2) * _step(18.8 - behind, 1.2)
    middle = plane + (FLUID - plane) * canal
    middle += (CORD - middle) * cord
    beside = _step(np.abs(left) - 9.5, 4)[:, None, None]
    return np.asarray(middle + (plane - middle) * beside + texture, dtype=np.float32)


def _paint_spine(image: Field, spine: Spine, axes: Axes, age_contrast: float) -> None:
    """Paint shell, bodies, discs and endplates by the share of each voxel that they fill."""
    voxel = float(np.mean([axis[1] - axis[0] if len(axis) > 1 else 1.0 for axis in axes[1:]]))
    contrast = (1 - age_contrast * spine.wear[spine.window[1]])[None, :, None]
    border = contrast**2
    body, disc, view = spine.body, spine.disc, image[spine.window]
    solid = np.maximum(body, disc)

    inside = _step(solid, voxel)
    view += border * (DARK - view) * _step(solid + SHELL_MM, voxel) * (1 - inside)
    is_disc = _step(disc - body, voxel)
    core = _step(disc - 1.6, 2.0)
    bone = MARROW + MARROW_CONTRAST * contrast
    fill = bone + (ANNULUS + NUCLEUS_CONTRAST * contrast * core - bone) * is_disc
    endplate = np.maximum(1 - np.abs(body - disc) / ENDPLATE_MM, 0)
    fill += border * (DARK - fill) * endplate
    view += (fill - view) * inside


def _scan(
    image: Field, axes: Axes, manufacturer: str, field_strength_t: float, rng: np.random.Generator
) -> npt.NDArray[np.int16]:
    """Blur in plane, shade, add Rician noise, bend the grey scale and scale it to whole numbers."""
    blur_mm = BLUR_MM[field_strength_t] * (SIEMENS_BLUR if manufacturer == "Siemens" else 1.0)
    noise = np.float32(NOISE[field_strength_t] * (GE_NOISE if manufacturer == "GE" else 1.0))
    for axis in (1, 2):
        step = axes[axis][1] - axes[axis][0] if len(axes[axis]) > 1 else 1.0
        image = gaussian_filter1d(
            image, blur_mm / float(step), axis=axis, mode="nearest", truncate=3.0
        )
    image *= np.exp(np.float32(SHADING[field_strength_t]) * smooth_field(axes, 70.0, rng))
    real = image + noise * rng.standard_normal(image.shape, dtype=np.float32)
    imaginary = noise * rng.standard_normal(image.shape, dtype=np.float32)
    magnitude = np.sqrt(real * real + imaginary * imaginary)
    gain = FULL_SCALE * rng.lognormal(0, 0.25)
    scaled = np.float32(gain) * magnitude ** np.float32(GAMMA[manufacturer])
    image_units: npt.NDArray[np.int16] = np.rint(np.minimum(scaled, 32767)).astype(np.int16)
    return image_units


def _step(distance: Reals, width: float) -> Reals:
    """Ramp from 0 to 1 over a width about 0: the share of such a voxel behind a flat edge."""
    share: Reals = np.clip(distance / np.float32(width) + np.float32(0.5), 0, 1)
    return share
