"""Who was audited, who was not, and how each family and grouping of tests came out."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tworulers.battery.clearest import find_clearest, shown_p
from tworulers.battery.questions import EXTRA, PRIMARY, RANDOM, TOO_FEW, Question
from tworulers.battery.within import ANSWERS
from tworulers.schema.settings import MACRO, Audit
from tworulers.schema.sources import Attributes
from tworulers.schema.tables import list_rows, pack_names
from tworulers.stats.groups import describe, summarise_groups
from tworulers.stats.types import BoolArray, FloatArray, Row

LEFT_OUT = "in no group"
"""Name of the row that counts the exams a grouping leaves out."""


def describe_groups(
    question: Question, values: FloatArray, left_out: BoolArray, settings: Audit
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
    """Count tests configured, computed, significant and by answer, and name the missing with reasons.

    Primary questions come first. The smallest p are those the verdict rests on.
    """
    rows = []
    for family, part in _split_families(tests):
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
                **{answer: int((part["answer"] == answer).sum()) for answer in ANSWERS},
                "missing": "; ".join(names),
            }
        )
    names = ["family", "configured", "size", "alpha", "significant", "smallest_p"]
    return pd.DataFrame(rows, columns=[*names, "smallest_p_fdr", *ANSWERS, "missing"])


def keep_stated(table: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows of the stated families: no further scores, and random groups only if alone."""
    meant = table[~table["family"].isin([EXTRA, RANDOM])]
    return meant if len(meant) else table[table["family"] != EXTRA]


def count_answers(tests: pd.DataFrame) -> dict[str, int]:
    """Count how the tests of the stated families came out, by answer, in the order of `ANSWERS`."""
    found = keep_stated(tests)["answer"].value_counts()
    return {answer: int(found.get(answer, 0)) for answer in ANSWERS}


def summarise_groupings(
    groups: pd.DataFrame, tests: pd.DataFrame, settings: Audit, attributes: Attributes
) -> pd.DataFrame:
    """Say for each grouping who is in it, who is not, and what the tests of each of its families found.

    Groupings with a primary question come first, each in a row of its own; further scores have one
    only where a grouping has no other.
    """
    parts = []
    for name in map(str, groups):
        mine = tests[tests["grouping"] == name]
        stated = mine[mine["family"] != EXTRA]
        parts += [(name, part) for _, part in _split_families(stated if len(stated) else mine)]
    parts.sort(key=lambda one: one[1]["family"].iloc[0] != PRIMARY)
    rows = []
    for name, part in parts:
        sizes = groups[name].value_counts(sort=False)
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
                **{answer: int((part["answer"] == answer).sum()) for answer in ANSWERS},
                "smallest_p": shown_p(part).min(),
                "smallest_p_fdr": part["p_verdict_fdr"].min(),
                "smallest_p_fdr_structure": best["structure"],
                "smallest_p_fdr_metric": best["metric"],
            }
        )
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=["grouping", "title"])


def _split_families(tests: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Split tests by family, in the order of the tests but for primary questions, which come first."""
    parts = [(str(family), part) for family, part in tests.groupby("family", sort=False)]
    return sorted(parts, key=lambda one: one[0] != PRIMARY)


def _list_sizes(sizes: pd.Series) -> str:
    return ", ".join(_name_sizes(sizes))


def _name_sizes(sizes: pd.Series) -> list[str]:
    return [f"{group} (n {size})" for group, size in sizes.items()]
