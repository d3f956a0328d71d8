"""How often the intervals of the agreement of two raters hold the true values."""

from __future__ import annotations

import numpy as np

from calibration.rows import Row, Topic
from tworulers.stats.agreement import REACH, measure_agreement

BETWEEN, WITHIN, RATER, NOISE, BIAS = 1.0, 0.25, 0.16, 0.09, 0.2
"""Variances: between patients, exams of one, a rater's views of patients, and ratings; and the mean difference."""

SIZES = ((40, 1), (100, 1), (40, 3), (60, 5))
"""Patients, and exams of each."""


def measure_raters(studies: int, rng: np.random.Generator) -> list[Row]:
    """Measure the coverage of ICC(2,1), Lin's concordance, bias and limits of agreement."""
    own = RATER + NOISE
    total = BETWEEN + WITHIN + own
    sd = (2 * own) ** 0.5
    truth = {
        # Two fixed raters: the mean square between them estimates half the squared bias.
        "icc": (BETWEEN + WITHIN) / (total + BIAS**2 / 2),
        "ccc": 2 * (BETWEEN + WITHIN) / (2 * total + BIAS**2),
        "bias": BIAS,
        "lower_limit": BIAS - REACH * sd,
        "upper_limit": BIAS + REACH * sd,
    }
    rows = []
    for patients, exams in SIZES:
        owner = np.repeat(np.arange(patients), exams)
        held = dict.fromkeys(truth, 0)
        for _ in range(studies):
            level = np.sqrt(BETWEEN) * rng.normal(size=patients)[owner]
            level += np.sqrt(WITHIN) * rng.normal(size=len(owner))
            first, second = (
                level
                + np.sqrt(RATER) * rng.normal(size=patients)[owner]
                + np.sqrt(NOISE) * rng.normal(size=len(owner))
                for _ in range(2)
            )
            found = measure_agreement(first, second + BIAS, patients=owner)
            for name, value in truth.items():
                low, high = getattr(found, f"{name}_low"), getattr(found, f"{name}_high")
                held[name] += bool(low <= value <= high)
        for name, count in held.items():
            rows.append(
                Row(
                    f"{patients} patients with {exams} exams, two raters",
                    f"95 % interval of {NAMES[name]} holds it",
                    count / studies,
                    studies,
                    at_least=0.93,
                    at_most=1.0 if name == "icc" else 0.97,
                )
            )
    return rows


NAMES = {
    "icc": "ICC(2,1)",
    "ccc": "Lin's concordance",
    "bias": "the mean difference",
    "lower_limit": "the lower limit of agreement",
    "upper_limit": "the upper limit of agreement",
}

TOPIC = Topic(
    "Agreement of two raters",
    "Two raters with a true difference of means rate the same exams; a rater sees the exams of one patient alike. The "
    "interval of the ICC takes raters as drawn from many, so that with two it is wider than these two need.",
    measure_raters,
    2_000,
    ("tworulers.stats.agreement",),
)
