"""The macro score of a ready table that has several structures and no macro of its own."""

from collections.abc import Sequence

import pandas as pd

from tworulers.metrics.macro import average_structures, count_partial, list_structures, require_rule
from tworulers.schema.settings import MACRO

MOST_NAMED, FIRST_NAMED = 12, 5
"""Structures that a line names, and how many of more."""


def name_structures(names: Sequence[str]) -> str:
    """Name structures in a line; of many the first ones, and how many more there are."""
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:FIRST_NAMED])} and {len(names) - FIRST_NAMED} more"


def add_macro(scores: pd.DataFrame, rule: str, notes: list[str]) -> pd.DataFrame:
    """Add the mean over structures to metrics that have several and no macro score.

    Parameters
    ----------
    scores : exam_id, structure, metric, value, undefined_because; every exam has every structure.
    rule : what the mean is over where a structure is undefined, one of `macro.RULES`.
    notes : is added to, a sentence each.
    """
    require_rule(rule)
    added = []
    for metric, part in scores.groupby("metric", sort=False):
        structures = list_structures(part)
        if len(structures) < 2 or MACRO in set(part["structure"]):
            continue
        macro = _average(part[part["structure"].isin(structures)], structures, rule)
        added.append(macro.assign(structure=MACRO, metric=metric))
        notes.append(f"macro {metric} is the plain mean of {name_structures(structures)}")
        if partial := count_partial(added[-1]).get(str(metric), 0):
            notes[-1] += (
                f"; {partial} of {len(macro)} exams: over the structures that are defined "
                "(audit.macro=complete asks for all)"
            )
    return pd.concat([scores, *added], ignore_index=True) if added else scores


def _average(part: pd.DataFrame, structures: list[str], rule: str) -> pd.DataFrame:
    """Average each exam; only exams with an undefined structure need a reason."""
    cells = part.set_index(["exam_id", "structure"])
    wide, why = (
        cells[name].unstack("structure")[structures]  # noqa: PD010
        for name in ("value", "undefined_because")
    )
    macro = pd.DataFrame(
        {"value": wide.sum(axis=1, skipna=False) / len(structures), "undefined_because": None}
    )
    for exam in wide.index[wide.isna().any(axis=1)]:
        value, because = average_structures(dict(wide.loc[exam]), dict(why.loc[exam]), rule)
        macro.loc[exam, ["value", "undefined_because"]] = [value, because]
    return macro.rename_axis("exam_id").reset_index()
