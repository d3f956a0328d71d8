"""Whether a model's own confidence would have warned of its failures, in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from tworulers.diagnosis.warning import Warned
from tworulers.report.findings import ShownAudit
from tworulers.report.rows import iterate_rows
from tworulers.report.tables import with_digits, write_estimate, write_number, write_p
from tworulers.report.words.risk import describe_overall

HOW = (
    "Confidence is computed without any reference, but which exams count as failed is the ruler's "
    "word. AUC is the chance that a failed exam looks less sure than an acceptable one: 0.5 warns "
    "of nothing. Rows are groups of failed exams, columns groups of acceptable ones; with one "
    "threshold for review for everybody, cells between groups count as well. A low row means that "
    "the group's failures slip through."
)


@dataclass(frozen=True)
class Answer:
    """Whether confidence warns by one ruler: of failures at all, and of all groups' alike.

    `warns` and `differs` are None where they could not be tested.
    """

    ruler: str
    warns: bool | None
    differs: bool | None
    concordance: float
    said: str


def say_failures(warned: Warned) -> dict[str, list[str]]:
    """Say by every uncertainty what counts as failed and in which groups, and where the overall AUC lies."""
    said: dict[str, list[str]] = {
        name: [f"{name} is undefined for every exam"] for name in warned.undefined
    }
    for measure, (rule, found) in warned.found.items():
        lines = said.setdefault(measure, [])
        for name, matrix in found.matrices.items():
            first = found.cells[found.cells["grouping"] == name].iloc[0]
            counts = zip(matrix.groups, matrix.n_events, matrix.n_non_events, strict=True)
            failed = ", ".join(f"{n1} of {n1 + n0} in {label}" for label, n1, n0 in counts)
            few = f" (the threshold {rule.threshold:g} leaves a group fewer than {rule.min_events})"
            standing = few if first["by_quantile"] else ""
            lines.append(
                f"{name}: failed by {rule.provenance} labels means {first['rule']}{standing}: {failed}."
            )
            lines.append(f"{name}: {describe_overall(matrix)}")
    return said


def answer(one: ShownAudit, warned: Warned, grouping: str, measure: str) -> Answer:
    """Answer by one ruler: the failure rule, whether confidence warns, and of whom less.

    Confidence is said to warn where the concordance of all exams, which needs no threshold, has an
    interval above one half; groups differ where an adjusted p of a pair is below the level.
    """
    rules = select_warning(warned.cells, grouping, measure)["rule"]
    alpha = one.result.settings.alpha
    everyone = select_warning(warned.concordance, grouping, measure).query("worse_of == 'all'")
    start = f"Judged by {one.name}"
    if rules.empty or everyone.empty:
        return Answer(one.ruler, None, None, float("nan"), f"{start}: {measure} is not known.")
    all_exams = everyone.iloc[0]
    warns = None if pd.isna(all_exams["low"]) else bool(all_exams["low"] > 0.5)
    heard = {
        True: f"{measure} warns of worse exams",
        False: f"{measure} is not shown to warn of worse exams",
        None: f"whether {measure} warns could not be tested",
    }[warns]
    value = write_estimate(all_exams[["concordance", "low", "high"]].tolist(), with_digits(2))
    tests = select_warning(warned.tests, grouping, measure)
    pairs = tests[(tests["family"] == "pairs") & tests["p_fdr"].notna()]
    differs = bool((pairs["p_fdr"] < alpha).any()) if len(pairs) else None
    if differs is None:
        between = "whether it warns less in one group could not be tested"
    elif differs:
        named = [
            f"{row.group_a} and {row.group_b} (adjusted p {write_p(row.p_fdr)}"
            + (f"; {write_remarks(row.remarks)})" if row.remarks else ")")
            for row in iterate_rows(pairs[pairs["p_fdr"] < alpha])
        ]
        between = f"within-group AUCs differ between {', '.join(named)}"
    else:
        between = (
            "no difference of within-group AUCs was found "
            f"(smallest adjusted p {write_p(pairs['p_fdr'].min())})"
        )
    said = (
        f"{start}, an exam fails where it is among the {rules.iloc[0]}"
        if str(rules.iloc[0]).startswith("worst")
        else f"{start}, an exam fails by {rules.iloc[0]}"
    )
    said += f": {heard} (concordance {value}), and {between}."
    return Answer(one.ruler, warns, differs, float(all_exams["concordance"]), said)


def say_whether_rulers_agree(answers: Sequence[Answer], *, made_of_predictions: bool) -> str:
    """Say whether the answer depends on the ruler; empty for a single ruler.

    Parameters
    ----------
    answers : by each ruler.
    made_of_predictions : whether one of the rulers is a model's predictions.
    """
    if len(answers) < 2:
        return ""
    if any(one.warns is None for one in answers):
        return "Whether the answer depends on the ruler cannot be said."
    parts = []
    if len({one.warns for one in answers}) > 1:
        parts.append("whether confidence warns at all")
    known = [one.differs for one in answers]
    heard = [f"concordance {write_number(one.concordance, 2)} by {one.ruler}" for one in answers]
    if None not in known and len(set(known)) > 1:
        parts.append("whether it warns of every group's failures alike")
    if parts:
        text = f"The answer depends on the ruler: the two differ on {' and on '.join(parts)}."
        if made_of_predictions:
            text += (
                " Errors that the model shares with the predictions that judge it are no failures "
                "to them, so the two rulers may ask confidence to find different exams."
            )
        return f"{text} Their difference is about the rulers."
    end = "" if None not in known else ", as far as the groups could be compared"
    text = f"Both rulers come to the same answer{end}"
    if not any(known):
        text += "; a difference between groups that was not found may be there all the same"
    return f"{text}. How well confidence warns is a matter of the ruler too: {', '.join(heard)}."


def select_warning(table: pd.DataFrame, grouping: str, measure: str) -> pd.DataFrame:
    """Keep the rows of one grouping and one uncertainty."""
    return table[(table["grouping"] == grouping) & (table["uncertainty"] == measure)]


def write_remarks(remarks: object) -> str:
    """Write remarks without underscores; nothing where there are none."""
    return remarks.replace("_", " ") if isinstance(remarks, str) else ""
