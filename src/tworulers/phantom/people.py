"""Who is in the synthetic cohort: patients and exams with the demographics of a published table."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from tworulers.phantom.randomness import open_stream
from tworulers.schema.phantom_settings import Phantom
from tworulers.schema.settings import Provenance
from tworulers.schema.tables import format_axes

LOCALIZER_SLICES = 56
LOCALIZER_SPACING_MM = 1.0

PATIENT_TABLE: dict[str, dict[str, tuple[int, int]]] = {
    "sex": {"Female": (683, 9), "Male": (571, 14)},
    "race": {
        "White": (809, 15),
        "Black or African American": (349, 7),
        "Not Reported": (33, 0),
        "Other": (28, 0),
        "Asian": (25, 1),
        "American Indian or Alaska Native": (9, 0),
        "Native Hawaiian or other Pacific Islander": (1, 0),
    },
    "ethnicity": {
        "Not Hispanic or Latino": (1162, 22),
        "Hispanic or Latino": (59, 1),
        "Not Reported": (33, 0),
    },
    "age_bin": {"<40": (241, 4), "40-60": (486, 9), "60-89": (514, 9), ">89": (13, 1)},
}
"""Traits of a patient: exams of 1,254, and how many of them are the second exam of a patient."""

EXAM_TABLE: dict[str, dict[str, int]] = {
    "manufacturer": {"Siemens": 788, "GE": 466},
    "field_strength_t": {"1.5": 746, "3.0": 508},
}
"""Traits of an exam: exams of 1,254."""

GOLD_SHARE_OF_SECOND_EXAMS = 10 / 23

AGE_CURVES: dict[str, tuple[float, float, float]] = {
    "<40": (18.0, 22.0, 0.65),
    "40-60": (40.0, 20.0, 0.86),
    "60-89": (60.0, 30.0, 1.9),
}
"""Ages of a bin: `first + width * u**bend`, u evenly spaced (mean 54.6, SD 16.3, median 56)."""

LOCALIZER_TRAITS: dict[str, object] = {
    "sex": "Female",
    "race": "White",
    "ethnicity": "Not Hispanic or Latino",
    "age": 52.0,
    "age_over_89": False,
    "manufacturer": "Siemens",
    "field_strength_t": 1.5,
}


def draw_people(settings: Phantom) -> pd.DataFrame:
    """Draw the exams of the synthetic cohort and who was scanned.

    The default 1,232 patients and 1,255 exams hold one localizer; the other 1,254 exams of 1,231
    patients have exactly the counts of Table 1 of Juni, Feragen and Parikh (2026). Other sizes are
    proportional, by largest remainders. The first `gold_patients` numbers are the expert-labelled
    patients; a patient has one or two exams.

    Parameters
    ----------
    settings : size, grid and seed of the cohort.

    Returns
    -------
    One row an exam in the order of patient numbers, with the columns of the cohort table except
    `image` and `label`. `shape` and `spacing` (mm) tell the localizer apart: it has 56 slices.

    Raises
    ------
    ValueError : where the numbers of patients, gold patients and exams do not go together; all
        faults in one message.
    """
    _check_numbers(settings)
    rng = open_stream(settings.seed, "people", "")
    patients = settings.patients - 1
    two_exams = _choose_two_exams(
        patients, settings.gold_patients, settings.exams - settings.patients, rng
    )

    people = pd.DataFrame(
        {trait: _assign_trait(levels, two_exams, rng) for trait, levels in PATIENT_TABLE.items()}
    )
    people["age"] = _draw_ages(people["age_bin"], rng)
    people["age_over_89"] = people.pop("age_bin") == ">89"
    people["provenance"] = str(Provenance.SILVER)
    people.loc[: settings.gold_patients - 1, "provenance"] = str(Provenance.GOLD)
    numbers = np.arange(1, settings.patients + 1)
    localizer = int(rng.integers(settings.gold_patients, settings.patients))
    people["number"] = np.delete(numbers, localizer)

    exams = people.loc[np.repeat(people.index, 1 + two_exams)].reset_index(drop=True)
    for trait, counts in EXAM_TABLE.items():
        exams[trait] = _deal(list(counts), _apportion(list(counts.values()), len(exams)), rng)
    exams["field_strength_t"] = exams["field_strength_t"].astype(float)
    exams["shape"] = format_axes(settings.shape)
    exams["spacing"] = format_axes(settings.spacing)

    exams = pd.concat([exams, _localizer_row(numbers[localizer], settings)], ignore_index=True)
    exams = exams.sort_values("number", kind="stable", ignore_index=True)
    return _name_exams(exams, rng)


def is_localizer(shape: Sequence[float], usual_slices: float) -> bool:
    """Tell a localizer by its geometry: over twice the usual number of slices on the first axis."""
    return shape[0] > 2 * usual_slices


def _check_numbers(settings: Phantom) -> None:
    """List all reasons why no cohort of these numbers exists."""
    faults = []
    if settings.patients < 3:
        faults.append(
            f"patients is {settings.patients}, expected at least 3 (one is the localizer's)"
        )
    if not 1 <= settings.gold_patients <= settings.patients - 2:
        faults.append(
            f"gold_patients is {settings.gold_patients}, expected 1 to patients - 2 = "
            f"{settings.patients - 2} (one silver patient is the localizer's)"
        )
    if not settings.patients <= settings.exams <= 2 * settings.patients - 1:
        faults.append(
            f"exams is {settings.exams}, expected patients to 2 * patients - 1 = "
            f"{settings.patients} to {2 * settings.patients - 1} (at most two exams a patient, "
            "one of the localizer's)"
        )
    if len(settings.shape) != 3 or min(settings.shape, default=0) < 1:
        faults.append(f"shape is {settings.shape}, expected three voxel counts of at least 1")
    if len(settings.spacing) != 3 or not min(settings.spacing, default=0) > 0:
        faults.append(f"spacing is {settings.spacing}, expected three distances in mm above 0")
    if faults:
        raise ValueError(
            "The phantom cannot be drawn:\n" + "\n".join(f"  {fault}" for fault in faults)
        )


def _choose_two_exams(
    patients: int, gold: int, second: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Mark (1) the patients who have a second exam, with the published share of gold ones."""
    silver = patients - gold
    gold_second = int(
        np.clip(round(second * GOLD_SHARE_OF_SECOND_EXAMS), second - silver, min(gold, second))
    )
    marks = np.zeros(patients, dtype=np.int64)
    marks[rng.choice(gold, gold_second, replace=False)] = 1
    marks[gold + rng.choice(silver, second - gold_second, replace=False)] = 1
    return marks


def _assign_trait(
    levels: dict[str, tuple[int, int]], two_exams: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.object_]:
    """Give each patient a level so that the exams of each level are the table's share."""
    patients, second = len(two_exams), int(two_exams.sum())
    exam_counts = _apportion([exams for exams, _ in levels.values()], patients + second)
    twice = _apportion([of_second for _, of_second in levels.values()], second)
    twice = np.minimum(twice, exam_counts // 2)
    while twice.sum() < second:
        twice[np.argmax(exam_counts - 2 * twice)] += 1
    once = np.maximum(exam_counts - 2 * twice, 0)
    while once.sum() > patients - second:
        once[np.argmax(once)] -= 1
    assigned = np.empty(patients, dtype=object)
    assigned[two_exams == 1] = _deal(list(levels), twice, rng)
    assigned[two_exams == 0] = _deal(list(levels), once, rng)
    return assigned


def _apportion(weights: Sequence[float], total: int) -> npt.NDArray[np.int64]:
    """Divide a total in whole parts by weights, by largest remainders."""
    exact = np.asarray(weights, dtype=float) / np.sum(weights) * total
    parts: npt.NDArray[np.int64] = np.floor(exact + 1e-9).astype(np.int64)
    largest = np.argsort(parts - exact, kind="stable")[: total - parts.sum()]
    parts[largest] += 1
    return parts


def _deal(
    levels: list[str], counts: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.object_]:
    """Deal levels in random order, each spread evenly so that any first part holds its share."""
    names = np.repeat(np.array(levels, dtype=object), counts)
    places = np.concatenate(
        [(np.arange(count) + rng.random(count)) / max(count, 1) for count in counts]
    )
    return names[np.argsort(places, kind="stable")]


def _draw_ages(bins: pd.Series, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Give the patients of a bin its evenly spread whole years in random order; none above 89."""
    ages = np.full(len(bins), np.nan)
    for name, (first, width, bend) in AGE_CURVES.items():
        members = np.flatnonzero(bins == name)
        u = (np.arange(len(members)) + 0.5) / max(len(members), 1)
        ages[rng.permutation(members)] = np.floor(first + width * u**bend)
    return ages


def _localizer_row(number: int, settings: Phantom) -> pd.DataFrame:
    """Describe the localizer: many thin slices, and a patient of its own."""
    slices = max(LOCALIZER_SLICES, 4 * settings.shape[0])
    return pd.DataFrame(
        [
            LOCALIZER_TRAITS
            | {
                "number": number,
                "provenance": str(Provenance.SILVER),
                "shape": format_axes([slices, *settings.shape[1:]]),
                "spacing": format_axes([LOCALIZER_SPACING_MM, *settings.spacing[1:]]),
            }
        ]
    )


def _name_exams(exams: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Name patients and exams in the style of a download, and put the identifiers first."""
    exams = exams.copy()
    number = exams.pop("number")
    study = number.groupby(number).cumcount() + 1
    series = rng.integers(2, 13, len(exams))
    patient_ids = [f"{value:06d}" for value in number]
    exam_ids = [
        f"{patient}_Study-MR-{s}_Series-{k}"
        for patient, s, k in zip(patient_ids, study, series, strict=True)
    ]
    exams.insert(0, "exam_id", exam_ids)
    exams.insert(1, "patient_id", patient_ids)
    return exams
