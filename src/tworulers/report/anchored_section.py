"""What the report says of group means that few expert labels and many machine labels give together."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tworulers.report.audit_tables import name_titles
from tworulers.report.gallery import ShownAudit
from tworulers.report.page import Anchored, RulerChange, Section
from tworulers.report.rows import iterate_rows
from tworulers.report.tables import (
    UNDEFINED,
    Table,
    make_table,
    write_count,
    write_interval,
    write_number,
    write_p,
)

HOW = (
    "The score by the expert's label is known for few exams, the score by {other} for many. Each "
    "group's mean is estimated from both (prediction-powered inference; Angelopoulos, Duchi and "
    "Zrnic 2023): the mean of the exams with an expert label, moved by λ times what the other "
    "exams' scores by {ruler} differ from theirs. The expert's label stays the judge throughout; "
    "scores by {ruler} that are wrong, or too close to the model, cost sharpness and not validity."
)
NO_TEST = (
    "Both intervals are shown whichever is narrower; picking one by its result would make a "
    "finding of nothing. They are not adjusted for the number of groups and belong to no family of "
    "tests."
)
COVARIATES: Mapping[str, str] = {
    "field_strength_t": "field strength (T)",
    "silver_score": "macro Dice by the second ruler",
}
TESTS: Mapping[str, str] = {"mann_whitney": "Mann-Whitney", "chi_squared": "permuted chi-squared"}


def tell_of_anchoring(
    judged: Sequence[ShownAudit], change: RulerChange | None, grouping: str
) -> list[Section]:
    """Tell of gold-anchored means and gaps; nothing where there are none.

    Parameters
    ----------
    judged : the audits by the expert ruler and by the other one.
    change : their comparison.
    grouping : the one that is shown first; the others follow in the details.
    """
    if change is None or change.anchored is None or change.anchored.means.empty:
        return []
    anchored, titles = change.anchored, name_titles(judged[0].result)
    names = [name for name in titles if name in set(anchored.means["grouping"])]
    names += [name for name in anchored.means["grouping"].unique() if name not in names]
    first = grouping if grouping in names else names[0]
    base, other = judged[0], judged[1]
    tables = tabulate_anchored(anchored, first, titles, base.name)
    details = [tabulate_exchangeability(anchored.exchangeability)]
    for name in names:
        if name != first:
            details += tabulate_anchored(anchored, name, titles, base.name)
    means = anchored.means[anchored.means["grouping"] == first]
    paragraphs = (
        HOW.format(other=other.name, ruler=other.ruler),
        " ".join([*anchored.sentences, say_exchangeable(anchored.exchangeability)]),
        f"{titles.get(first, first)}: {say_gain(means)} {NO_TEST}",
    )
    return [
        Section(
            "anchored",
            "Group means anchored in the experts' labels",
            paragraphs,
            tables=tuple(tables),
            details=tuple(details),
            details_title="Whether the exams are drawn alike, and the other groupings",
        )
    ]


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
    worth = known["effective_n"] - known["n_gold"]
    text = (
        f"the scores without an expert label narrow the interval in {int(gained.sum())} of "
        f"{len(known)} groups, and are worth {worth.min():+.1f} to {worth.max():+.1f} more exams "
        "with one (effective n less n)"
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
            f"{_attribute(row.attribute)} (adjusted p {write_p(row.p_holm)})"
            for row in iterate_rows(differing)
        )
        return f"Warning: exams with and without an expert label differ in {named}."
    tested = table[table["p_holm"].notna()]
    if tested.empty:
        return "Whether they are could not be tested."
    return (
        f"No difference between the two was found in {write_count(len(tested), 'attribute')} (smallest adjusted p "
        f"{write_p(tested['p_holm'].min())}), which does not show that there is none."
    )


def tabulate_anchored(
    anchored: Anchored, grouping: str, titles: Mapping[str, str], base: str
) -> list[Table]:
    """Tabulate the means of a grouping's groups and the gaps between them, both ways."""
    title = titles.get(grouping, grouping)
    rows = []
    for row in iterate_rows(anchored.means[anchored.means["grouping"] == grouping]):
        rows.append(
            [
                row.group,
                str(row.n_gold),
                str(row.n_silver),
                _interval(row.gold_mean, row.gold_low, row.gold_high, row.undefined_because),
                _interval(row.mean, row.low, row.high, row.undefined_because),
                write_number(row.weight, 2),
                write_number(row.correlation, 2),
                write_number(row.effective_n, 1),
            ]
        )
    columns = ["group", "n with expert label", "n without", "mean, expert labels alone"]
    columns += ["mean, anchored", "λ", "correlation", "effective n"]
    note = (
        "Correlation: of the two scores where both are known. Effective n: how many expert labels "
        "alone would give the anchored standard error; below n where λ costs more than it brings."
    )
    caption = f"{title}: mean macro Dice anchored in {base}"
    means = make_table(caption, columns, rows, note)
    gaps = []
    for gap in iterate_rows(anchored.gaps[anchored.gaps["grouping"] == grouping]):
        alone = (gap.gold_difference, gap.gold_difference_low, gap.gold_difference_high)
        both = (gap.difference, gap.difference_low, gap.difference_high)
        gaps.append([f"{gap.group_b} − {gap.group_a}", _interval(*alone), _interval(*both)])
    if not gaps:
        return [means]
    heads = ("gap of means", "expert labels alone", "anchored")
    return [means, make_table(f"{title}: gaps of mean macro Dice anchored in {base}", heads, gaps)]


def tabulate_exchangeability(table: pd.DataFrame) -> Table:
    """Tabulate in what exams with and without an expert label differ."""
    rows = [
        [
            _attribute(row.attribute),
            TESTS.get(row.test, row.test),
            write_p(row.p, "does not vary"),
            write_p(row.p_holm),
            "differs" if row.warning else ("no difference found" if row.p == row.p else UNDEFINED),
        ]
        for row in iterate_rows(table)
    ]
    heads = ("attribute", "test", "p", "adjusted p (Holm)", "finding")
    return make_table("Exams with and without an expert label: are they drawn alike?", heads, rows)


def _attribute(name: Any) -> str:
    return COVARIATES.get(str(name), str(name))


def _interval(value: float, low: float, high: float, because: object = None) -> str:
    return write_interval(
        write_number(value, 4, because), write_number(low, 4), write_number(high, 4)
    )
