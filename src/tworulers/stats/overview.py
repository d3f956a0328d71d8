"""Who was audited, who was not, and how each family and grouping of tests came out."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tworulers.schema import MACRO, Audit
from tworulers.schema_sources import Attributes
from tworulers.stats.battery import EXTRA, TOO_FEW, Question
from tworulers.stats.clearest import find_clearest, shown_p
from tworulers.stats.groups import FloatArray, Row, describe, summarise_groups
from tworulers.tables import list_rows, pack_names

LEFT_OUT = "in no group"
"""Name of the row that counts the exams a grouping leaves out."""


def describe_groups(
    question: Question, values: FloatArray, left_out: NDArray[np.bool_], settings: Audit
) -> list[Row]:
    """Summarise each group's scores, then in one row those of the exams that are in no group.

    Parameters
    ----------
    question : the score in its grouping.
    values : score of all exams, shape (n,).
    left_out : whether an exam is in no group, shape (n,).
    settings : for the least size of a verdict.
    """
    rows = []
    for row in summarise_groups(question.sample):
        n = row["n"]
        status = "small" if n < settings.min_group else "tested"
        status = "empty" if n == 0 else "not tested" if n < TOO_FEW else status
        rows.append(question.key | {"status": status} | row)
    if left_out.any():
        left = values[left_out]
        row = {"group": LEFT_OUT, "status": "left out", "n_undefined": int(np.isnan(left).sum())}
        rows.append(question.key | row | describe(left[~np.isnan(left)]))
    return rows


def list_scores(table: pd.DataFrame) -> list[tuple[str, str]]:
    """List the (structure, metric) columns of a table of scores."""
    names = (table.columns.get_level_values(level).astype(str) for level in (0, 1))
    return list(zip(*names, strict=True))


def describe_overall(table: pd.DataFrame, partial: Mapping[str, int]) -> pd.DataFrame:
    """Describe every score over all exams, in a group or not.

    Parameters
    ----------
    table : one row an exam, columns (structure, metric); NaN is undefined.
    partial : by metric, exams whose macro score is over part of the structures.
    """
    rows = []
    for structure, metric in list_scores(table):
        values = table[structure, metric].to_numpy(dtype=float)
        known = values[~np.isnan(values)]
        count = {"n_exams": len(values), "n_undefined": len(values) - len(known)}
        count["n_partial"] = partial.get(metric, 0) if structure == MACRO else 0
        rows.append({"structure": structure, "metric": metric} | count | describe(known))
    return pd.DataFrame(rows)


def summarise_families(tests: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """Count tests configured, computed and significant, and name the missing with reasons.

    The smallest p are those the verdict rests on.
    """
    rows = []
    for family, part in tests.groupby("family", sort=False):
        missing = part[part["p_verdict"].isna()]
        names = [
            f"{row['grouping']}/{row['structure']}/{row['metric']}: {row['verdict_undefined_because']}"
            for row in list_rows(missing)
        ]
        rows.append(
            {
                "family": family,
                "configured": len(part),
                "size": len(part) - len(missing),
                "alpha": alpha,
                "significant": int(part["significant"].sum()),
                "smallest_p": shown_p(part).min(),
                "smallest_p_fdr": part["p_verdict_fdr"].min(),
                "missing": "; ".join(names),
            }
        )
    names = ["family", "configured", "size", "alpha", "significant", "smallest_p"]
    return pd.DataFrame(rows, columns=[*names, "smallest_p_fdr", "missing"])


def summarise_groupings(
    groups: pd.DataFrame, tests: pd.DataFrame, settings: Audit, attributes: Attributes
) -> pd.DataFrame:
    """Say for each grouping who is in it, who is not, and what the tests of its family found."""
    rows = []
    for name in map(str, groups):
        sizes = groups[name].value_counts(sort=False)
        part = tests[tests["grouping"] == name]
        stated = part[part["family"] != EXTRA]
        part = stated if len(stated) else part
        grouping = attributes.groupings.get(name)
        best = find_clearest(part) or {"structure": None, "metric": None}
        rows.append(
            {
                "grouping": name,
                "title": (grouping.title if grouping is not None else "") or name,
                "family": part["family"].iloc[0],
                "groups": pack_names(_name_sizes(sizes)),
                "n": int(groups[name].notna().sum()),
                "n_left_out": int(groups[name].isna().sum()),
                "small_groups": _list_sizes(
                    sizes[(sizes >= TOO_FEW) & (sizes < settings.min_group)]
                ),
                "not_assessed": _list_sizes(sizes[sizes < TOO_FEW]),
                "n_large_groups": int((sizes >= settings.min_group).sum()),
                "tests": len(part),
                "tests_computed": int(part["p_verdict"].notna().sum()),
                "significant": int(part["significant"].sum()),
                "significant_raw": int((shown_p(part) < settings.alpha).sum()),
                "smallest_p": shown_p(part).min(),
                "smallest_p_fdr": part["p_verdict_fdr"].min(),
                "smallest_p_fdr_structure": best["structure"],
                "smallest_p_fdr_metric": best["metric"],
            }
        )
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=["grouping", "title"])


def _list_sizes(sizes: pd.Series) -> str:
    return ", ".join(_name_sizes(sizes))


def _name_sizes(sizes: pd.Series) -> list[str]:
    return [f"{group} (n {size})" for group, size in sizes.items()]
