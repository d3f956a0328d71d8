"""The columns of each table that passes between stages, and the check that a table keeps to them."""

import pandas as pd
import pandera.pandas as pa
from pandera.errors import SchemaErrors
from pandera.typing import Series

from tworulers.schema.file_names import find_meeting_names, find_name_fault
from tworulers.schema.settings import Provenance, Split

SAFE_IDS = (
    "ids that each name a file of their own (no slash, control character or leading dot, at most 200 bytes, "
    "no two that differ by capital letters alone)"
)


def _name_files(_model: type, ids: pd.Series) -> pd.Series:
    """Tell which ids can name a file of their own, wherever the files may be copied to."""
    known = [str(name) for name in ids.unique()]
    meeting = {name for group in find_meeting_names(known) for name in group}
    safe = {name: not find_name_fault(name) and name not in meeting for name in known}
    return ids.astype(str).map(safe).astype(bool)


class Table(pa.DataFrameModel):
    """A table whose values are taken for the types of its columns; further columns may follow."""

    class Config:
        """Types are coerced."""

        coerce = True


class Cohort(Table):
    """One row an exam. Further attribute columns may follow.

    `label` is missing where `annotate` has yet to make it; `shape` and `spacing` (mm) are written `10x120x72`.
    """

    exam_id: Series[str] = pa.Field(unique=True)
    patient_id: Series[str]
    image: Series[str]
    label: Series[str] = pa.Field(nullable=True)
    provenance: Series[str] = pa.Field(isin=[Provenance.GOLD, Provenance.SILVER])
    sex: Series[str] = pa.Field(nullable=True)
    age: Series[float] = pa.Field(nullable=True, ge=0, le=125)
    age_over_89: Series[bool]
    race: Series[str] = pa.Field(nullable=True)
    ethnicity: Series[str] = pa.Field(nullable=True)
    manufacturer: Series[str] = pa.Field(nullable=True)
    field_strength_t: Series[float] = pa.Field(nullable=True, ge=0)
    spacing: Series[str]
    shape: Series[str]

    _ids_name_files = pa.check("exam_id", "patient_id", name=SAFE_IDS)(_name_files)


class Exclusions(pa.DataFrameModel):
    """Exams that are not in the cohort, each with the reason in words."""

    exam_id: Series[str]
    reason: Series[str]


class Splits(Table):
    """One row an exam and regime: part of the study, stratum, validation fold, and why it was dropped if it was."""

    regime: Series[str]
    exam_id: Series[str]
    patient_id: Series[str]
    provenance: Series[str]
    stratum: Series[str]
    split: Series[str] = pa.Field(isin=list(Split))
    fold: Series[pd.Int64Dtype] = pa.Field(nullable=True)
    reason: Series[str] | None = pa.Field(nullable=True)

    _ids_name_files = pa.check("exam_id", "patient_id", name=SAFE_IDS)(_name_files)


class Scores(Table):
    """One row an exam, structure and metric; an undefined value is missing and says why.

    A macro score over part of the structures has its value and says `1 of 2 structures` with the reason of the others.
    """

    exam_id: Series[str]
    regime: Series[str]
    ruler: Series[str]
    provenance: Series[str] = pa.Field(isin=list(Provenance))
    structure: Series[str]
    metric: Series[str]
    value: Series[float] = pa.Field(nullable=True)
    undefined_because: Series[str] = pa.Field(nullable=True)

    _ids_name_files = pa.check("exam_id", name=SAFE_IDS)(_name_files)


class Tests(Table):
    """One row a test: a grouping, a structure and a metric; `family` says which tests are corrected together.

    `effect` is positive where the first of two groups scores lower (rank_biserial) and says nothing of direction for
    more groups; `best_group` and `worst_group` say it in words. Gaps are largest minus smallest group location.
    `p` and `p_fdr` count every exam on its own. `significant` follows `p_verdict_fdr`: the same p where every patient
    has one exam (`verdict_by` is `exam`), the permutation's with patients kept together otherwise (`patient`); so does
    `unequal_spread` follow `spread_p_verdict`. `p_unequal_spread` is that of Brunner and Munzel's test, or its
    extension to several groups, which takes no two groups to spread alike, patients counted as units.
    `groups` is a JSON list of names. `answer` is one of `battery.within.ANSWERS`; `p_within` is of all pairs of groups
    inside the margins, `p_within_holm` adjusted over the family, and `n_needed` the exams at which 80 % of studies
    would answer, `n_needed_groups` by group.
    """

    grouping: Series[str]
    structure: Series[str]
    metric: Series[str]
    family: Series[str]
    ruler: Series[str]
    provenance: Series[str]
    test: Series[str]
    method: Series[str]
    groups: Series[str]
    statistic: Series[float] = pa.Field(nullable=True)
    p: Series[float] = pa.Field(nullable=True, ge=0, le=1)
    p_fdr: Series[float] = pa.Field(nullable=True, ge=0, le=1)
    significant: Series[bool]
    effect: Series[float] = pa.Field(nullable=True)
    effect_name: Series[str]
    effect_textbook: Series[float] = pa.Field(nullable=True)
    effect_textbook_name: Series[str]
    n: Series[int]
    n_undefined: Series[int]
    n_infinite: Series[int]
    best_group: Series[str] = pa.Field(nullable=True)
    worst_group: Series[str] = pa.Field(nullable=True)
    median_gap: Series[float] = pa.Field(nullable=True)
    median_gap_low: Series[float] = pa.Field(nullable=True)
    median_gap_high: Series[float] = pa.Field(nullable=True)
    mean_gap: Series[float] = pa.Field(nullable=True)
    mean_gap_low: Series[float] = pa.Field(nullable=True)
    mean_gap_high: Series[float] = pa.Field(nullable=True)
    p_permutation: Series[float] = pa.Field(nullable=True)
    p_permutation_fdr: Series[float] = pa.Field(nullable=True)
    permutation_undefined_because: Series[str] = pa.Field(nullable=True)
    verdict_by: Series[str] = pa.Field(isin=["exam", "patient"])
    p_verdict: Series[float] = pa.Field(nullable=True, ge=0, le=1)
    p_verdict_fdr: Series[float] = pa.Field(nullable=True, ge=0, le=1)
    verdict_undefined_because: Series[str] = pa.Field(nullable=True)
    spread_f: Series[float] = pa.Field(nullable=True)
    spread_p: Series[float] = pa.Field(nullable=True)
    spread_p_verdict: Series[float] = pa.Field(nullable=True)
    unequal_spread: Series[bool]
    p_unequal_spread: Series[float] = pa.Field(nullable=True, ge=0, le=1)
    unequal_spread_undefined_because: Series[str] = pa.Field(nullable=True)
    small_groups: Series[str]
    not_assessed: Series[str]
    answer: Series[str]
    answer_because: Series[str] = pa.Field(nullable=True)
    p_within: Series[float] = pa.Field(nullable=True, ge=0, le=1)
    p_within_holm: Series[float] = pa.Field(nullable=True, ge=0, le=1)
    within_undefined_because: Series[str] = pa.Field(nullable=True)
    n_needed: Series[float] = pa.Field(nullable=True)
    n_needed_groups: Series[str] = pa.Field(nullable=True)
    n_needed_because: Series[str] = pa.Field(nullable=True)
    undefined_because: Series[str] = pa.Field(nullable=True)


class Groups(Table):
    """One row a group of a grouping, structure and metric: how many, where, and how spread.

    `status` is `tested`, `small` (tested but below the least size for a verdict), `not tested` (one exam), `empty`, or
    `left out` (the exams that are in no group, in one row after the groups).
    """

    grouping: Series[str]
    group: Series[str]
    structure: Series[str]
    metric: Series[str]
    status: Series[str]
    n: Series[int]
    n_undefined: Series[int]
    n_infinite: Series[int]
    mean: Series[float] = pa.Field(nullable=True)
    sd: Series[float] = pa.Field(nullable=True)
    median: Series[float] = pa.Field(nullable=True)
    q1: Series[float] = pa.Field(nullable=True)
    q3: Series[float] = pa.Field(nullable=True)
    minimum: Series[float] = pa.Field(nullable=True)
    maximum: Series[float] = pa.Field(nullable=True)


class Rates(Table):
    """One row a group and threshold: successes of n, with intervals of the rate.

    `primary` marks the threshold that defines success; the others are the sweep. `rate_low` and `rate_high` are
    Wilson's interval of `n_effective` exams, which is n where every patient has one exam and fewer where patients
    repeat; Wilson's and the exact (Clopper-Pearson) interval of n count every exam on its own.
    """

    grouping: Series[str]
    group: Series[str]
    structure: Series[str]
    metric: Series[str]
    threshold: Series[float]
    primary: Series[bool]
    n: Series[int]
    successes: Series[int]
    rate: Series[float] = pa.Field(nullable=True)
    n_effective: Series[float] = pa.Field(nullable=True)
    rate_low: Series[float] = pa.Field(nullable=True)
    rate_high: Series[float] = pa.Field(nullable=True)
    wilson_low: Series[float] = pa.Field(nullable=True)
    wilson_high: Series[float] = pa.Field(nullable=True)
    exact_low: Series[float] = pa.Field(nullable=True)
    exact_high: Series[float] = pa.Field(nullable=True)


class Disparities(Table):
    """One row a grouping, structure, metric and threshold: DPD and DIR, with what makes them uninformative.

    Intervals, at the primary threshold only: `dir` is the recommended one, by its measured coverage, and `dir_method`
    says which that is: `exact_percentile`, or `percentile` of draws that keep a patient's exams together, where a
    patient has several exams or there are too many tables to enumerate. `dir_bca` is the published one, BCa over the
    whole set (`dir_bca_method` says where BCa is undefined), `dir_percentile` that of the same draws, both of the
    resampling unit, as `p_dir` is; `dir_exact` is BCa enumerated with group sizes fixed, `dir_exact_percentile` the
    percentile interval of the same. `dpd` intervals and `p_dpd` keep patients together. `counts` lists successes/n in
    the order of `groups`, both as JSON lists; `lowest_exact_bound` is the smallest lower Clopper-Pearson bound of a
    rate, over effective numbers of exams. `dpd_eligible` and `dir_eligible` leave out the groups in `not_assessed`.
    """

    grouping: Series[str]
    structure: Series[str]
    metric: Series[str]
    family: Series[str]
    ruler: Series[str]
    provenance: Series[str]
    threshold: Series[float]
    primary: Series[bool]
    groups: Series[str]
    counts: Series[str]
    n: Series[int]
    dpd: Series[float] = pa.Field(nullable=True)
    dir: Series[float] = pa.Field(nullable=True)
    saturated: Series[bool]
    below_four_fifths: Series[bool]
    best_group: Series[str] = pa.Field(nullable=True)
    worst_group: Series[str] = pa.Field(nullable=True)
    dpd_eligible: Series[float] = pa.Field(nullable=True)
    dir_eligible: Series[float] = pa.Field(nullable=True)
    not_assessed: Series[str]
    lowest_exact_bound: Series[float] = pa.Field(nullable=True)
    dir_low: Series[float] = pa.Field(nullable=True)
    dir_high: Series[float] = pa.Field(nullable=True)
    dir_method: Series[str] = pa.Field(nullable=True)
    dir_bca_low: Series[float] = pa.Field(nullable=True)
    dir_bca_high: Series[float] = pa.Field(nullable=True)
    dir_bca_method: Series[str] = pa.Field(nullable=True)
    dir_percentile_low: Series[float] = pa.Field(nullable=True)
    dir_percentile_high: Series[float] = pa.Field(nullable=True)
    dir_exact_low: Series[float] = pa.Field(nullable=True)
    dir_exact_high: Series[float] = pa.Field(nullable=True)
    dir_exact_percentile_low: Series[float] = pa.Field(nullable=True)
    dir_exact_percentile_high: Series[float] = pa.Field(nullable=True)
    dpd_low: Series[float] = pa.Field(nullable=True)
    dpd_high: Series[float] = pa.Field(nullable=True)
    dpd_percentile_low: Series[float] = pa.Field(nullable=True)
    dpd_percentile_high: Series[float] = pa.Field(nullable=True)
    degenerate: Series[bool]
    interval_draws: Series[int]
    interval_note: Series[str] = pa.Field(nullable=True)
    p_dir: Series[float] = pa.Field(nullable=True)
    p_dpd: Series[float] = pa.Field(nullable=True)
    undefined_because: Series[str] = pa.Field(nullable=True)


class TableError(ValueError):
    """A table breaks its contract; the message lists every fault."""


def check_table(frame: pd.DataFrame, model: type[pa.DataFrameModel], name: str) -> pd.DataFrame:
    """Return the frame with the model's types, or list all its faults in one error.

    Parameters
    ----------
    frame : the table.
    model : its contract.
    name : what the table is called in the message, usually its file.

    Raises
    ------
    TableError : with one line a fault: the column, what was expected, and up to five offending values.
    """
    try:
        checked: pd.DataFrame = model.validate(frame, lazy=True)
    except SchemaErrors as error:
        cases = error.failure_cases
        lines = []
        for (column, check), rows in cases.groupby(["column", "check"], dropna=False, sort=False):
            if str(check) == "column_in_dataframe":
                lines.append(f"  column {rows['failure_case'].iloc[0]!r} is missing")
                continue
            found = ", ".join(map(repr, rows["failure_case"].head(5)))
            more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
            lines.append(f"  column {column!r}: expected {check}, found {found}{more}")
        raise TableError(
            f"{name} is not a {model.__name__.lower()} table:\n" + "\n".join(lines)
        ) from None
    return checked
