"""Who is in the cohort, and what else differs between its groups and its two label pools."""

from collections.abc import Mapping
from dataclasses import asdict, replace

import numpy as np
import pandas as pd

from tworulers.cohort.grouping import assign_groups, list_left_out
from tworulers.cohort.relate import Relation, relate_levels, relate_numbers, relate_ranks
from tworulers.cohort.spelling import is_blank
from tworulers.schema.sources import Attributes

MISSING = "missing"
"""The level of exams without a value in Table 1."""

CATEGORIES = ("sex", "race", "ethnicity", "manufacturer", "field_strength_t", "provenance")
"""The columns of Table 1 besides age."""

AGE_ABOVE_89 = 90.0
"""Stands for an age only known to be above 89 in rank tests, where no other value would matter."""

SCANNER = ("manufacturer", "field_strength_t")
"""The columns that say which machine made the image."""


def describe_cohort(
    cohort: pd.DataFrame, attributes: Attributes, volumes: pd.DataFrame | None = None
) -> dict[str, pd.DataFrame]:
    """Describe a cohort by Table 1, ages, who is in no group, and what is confounded.

    Parameters
    ----------
    cohort : one row an exam (`tables.Cohort`).
    attributes : the groupings that are tested.
    volumes : ``exam_id``, ``structure`` and ``volume_mm3`` of the labels, where they are known.

    Returns
    -------
    The tables ``table1``, ``ages``, ``left_out`` and ``confounders``.
    """
    groupings = attributes.groupings
    groups = {name: assign_groups(cohort, g, groupings) for name, g in groupings.items()}
    left_out = [
        list_left_out(cohort, grouping, groupings).assign(grouping=name)
        for name, grouping in groupings.items()
    ]
    relations = [
        relate_scanner(cohort, groups),
        relate_age(cohort, {n: g for n, g in groups.items() if groupings[n].column != "age"}),
        compare_pools(cohort, groups),
    ]
    if volumes is not None and not volumes.empty:
        relations.append(relate_volumes(volumes, cohort, groups))
    return {
        "table1": tabulate_cohort(cohort, groups),
        "ages": summarise_ages(cohort),
        "left_out": pd.concat(left_out, ignore_index=True) if left_out else pd.DataFrame(),
        "confounders": pd.concat(relations, ignore_index=True),
    }


def tabulate_cohort(
    cohort: pd.DataFrame, groups: Mapping[str, pd.Series] | None = None
) -> pd.DataFrame:
    """Make Table 1: how many exams and patients have each level of each attribute.

    Parameters
    ----------
    cohort : one row an exam (`tables.Cohort`).
    groups : further groupings to count, such as age bins: a categorical by ``exam_id`` each.

    Returns
    -------
    One row a ``variable`` and ``level`` (a missing value is a level), largest first or in the
    grouping's order, with ``exams``, ``share`` of all exams, and ``patients``.
    """
    columns = {
        name: cohort[name].mask(is_blank(cohort[name])) for name in CATEGORIES if name in cohort
    }
    columns |= {name: cohort["exam_id"].map(series) for name, series in (groups or {}).items()}
    rows = []
    for variable, values in columns.items():
        labels = values.astype(object).map(_write_level)
        counts = labels.value_counts()
        order = sorted(counts.index, key=lambda level: (level == MISSING, -counts[level], level))
        if groups is not None and variable in groups:
            categories = [str(level) for level in groups[variable].cat.categories]
            order = [*categories, *(level for level in order if level not in categories)]
        for level in order:
            exams = cohort[labels == level]
            rows.append((variable, level, len(exams), exams["patient_id"].nunique()))
    table = pd.DataFrame(rows, columns=["variable", "level", "exams", "patients"])
    table.insert(3, "share", table["exams"] / max(len(cohort), 1))
    return table


def summarise_ages(cohort: pd.DataFrame) -> pd.DataFrame:
    """Summarise age over known ages, beside the exams without a number: all exams and each pool.

    Returns
    -------
    One row a ``pool`` (all, gold, silver): exams, patients, ``known``, ``over_89``, ``unknown``,
    and mean, sd (n - 1), median, minimum and maximum in years.
    """
    pools = {"all": cohort, **dict(list(cohort.groupby("provenance")))}
    rows = []
    for pool, exams in pools.items():
        age = exams["age"].astype(float)
        known = age.dropna()
        over = exams["age_over_89"].astype(bool) & age.isna()
        rows.append(
            {
                "pool": str(pool),
                "exams": len(exams),
                "patients": exams["patient_id"].nunique(),
                "known": len(known),
                "over_89": int(over.sum()),
                "unknown": int((age.isna() & ~over).sum()),
                "mean": known.mean(),
                "sd": known.std(ddof=1),
                "median": known.median(),
                "minimum": known.min(),
                "maximum": known.max(),
            }
        )
    return pd.DataFrame(rows)


def relate_scanner(cohort: pd.DataFrame, groups: Mapping[str, pd.Series]) -> pd.DataFrame:
    """Test whether attributes, and age, are entangled with the scanner that made the image.

    Parameters
    ----------
    cohort : one row an exam.
    groups : groupings to test: a categorical by ``exam_id`` each.

    Returns
    -------
    One row an attribute (``variable``) and scanner column (``by``) with the fields of `Relation`.
    """
    exams = cohort.set_index("exam_id")
    rows = []
    for column in SCANNER:
        if column not in exams:
            continue
        scanner = exams[column].mask(is_blank(exams[column]))
        patients = exams["patient_id"]
        rows += [
            (name, column, relate_levels(series.reindex(exams.index), scanner, patients))
            for name, series in groups.items()
        ]
        rows.append(("age", column, _relate_ages(exams, scanner)))
    return _frame_relations(rows)


def relate_age(cohort: pd.DataFrame, groups: Mapping[str, pd.Series]) -> pd.DataFrame:
    """Test whether ages differ between the groups of each grouping."""
    exams = cohort.set_index("exam_id")
    rows = [
        ("age", name, _relate_ages(exams, series.reindex(exams.index)))
        for name, series in groups.items()
    ]
    return _frame_relations(rows)


def relate_volumes(
    volumes: pd.DataFrame, cohort: pd.DataFrame, groups: Mapping[str, pd.Series]
) -> pd.DataFrame:
    """Test whether the reference volume of a structure differs between groups, and goes with age.

    Parameters
    ----------
    volumes : ``exam_id``, ``structure`` and ``volume_mm3``, of one label pool.
    cohort : one row an exam.
    groups : groupings to test: a categorical by ``exam_id`` each.
    """
    exams = cohort.set_index("exam_id")
    age, rows = _rank_age(exams), []
    for structure, part in volumes.groupby("structure", sort=False):
        volume = part.set_index("exam_id")["volume_mm3"].astype(float)
        whose = exams["patient_id"].reindex(volume.index)
        rows += [
            (
                f"volume of {structure}",
                name,
                relate_numbers(volume, series.reindex(volume.index), whose),
            )
            for name, series in groups.items()
        ]
        related = relate_ranks(volume, age.reindex(volume.index), whose)
        rows.append((f"volume of {structure}", "age", related))
    return _frame_relations(rows)


def compare_pools(cohort: pd.DataFrame, groups: Mapping[str, pd.Series]) -> pd.DataFrame:
    """Test whether the gold and the silver pool differ in attributes, scanner and age.

    A silver label may flatter one group only because its pool holds other people; this says whether
    the pools are comparable.
    """
    exams = cohort.set_index("exam_id")
    pool, patients = exams["provenance"], exams["patient_id"]
    rows = [
        (name, "provenance", relate_levels(series.reindex(exams.index), pool, patients))
        for name, series in groups.items()
    ]
    for column in SCANNER:
        if column in exams:
            values = exams[column].mask(is_blank(exams[column]))
            rows.append((column, "provenance", relate_levels(values, pool, patients)))
    rows.append(("age", "provenance", _relate_ages(exams, pool)))
    return _frame_relations(rows)


def _rank_age(exams: pd.DataFrame) -> pd.Series:
    """Return ages for rank tests: those only known to be above 89 rank above all others, as 90."""
    age = exams["age"].astype(float)
    return age.mask(age.isna() & exams["age_over_89"].astype(bool), AGE_ABOVE_89)


def _relate_ages(exams: pd.DataFrame, groups: pd.Series) -> Relation:
    """Compare ages by ranks; means would need the ages above 89."""
    found = relate_numbers(_rank_age(exams), groups, exams["patient_id"])
    return replace(found, ratio_of_means=float("nan"))


def _frame_relations(rows: list[tuple[str, str, Relation]]) -> pd.DataFrame:
    """Make one frame of named relations."""
    named = [{"variable": a, "by": b, **asdict(relation)} for a, b, relation in rows]
    return pd.DataFrame(named, columns=["variable", "by", *Relation.__dataclass_fields__])


def _write_level(value: object) -> str:
    """Write a level as text: a whole number without its decimal point, a blank as missing."""
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return MISSING
    return f"{value:g}" if isinstance(value, float) else str(value)
