"""What is said of group means that few expert labels and many machine labels give together."""

from collections.abc import Mapping

import pandas as pd

from tworulers.diagnosis.anchored import Anchored
from tworulers.metrics.known.dice import DICE
from tworulers.report.rows import iterate_rows
from tworulers.report.tables import write_count, write_p

HOW = (
    "The score by the expert's label is known for few exams, the score by {other} for many. Two "
    "numbers are estimated of each group from both. The failure rate is the share of exams whose "
    "macro Dice by the expert's label is not {success}, a threshold that was fixed beforehand: "
    "exams that {ruler} calls failed and those it does not are weighed by how many there are of "
    "each. The mean is of the other exams alone, those that do not fail (prediction-powered "
    "inference; Angelopoulos, Duchi and Zrnic 2023): their mean by the expert's label, moved by λ "
    "times what the other exams' scores by {ruler} differ. The expert's label stays the judge "
    "throughout; scores by {ruler} that are wrong, or too close to the model, cost sharpness and "
    "not validity."
)
BOUND = (
    "The mean of all exams, failed or not, cannot be told from few: a failure that is not among "
    "them would move it. What they exclude of it whatever the tail stands in the last column "
    "(Gaffke 2005; Learned-Miller and Thomas 2019); it takes macro Dice to lie from 0 to 1 and "
    "nothing else, and is therefore wide."
)
NO_THRESHOLD = (
    "No failure threshold was fixed for macro Dice, so that neither how often exams fail nor the "
    "mean of the others is estimated."
)
NO_TEST = (
    "Both intervals are shown whichever is narrower; picking one by its result would make a "
    "finding of nothing. They are not adjusted for the number of groups and belong to no family of "
    "tests."
)
UNSEEN: Mapping[str, str] = {
    "no gold exam among those failed by silver": "failed",
    "no gold exam among those not failed by silver": "not failed",
}
COVARIATES: Mapping[str, str] = {
    "field_strength_t": "field strength (T)",
    "silver_score": "macro Dice by the second ruler",
}


def say_anchored(found: Anchored) -> list[str]:
    """Say what anchored means rest on, and warn where exams with and without an expert label differ."""
    said = [
        f"Gold-anchored means rest on {write_count(found.n_gold, 'exam')} with an expert label and {found.n_other} "
        "without; they hold where both are drawn alike."
    ]
    if found.threshold is None:
        said.append(NO_THRESHOLD)
    else:
        success = DICE.write_success(found.threshold)
        said.append(
            f"They are of exams that do not fail by the expert's label (macro Dice {success}); how often exams fail is "
            "estimated apart."
        )
    if found.exchangeability["warning"].any():
        said.append(say_exchangeable(found.exchangeability))
    return said


def say_withheld(failures: pd.DataFrame) -> str:
    """Say which groups have no anchored failure rate because no expert looked at a class of exams; empty where none.

    Parameters
    ----------
    failures : of one grouping.
    """
    reason = failures["undefined_because"].astype(object)
    said = []
    for words, what in UNSEEN.items():
        groups = failures.loc[reason == words, "group"].tolist()
        if groups:
            said.append(
                f"no anchored failure rate for {', '.join(groups)}, where no exam that the second ruler calls {what} "
                "has an expert label"
            )
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def say_gain(means: pd.DataFrame) -> str:
    """Say in how many groups the machine labels made the interval narrower, and by how many exams.

    Parameters
    ----------
    means : of one grouping.
    """
    known = means[(means["high"] - means["low"]).notna()]
    if known.empty:
        return "no group has enough expert labels for an interval."
    gained = (known["high"] - known["low"]) < (known["gold_high"] - known["gold_low"])
    worth = known["effective_n"] - known["n_rest"]
    text = (
        f"the scores without an expert label narrow the interval in {int(gained.sum())} of "
        f"{len(known)} groups, and are worth {worth.min():+.1f} to {worth.max():+.1f} more exams "
        "with one that do not fail (effective n less n)"
    )
    unhelpful = known.loc[~gained, "group"].tolist()
    if unhelpful:
        text += f"; in {', '.join(unhelpful)} the expert labels alone say as much or more"
    return text + "."


def say_exchangeable(table: pd.DataFrame) -> str:
    """Say whether exams with and without an expert label were found to differ."""
    differing = table[table["warning"].astype(bool)]
    if len(differing):
        named = ", ".join(
            f"{name_attribute(row.attribute)} (adjusted p {write_p(row.p_holm)})"
            for row in iterate_rows(differing)
        )
        return f"They are not drawn alike in {named}: do not lean on these estimates."
    tested = table[table["p_holm"].notna()]
    if tested.empty:
        return "Whether they are could not be tested."
    return (
        f"No difference between the two was found in {write_count(len(tested), 'attribute')} (smallest adjusted p "
        f"{write_p(tested['p_holm'].min())}), which does not show that there is none."
    )


def name_attribute(name: str) -> str:
    """Name an attribute of exams as it is written."""
    return COVARIATES.get(name, name)
