"""What happens to a good label map on its way through programs, and the label maps that it happens to."""

import gzip
from collections.abc import Callable
from pathlib import Path

import nibabel as nib
import numpy as np

Draw = np.random.Generator
AFFINE = np.array([[-0.5, 0, 0, 10], [0, -0.5, 0, 20], [0, 0, 4, 30], [0, 0, 0, 1.0]])
CODES = {"qform": 252, "sform": 254}
"""Where a NIfTI header has the codes of its positions."""
STRUCTURES = {"vb": 1, "disc": 2}


def draw_label(shift: int = 0) -> np.ndarray:
    """Draw two blocks; the shift moves a border."""
    label = np.zeros((8, 10, 6), np.uint8)
    label[2:6, 2 : 7 + shift, 1:4] = 1
    label[2:6, 2:7, 4 : 5 + shift] = 2
    return label


def save(path: Path, array: np.ndarray, affine: np.ndarray = AFFINE, **header: int) -> Path:
    """Save an image, with codes for its positions."""
    image = nib.Nifti1Image(array, affine, dtype=array.dtype)
    nib.save(image, path)
    if header:
        content = bytearray(gzip.decompress(path.read_bytes()))
        for form, code in header.items():
            content[CODES[form] : CODES[form] + 2] = code.to_bytes(2, "little")
        path.write_bytes(gzip.compress(content))
    return path


def retype(path: Path, rng: Draw) -> Path:
    kinds = [
        np.int8,
        np.int16,
        np.int32,
        np.int64,
        np.uint16,
        np.uint64,
        np.float32,
        np.float64,
        np.complex64,
    ]
    return save(path, np.asarray(nib.load(path).dataobj).astype(kinds[rng.integers(len(kinds))]))


def colour(path: Path, _: Draw) -> Path:
    kind = np.dtype([("R", "u1"), ("G", "u1"), ("B", "u1")])
    return save(path, np.zeros((8, 10, 6), kind))


def revalue(path: Path, rng: Draw) -> Path:
    array = np.asarray(nib.load(path).dataobj).astype(np.int32)
    old = int(rng.choice([0, 1, 2]))
    array[array == old] = int(rng.choice([-1, 0, 1, 2, 3, 255, 256, 257, 1035, 65536, 2**31 - 1]))
    return save(path, array)


def interpolate(path: Path, rng: Draw) -> Path:
    array = np.asarray(nib.load(path).dataobj).astype(np.float32)
    array[rng.random(array.shape) < 0.1] += rng.choice([1e-5, 0.2, 0.5, np.nan, np.inf])
    return save(path, array)


def scale(path: Path, rng: Draw) -> Path:
    image = nib.Nifti1Image(np.asarray(nib.load(path).dataobj).astype(np.int16) * 2, AFFINE)
    image.header.set_slope_inter(float(rng.choice([0.5, 1.0, 2.0])), 0)
    image.header.set_data_dtype(np.int16)
    nib.save(image, path)
    return path


def cut(path: Path, rng: Draw) -> Path:
    content = path.read_bytes()
    path.write_bytes(content[: rng.integers(len(content))])
    return path


def double(path: Path, rng: Draw) -> Path:
    array = np.asarray(nib.load(path).dataobj)
    copies = [array] * int(rng.choice([1, 2, 3]))
    return save(path, np.stack(copies, -1))


def rename(path: Path, rng: Draw) -> Path:
    base = path.name.removesuffix(".nii.gz")
    name = str(rng.choice([f"{base}.nii", f"{base}.NII.GZ", f"{base}_seg.nii.gz", base.upper() + ".nii.gz",
                           f"{base}.nrrd", f"{base}.mha", f"{base}.nii.gz.gz", f"._{base}.nii.gz"]))  # fmt: skip
    return path.rename(path.with_name(name))


def convert(path: Path, rng: Draw) -> Path:
    import SimpleITK as sitk  # noqa: N813

    image = sitk.ReadImage(str(path))
    made = path.with_name(path.name.replace(".nii.gz", str(rng.choice([".nrrd", ".mha", ".nii"]))))
    path.unlink()
    sitk.WriteImage(image, str(made))
    return made


def turn(path: Path, rng: Draw) -> Path:
    image = nib.load(path)
    axes = rng.permutation(3)
    turn = np.column_stack([axes, rng.choice([-1, 1], 3)])
    nib.save(image.as_reoriented(turn), path)
    return path


def move(path: Path, rng: Draw) -> Path:
    affine = AFFINE.copy()
    affine[:3, 3] += rng.choice([0, 0.001, 0.02, 5], 3)
    affine[:3, :3] *= rng.choice([1, 1, 1.1])
    return save(path, np.asarray(nib.load(path).dataobj), affine)


def unplace(path: Path, _: Draw) -> Path:
    return save(path, np.asarray(nib.load(path).dataobj), sform=0, qform=0)


def crop(path: Path, rng: Draw) -> Path:
    array = np.asarray(nib.load(path).dataobj)
    return save(path, array[..., :-1] if rng.random() < 0.5 else array.transpose(1, 0, 2))


def empty(path: Path, rng: Draw) -> Path:
    if rng.random() < 0.5:
        path.write_bytes(b"")
        return path
    return save(path, np.zeros((8, 10, 6), np.uint8))


CHANGES: list[Callable[[Path, Draw], Path]] = [
    retype, colour, revalue, interpolate, scale, cut, cut, double, rename, rename, convert, turn, move, unplace, crop,
    empty,
]  # fmt: skip


def change(folder: Path, rng: Draw) -> str:
    """Change one of the label maps of a folder, and say how."""
    files = sorted(folder.glob("*.nii.gz"))
    made = CHANGES[rng.integers(len(CHANGES))]
    made(files[rng.integers(len(files))], rng)
    return made.__name__
