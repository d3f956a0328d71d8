"""Writes a small invented study into a folder, for a first try of every command: label maps, tables and risk scores.

python examples/small_study.py study
"""

import argparse
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import ndimage

EXAMS, PATIENTS, SEED = 60, 48, 1
SHAPE, SPACING = (28, 32, 10), (1.0, 1.0, 2.0)
STRUCTURES = {"anterior": 1, "posterior": 2}
NOISE_MM = {"expert": 0.75, "predictions": 0.55, "predictions_v2": 0.40}
AGE_MM = 0.01
"""How much rougher a prediction is, in mm, for each year beyond twenty."""

Values = NDArray[np.float64]


def draw_people(rng: np.random.Generator) -> pd.DataFrame:
    """Draw who the exams are of; some patients have two exams."""
    patients = pd.DataFrame(
        {
            "patient_id": [f"p{n:02}" for n in range(PATIENTS)],
            "sex": rng.permutation(np.tile(["Female", "Male"], PATIENTS // 2)),
            "age": rng.integers(22, 86, PATIENTS),
            "site": rng.choice(["North", "South", "West"], PATIENTS, p=[0.5, 0.3, 0.2]),
        }
    )
    exams = patients.iloc[np.arange(EXAMS) % PATIENTS].reset_index(drop=True)
    exams.insert(0, "exam_id", [f"exam{n:03}" for n in range(EXAMS)])
    return exams


def roughen(distance: Values, amplitude_mm: float, rng: np.random.Generator) -> Values:
    """Move a surface, given by the distance to it in mm, by smooth noise."""
    noise = ndimage.gaussian_filter(rng.normal(size=distance.shape), (2.5, 2.5, 1.2))
    return distance + amplitude_mm * noise / noise.std()


def fill(distance: Values, plane: Values) -> NDArray[np.uint8]:
    """Return the label map of what lies within a surface, on both sides of a plane."""
    return np.where(distance > 0, np.where(plane > 0, 1, 2), 0).astype(np.uint8)


def draw_exam(age: int, rng: np.random.Generator) -> dict[str, NDArray[np.uint8]]:
    """Draw one anatomy as an expert, two models and a machine that learnt from the first model's kind see it."""
    steps = [(np.arange(n) - (n - 1) / 2) * mm for n, mm in zip(SHAPE, SPACING, strict=True)]
    x, y, z = np.meshgrid(*steps, indexing="ij")
    radii = rng.normal((10.0, 11.5, 7.5), 0.5)
    inside = (1 - np.sqrt((x / radii[0]) ** 2 + (y / radii[1]) ** 2 + (z / radii[2]) ** 2)) * 10
    drawn = {}
    for name, millimetres in NOISE_MM.items():
        older = 0 if name == "expert" else AGE_MM * (age - 20)
        drawn[name] = roughen(inside, millimetres + older, rng)
    drawn["machine"] = roughen(drawn["predictions"], 0.12, rng)
    return {name: fill(distance, y) for name, distance in drawn.items()}


def measure_dice(one: NDArray[np.uint8], other: NDArray[np.uint8], value: int) -> float:
    """Return the Dice coefficient of one structure."""
    a, b = one == value, other == value
    return float(2 * (a & b).sum() / (a.sum() + b.sum()))


def measure_volumes(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> dict[str, float]:
    """Return by how many mm3 each structure is too large."""
    voxel = float(np.prod(SPACING))
    return {
        f"volume_error_{name}": voxel * (int((one == value).sum()) - int((other == value).sum()))
        for name, value in STRUCTURES.items()
    }


def draw_risks(rng: np.random.Generator, n: int = 600) -> pd.DataFrame:
    """Draw a risk score and what happened; -1 stands for a score that was not computed."""
    gender = rng.choice(["Female", "Male"], n)
    frailty = rng.normal(size=n)
    died = rng.random(n) < 1 / (1 + np.exp(1.4 - 1.2 * frailty))
    heard = np.where(gender == "Female", 0.6, 1.0)
    risk = 1 / (1 + np.exp(1.4 - 1.2 * heard * frailty - 0.5 * rng.normal(size=n)))
    risk[rng.choice(n, 9, replace=False)] = -1
    outcome = np.where(died, "EXPIRED", "ALIVE")
    return pd.DataFrame({"gender": gender, "risk": risk.round(4), "died": outcome})


def write_study(folder: Path, seed: int = SEED) -> None:
    """Write everything.

    Parameters
    ----------
    folder : is made; files of the same names are replaced.
    seed : of every draw.
    """
    rng = np.random.default_rng(seed)
    exams = draw_people(rng)
    tables: dict[str, list[dict[str, float]]] = {"gold": [], "silver": [], "gold_v2": []}
    volumes: list[dict[str, float]] = []
    for exam, age in zip(exams["exam_id"], exams["age"], strict=True):
        maps = draw_exam(int(age), rng)
        for name, label in maps.items():
            path = folder / name / f"{exam}.nii.gz"
            path.parent.mkdir(parents=True, exist_ok=True)
            nib.save(nib.Nifti1Image(label, np.diag([*SPACING, 1.0])), path)
        volumes.append(measure_volumes(maps["predictions"], maps["expert"]))
        pairs = {
            "gold": ("predictions", "expert"),
            "silver": ("predictions", "machine"),
            "gold_v2": ("predictions_v2", "expert"),
        }
        for table, (model, reference) in pairs.items():
            tables[table].append(
                {
                    f"dice_{name}": round(measure_dice(maps[model], maps[reference], value), 4)
                    for name, value in STRUCTURES.items()
                }
            )
    exams.to_csv(folder / "exams.csv", index=False)
    for table, rows in tables.items():
        exams.join(pd.DataFrame(rows)).to_csv(folder / f"{table}.csv", index=False)
    exams.join(pd.DataFrame(volumes)).to_csv(folder / "volumes.csv", index=False)
    draw_risks(rng).to_csv(folder / "risks.csv", index=False)


def main() -> None:
    """Write the study into the folder that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    write_study(parser.parse_args().folder)


if __name__ == "__main__":
    main()
