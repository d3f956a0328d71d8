"""What adjustment, order and simultaneous intervals say beside the verdicts, in sentences."""

from tworulers.battery.provenance import PROVENANCE
from tworulers.report.findings import ShownAudit
from tworulers.report.rows import find_row, iterate_rows
from tworulers.report.score import Score
from tworulers.report.tables import write_p

HOW_GIVEN = (
    "Every comparison once more among exams that are alike in something else: ranked within strata "
    "(five of a number, the levels of a text) and added up (van Elteren). A difference that is gone "
    "there may be one of what is given, not of the group."
)
HOW_UNEQUAL = (
    "The rank test takes groups to spread alike and can reject for a difference in spread; the p "
    "that allows unequal spread (Brunner and Munzel) asks for the level alone."
)
HOW_SHIFTS = (
    "How far every two groups are shifted, second minus first. The intervals of a grouping hold all "
    "at once, so that any of them may be read."
)
HOW_MIXED = (
    "Differences from the first group with patients, scanners and numbers in one model; logit and "
    "log(1 + x) are the scales of the model, not of the score."
)


def or_in_spread(unequal: bool) -> str:
    """Say that a difference may be one of spread, where spreads differ; else nothing."""
    return ", in level or in spread" if unequal else ""


def say_given(one: ShownAudit, score: Score) -> list[str]:
    """Say of a score in which groupings what is given changes whether a difference is seen, raw p beside raw p."""
    alpha, said = one.result.settings.alpha, []
    for row in iterate_rows(score.of(one.result.adjusted)):
        test = find_row(score.of(one.result.tests), grouping=row.grouping)
        if test is None or not (row.p == row.p and test.p_verdict == test.p_verdict):
            continue
        before, after = test.p_verdict < alpha, row.p < alpha
        if before == after:
            continue
        change = (
            f"is not seen given {_name(row.given)}" if before else f"shows given {_name(row.given)}"
        )
        said.append(
            f"{one.title_of(row.grouping)}: a difference in {score.name} {change} "
            f"(p {write_p(test.p_verdict)}, given it {write_p(row.p)}, both before correction)."
        )
    return said


def say_labels(one: ShownAudit, grouping: str) -> str:
    """Say how many exams of each group a machine's labels judged; nothing where labels are of one kind."""
    shares = one.result.label_shares
    if shares.empty:
        return ""
    rows = list(iterate_rows(shares[shares["grouping"] == grouping]))
    if not rows:
        return ""
    counts = ", ".join(f"{row.n_machine} of {row.n} in {row.group}" for row in rows if row.n)
    return (
        f"{one.name} judges some exams by a machine's labels: {counts}. Where these shares differ, a "
        "difference between groups can be one of labels; the comparison given provenance takes "
        "that out. Exams that a machine's labels judged show no equality of groups."
    )


def say_absent(one: ShownAudit) -> str:
    """Name what should have been given and the table of exams does not have."""
    asked, found = one.result.settings.given, set(one.result.adjusted.get("given", ()))
    absent = [name for name in asked if name not in found]
    return f"Not in the table of exams: {', '.join(absent)}." if absent else ""


def _name(given: str) -> str:
    return "the kind of label (provenance)" if given == PROVENANCE else given
