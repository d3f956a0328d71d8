"""The table that answers: for each grouping the answer and the gap by each ruler, and what changing the ruler did."""

from collections.abc import Sequence

import pandas as pd

from tworulers.battery.clearest import find_clearest
from tworulers.battery.questions import EXTRA
from tworulers.battery.within import CANNOT_SAY, DIFFERS, DIFFERS_WITHIN, WITHIN
from tworulers.report.choose import MOST_GROUPINGS, rank_groupings
from tworulers.report.findings import ShownAudit
from tworulers.report.page import Cell, VerdictTable
from tworulers.report.rows import find_row, keep_rows
from tworulers.report.tables import (
    Table,
    list_sizes,
    make_table,
    write_count,
    write_gap_estimate,
    write_p,
)
from tworulers.report.view import View
from tworulers.report.words.answers import ANSWERS
from tworulers.report.words.headline import Headline, name_side
from tworulers.report.words.verdicts import Glance, pick_flip

MOST_SIZES = 6
"""Groups whose sizes are listed."""


def tabulate_verdict(view: View, headline: Headline) -> VerdictTable | None:
    """Make the table; where there are many groupings, those that changed or differ, and how many are not shown."""
    glances = list(headline.rows)
    if not glances:
        return None
    shown = choose_glances(view, glances)
    rows = [
        [
            Cell(one.title, [list_sizes(one.sizes, MOST_SIZES)]),
            *(_answer(judged, one, view) for judged in view.judged),
            *([Cell(one.verdict, [], one.why)] if headline.other else []),
        ]
        for one in shown
    ]
    columns = ["Grouping", *(_head(one) for one in view.judged)]
    columns += [headline.changed] if headline.other else []
    note = _note_left_out(shown, glances)
    note += "; all others are in tests.csv." if note else ""
    level = 100 * (1 - view.first.result.settings.alpha)
    caption = f"Each grouping's answer, and the gap between its best and worst median with a {level:g} % interval"
    return VerdictTable(caption, columns, rows, [one.tone for one in shown], note)


def tabulate_briefly(view: View, headline: Headline, most: int) -> Table | None:
    """Make a table of the first rows of that one, without sizes and p: what a card has room for."""
    glances = list(headline.rows)
    if not glances:
        return None
    shown = choose_glances(view, glances, most)
    rows = [
        [
            one.title,
            *("; ".join(_tell(judged, one, view)[:2]) for judged in view.judged),
            *([one.verdict] if headline.other else []),
        ]
        for one in shown
    ]
    columns = ["grouping", *(f"by {one.key}" for one in view.judged)]
    columns += [headline.changed.lower()] if headline.other else []
    level = 100 * (1 - view.first.result.settings.alpha)
    caption = f"Answers, and gaps between the best and worst median with {level:g} % intervals"
    return make_table(caption, columns, rows, _note_left_out(shown, glances))


def _note_left_out(shown: Sequence[Glance], glances: Sequence[Glance]) -> str:
    if len(shown) == len(glances):
        return ""
    return (
        f"{len(shown)} of {write_count(len(glances), 'grouping')}: primary questions first, then those with the "
        "smallest p"
    )


def _head(one: ShownAudit) -> str:
    return f"Model {one.model}, by {name_side(one)}" if one.model else f"By {one.name}"


def choose_glances(view: View, glances: list[Glance], most: int = MOST_GROUPINGS) -> list[Glance]:
    """Keep the rows of changed conclusions, then those of the smallest p, in their order."""
    if len(glances) <= most:
        return glances
    ranked = rank_groupings(pd.concat([one.result.tests for one in view.judged]))
    order = sorted(glances, key=lambda one: (one.tone != "loud", ranked.index(one.grouping)))
    kept = {id(one) for one in order[:most]}
    return [one for one in glances if id(one) in kept]


def _answer(judged: ShownAudit, glance: Glance, view: View) -> Cell:
    """Write the answer of a grouping by a ruler, and below it the gap with its p."""
    word, *told = _tell(judged, glance, view)
    return Cell(word, [", ".join(told)])


def _tell(judged: ShownAudit, glance: Glance, view: View) -> list[str]:
    """Write the answer of a grouping by a ruler, the gap of the score that stands for it, and its adjusted p."""
    tests = _of(judged, glance)
    key = _pick_score(view, glance)
    row = find_row(tests, metric=key[0], structure=key[1]) if key else None
    if row is None or tests["p_verdict"].isna().all():
        return ["not tested", glance.base if judged is view.first else glance.other]
    metric = judged.metric(row.metric)
    gap = (row.median_gap, row.median_gap_low, row.median_gap_high)
    told = write_gap_estimate(gap, metric, row.undefined_because)
    p = f"adjusted p {write_p(row.p_verdict_fdr)}"
    return [_word(tests), f"{metric.name_of(row.structure)} {told}", p]


def _of(judged: ShownAudit, glance: Glance) -> pd.DataFrame:
    tests = judged.result.tests
    tests = tests[tests["family"] != EXTRA]
    return keep_rows(tests, grouping=glance.grouping, family=glance.family)


def _word(tests: pd.DataFrame) -> str:
    """Write the answer that stands for a grouping: any difference, else within only where every score is."""
    counts = tests["answer"].value_counts()
    for name in (DIFFERS, DIFFERS_WITHIN):
        if n := int(counts.get(name, 0)):
            return f"{ANSWERS[name]} in {n} of {write_count(len(tests), 'score')}"
    return ANSWERS[WITHIN] if set(counts.index) == {WITHIN} else ANSWERS[CANNOT_SAY]


def _pick_score(view: View, glance: Glance) -> tuple[str, str] | None:
    """Pick the score that a row is about: of a changed conclusion, of the clearest difference, else the first."""
    if view.change is not None:
        verdicts = view.change.comparison.verdicts
        mine = keep_rows(verdicts, grouping=glance.grouping, family=glance.family)
        flip = pick_flip(mine, view.score.key)
        if flip is not None:
            return str(flip["metric"]), str(flip["structure"])
    tables = [_of(one, glance) for one in view.judged]
    for tests in tables:
        clear = find_clearest(tests[tests["significant"].astype(bool)])
        if clear is not None and len(view.score.of(tests[tests["significant"].astype(bool)])) == 0:
            return str(clear["metric"]), str(clear["structure"])
    if len(view.score.of(tables[0])):
        return view.score.key
    return None if tables[0].empty else tuple(tables[0][["metric", "structure"]].iloc[0])
