"""The macro score of an exam: the plain mean over its structures, and what it is where one is undefined."""

from collections.abc import Iterable, Mapping
from math import isfinite, isnan

import numpy as np
import pandas as pd

from tworulers.metrics.known.dice import DICE
from tworulers.metrics.levels import LEVELS
from tworulers.schema.settings import MACRO, Audit

RULES = ("defined", "complete")
"""Over the structures that are defined in an exam, or only where all are."""

PARTIAL = r"^\d+ of \d+ structures"
"""How the reason of a macro score over part of the structures starts."""

_DISC_LEVELS = frozenset(f"level_{name}" for name in LEVELS)


def require_rule(rule: str) -> None:
    """Refuse a rule that does not exist."""
    if rule not in RULES:
        raise ValueError(f"audit.macro is {rule!r}, expected one of {', '.join(RULES)}")


def average_structures(
    values: Mapping[str, float], reasons: Mapping[str, str | None], rule: str = "defined"
) -> tuple[float, str | None]:
    """Return the macro score of one exam and, where structures are undefined or infinite, which and why.

    Parameters
    ----------
    values, reasons : score of each structure, and why it is undefined or infinite.
    rule : one of `RULES`.

    Returns
    -------
    The mean: NaN where no structure is defined, or not all under `complete`. A mean over part of the structures has
    the reason `1 of 2 structures: both_empty in disc`.
    """
    require_rule(rule)
    absent = [name for name, value in values.items() if isnan(value)]
    known = [value for value in values.values() if not isnan(value)]
    why = ", ".join(f"{reasons[name]} in {name}" for name in absent)
    if not known or (absent and rule == "complete"):
        return float("nan"), why or None
    infinite = [name for name, value in values.items() if not isnan(value) and not isfinite(value)]
    said = [f"{len(known)} of {len(values)} structures: {why}"] if absent else []
    if infinite:
        said.append(", ".join(f"{reasons[name]} in {name}" for name in infinite))
    return float(np.mean(known)), "; ".join(said) or None


def choose_judged(audit: Audit, structures: Iterable[str]) -> list[str]:
    """List the structures that are judged: those asked for, else all and their macro.

    Of a single structure the macro is another name, and is judged only where a primary question names it.
    """
    named = list(structures)
    asked = any(structure == MACRO for _, structure, _ in audit.locked.questions)
    return audit.structures or ([*named, MACRO] if len(named) > 1 or asked else named)


def list_structures(scores: pd.DataFrame) -> list[str]:
    """Name the structures of a score table that its macro is the mean of: neither the macro nor single discs."""
    names = dict.fromkeys(map(str, scores["structure"]))
    return [name for name in names if name != MACRO and name not in _DISC_LEVELS]


def find_partial(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose macro score is a mean over part of the structures.

    Parameters
    ----------
    scores : a scores table.
    """
    if "undefined_because" not in scores:
        return scores.head(0)
    said = scores["undefined_because"].astype("str").str.contains(PARTIAL, na=False)
    return scores[(scores["structure"] == MACRO) & scores["value"].notna() & said]


def count_partial(scores: pd.DataFrame) -> dict[str, int]:
    """Count by metric the exams whose macro score is over part of the structures; metrics without any are left out."""
    return {str(name): int(n) for name, n in find_partial(scores)["metric"].value_counts().items()}


def tell_partial(partial: int, n: int) -> str:
    """Say over how many exams a macro score is over part of the structures: `3 of 76 over part of the structures`."""
    return f"{partial} of {n} over part of the structures" if partial else ""


def align_macro(base: pd.DataFrame, other: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Take the macro score of two sides over the structures that are defined under both.

    Where neither side's macro is over part of the structures nothing changes.

    Parameters
    ----------
    base, other : score tables of the same predictions by two rulers, or of two models by one.
    """
    keys = ["exam_id", "metric"]
    both = base[[*keys, "structure"]].merge(other[[*keys, "structure"]])
    exams = both[both["structure"] == MACRO]
    partial = pd.concat([find_partial(base), find_partial(other)])[keys].drop_duplicates()
    partial = partial.merge(exams[keys])
    if partial.empty:
        return base, other
    sides = [_keep_parts(side, partial) for side in (base, other)]
    values = [side.set_index([*keys, "structure"])["value"] for side in sides]
    shared = values[0].notna() & values[1].reindex(values[0].index).notna()
    changed = []
    for side, value in zip((base, other), values, strict=True):
        new = [
            _average_shared(part.unstack("structure"))  # noqa: PD010
            for _, part in value.reindex(shared.index).where(shared).groupby(level="metric")
        ]
        changed.append(_replace_macro(side, pd.concat(new)))
    return changed[0], changed[1]


def _keep_parts(scores: pd.DataFrame, exams: pd.DataFrame) -> pd.DataFrame:
    parts = scores[scores["structure"].isin(list_structures(scores))]
    return parts.merge(exams)


def _average_shared(values: pd.DataFrame) -> pd.DataFrame:
    """Average the exams of one metric: a row an exam, a column a structure, NaN where a side is undefined."""
    reasons = {str(name): "not defined on both sides" for name in values}
    rows = [
        average_structures({str(name): float(x) for name, x in row.items()}, reasons)
        for row in values.to_dict("records")
    ]
    return pd.DataFrame(rows, values.index, ["value", "undefined_because"])


def _replace_macro(scores: pd.DataFrame, macro: pd.DataFrame) -> pd.DataFrame:
    """Give a score table the values and reasons of some macro scores, its rows in their order."""
    scores = scores.copy()
    index = pd.MultiIndex.from_frame(scores[list(macro.index.names)])
    here = (scores["structure"] == MACRO).to_numpy() & index.isin(macro.index)
    for column in ("value", "undefined_because"):
        scores.loc[here, column] = macro[column].reindex(index[here]).to_numpy()
    return scores


def pick_macro_dice(scores: pd.DataFrame) -> pd.Series:
    """Return the macro Dice of a scores table by exam, undefined ones too."""
    rows = scores[(scores["structure"] == MACRO) & (scores["metric"] == DICE.name)]
    return rows.set_index("exam_id")["value"]
