"""Which references at hand can tell whether a ruler is copied or sharper, and what they tell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tworulers.diagnosis.by_group import number_patients
from tworulers.diagnosis.witness import Witnessed, hear_expert, hear_truth
from tworulers.metrics.known.dice import DICE
from tworulers.schema.settings import MACRO, Provenance


@dataclass(frozen=True)
class Witness:
    """A reference beside the two that are compared, or the base where it is the truth.

    Attributes
    ----------
    name, provenance : of the reference.
    model : Dice of the model by it, by exam.
    ruler : Dice of the other ruler by it, by exam; None where unknown.
    base : Dice of it by the base, by exam; None where unknown.
    """

    name: str
    provenance: str
    model: pd.Series | None
    ruler: pd.Series | None
    base: pd.Series | None


def hear_witnesses(
    model_ruler: pd.Series | None,
    model_base: pd.Series | None,
    ruler_base: pd.Series | None,
    witnesses: Sequence[Witness],
    patients: pd.Series | None,
    level: float,
) -> Witnessed | None:
    """Hear the truth if it is there, else a second expert; None where neither can tell anything.

    Parameters
    ----------
    model_ruler, model_base, ruler_base : Dice by exam of the model by either ruler, and of the other by the base.
    witnesses : further references.
    patients : whose each exam is, index `exam_id`.
    level : of the interval.
    """
    for one in sorted(witnesses, key=lambda x: x.provenance != Provenance.TRUTH):
        if model_ruler is None or one.model is None or model_base is None:
            continue
        sides = {"a": model_ruler, "c": one.model}
        if one.provenance == Provenance.TRUTH:
            sides |= {} if one.ruler is None else {"b": one.ruler}
        elif one.provenance == Provenance.GOLD:
            if one.ruler is None or one.base is None or ruler_base is None:
                continue
            sides |= {"b": one.ruler, "d": one.base, "c1": model_base, "b1": ruler_base}
        else:
            continue
        known = pd.DataFrame(sides).dropna()
        if len(known) < 2:
            continue
        at = {name: known[name].to_numpy(dtype=np.float64) for name in known}
        who = number_patients(patients, known.index)
        if one.provenance == Provenance.TRUTH:
            return hear_truth(one.name, at["a"], at["c"], at.get("b"), patients=who, level=level)
        across = np.stack([at["c1"], at["c"]]), np.stack([at["b1"], at["b"]])
        return hear_expert(one.name, at["a"], at["d"], *across, patients=who, level=level)
    return None


def average_dice(scores: pd.DataFrame | None) -> pd.Series | None:
    """Return the mean over structures of Dice by exam, as it stands or made here; None without a table.

    Parameters
    ----------
    scores : `exam_id`, `structure`, `value`; of Dice alone unless there is a column `metric`.
    """
    if scores is not None and "metric" in scores:
        scores = scores[scores["metric"] == DICE.name]
    if scores is None or scores.empty:
        return None
    macro = scores[scores["structure"] == MACRO]
    if len(macro):
        return macro.set_index("exam_id")["value"]
    return scores.groupby("exam_id")["value"].mean()


def find_confirmed(tests: pd.DataFrame, found: Mapping[str, pd.DataFrame]) -> set[tuple[str, ...]]:
    """List the tests in which a ruler and the truth show a difference, with the same group worst.

    Parameters
    ----------
    tests : of the audit by the ruler.
    found : tests of audits by truths, by name.
    """
    key = ["grouping", "structure", "metric"]
    confirmed: set[tuple[str, ...]] = set()
    mine = tests[tests["significant"].astype(bool)]
    for theirs in found.values():
        shown = theirs[theirs["significant"].astype(bool)]
        both = mine.merge(shown, on=[*key, "worst_group"])
        confirmed |= set(both[key].astype(str).itertuples(index=False, name=None))
    return confirmed
