"""How old a person is, from the many ways in which ages are written."""

import re
from dataclasses import dataclass
from enum import StrEnum

from tworulers.cohort.spelling import NOT_REPORTED, TRUE, fold_spelling

MAX_AGE = 120.0
"""Oldest plausible age in years."""

TOP_CODE = 89.0
"""Ages above this are not published: an age of 90 and more is read as "over 89", whatever number is given."""

_YEARS_IN = {"y": 1.0, "m": 1 / 12, "w": 7 / 365.25, "d": 1 / 365.25}
_NUMBER = re.compile(
    r"^(?P<number>-?\d+(?:[.,]\d+)?)\s*(?P<unit>y|yr|yrs|year|years|m|mo|month|months|w|week|weeks|d|"
    r"day|days)?$"
)
_ABOVE = re.compile(
    r"^(?:>|>=|≥|over|above)\s*(?P<low>\d+)$|^(?P<plus>\d+)\s*(?:\+|or older|and over)$"
)


class AgeStatus(StrEnum):
    """What is known about an age."""

    KNOWN = "known"
    OVER_89 = "over 89"
    MISSING = "missing"
    IMPLAUSIBLE = "implausible"


@dataclass(frozen=True)
class Age:
    """An age in years (NaN where no number is known), and what is known about it."""

    years: float
    status: AgeStatus


def read_age(cell: str, over_89: str = "") -> Age:
    """Read an age: years, a DICOM age (``054Y``, ``018M``), a top code (``> 89``), or a blank.

    Parameters
    ----------
    cell : the age as written.
    over_89 : the flag that says the age is above 89, as written; blank where there is none.
    """
    nan = float("nan")
    flagged = fold_spelling(over_89) in TRUE
    text = fold_spelling(cell)
    if not text or text in NOT_REPORTED:
        return Age(nan, AgeStatus.OVER_89 if flagged else AgeStatus.MISSING)
    above = _ABOVE.match(text)
    if above:
        low = float(above["low"] or above["plus"])
        return Age(nan, AgeStatus.OVER_89 if low >= TOP_CODE else AgeStatus.IMPLAUSIBLE)
    number = _NUMBER.match(text)
    if number is None:
        return Age(nan, AgeStatus.IMPLAUSIBLE)
    years = float(number["number"].replace(",", ".")) * _YEARS_IN[(number["unit"] or "y")[0]]
    if not 0 <= years <= MAX_AGE or (flagged and years < TOP_CODE):
        return Age(nan, AgeStatus.IMPLAUSIBLE)
    over = flagged or years >= TOP_CODE + 1
    return Age(nan, AgeStatus.OVER_89) if over else Age(years, AgeStatus.KNOWN)
