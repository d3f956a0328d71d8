"""What the report says of whether the model's own confidence would have warned of its failures."""

from collections.abc import Sequence

from tworulers.diagnosis.warning import Warned
from tworulers.report.findings import ShownAudit
from tworulers.report.page import Section
from tworulers.report.rows import iterate_rows
from tworulers.report.tables import (
    UNDEFINED,
    Table,
    make_table,
    with_digits,
    write_estimate,
    write_number,
    write_p,
    write_undefined,
)
from tworulers.report.view import View
from tworulers.report.words.warning import (
    HOW,
    answer,
    say_whether_rulers_agree,
    select_warning,
    write_remarks,
)
from tworulers.schema.settings import Provenance

DEFAULT = "confidence"
"""The uncertainty that is shown first."""

FEW = "†"
BELOW = " ‡"
TWO = with_digits(2)


def tell_of_warning(view: View) -> Section | None:
    """Tell how well confidence warns by every ruler; nothing where no confidence was kept.

    The view's grouping and confidence come first; other groupings, uncertainties and rulers follow in the details.
    """
    findings, regime, titles = view.findings, view.first.result.regime, view.first.titles
    kept = findings.warnings
    shown = [(one, kept[regime, one.ruler]) for one in view.judged if (regime, one.ruler) in kept]
    groupings = list(dict.fromkeys(name for _, w in shown for name in w.cells["grouping"]))
    if not groupings:
        return None
    first = view.grouping if view.grouping in groupings else groupings[0]
    measures = list(dict.fromkeys(name for _, w in shown for name in w.cells["uncertainty"]))
    measure = DEFAULT if DEFAULT in measures else measures[0]
    others = [
        (one, kept[key])
        for key, one in findings.audits.items()
        if key[0] == regime and key in kept and one.ruler not in view.names
    ]
    tables = [tabulate_overall([*shown, *others], first, measure)]
    tables += [tabulate_matrix(*of, first, measure) for of in shown]
    details = [tabulate_tests(*of, first, measure) for of in shown]
    details += [tabulate_concordance(*of, first, measure) for of in shown]
    details += [tabulate_matrix(*of, first, measure) for of in others]
    asked = [(first, name) for name in measures if name != measure]
    asked += [(name, measure) for name in titles if name in groupings and name != first]
    details += [tabulate_matrix(*of, name, kind) for name, kind in asked for of in shown]
    silver = any(one.result.provenance == Provenance.SILVER for one, _ in shown)
    answers = [answer(*of, first, measure) for of in shown]
    agree = say_whether_rulers_agree(answers, made_of_predictions=silver)
    return Section(
        "warning",
        "Would the model's own confidence have warned?",
        [text for text in (HOW, *(one.said for one in answers), agree) if text],
        tables=[table for table in tables if table.rows],
        details=[table for table in details if table.rows],
        details_title="Tests, no threshold, other rulers, uncertainties and groupings",
    )


def tabulate_overall(
    shown: Sequence[tuple[ShownAudit, Warned]], grouping: str, measure: str
) -> Table:
    """Tabulate by ruler how well an uncertainty warns over all exams."""
    rows = []
    for one, warned in shown:
        cells = select_warning(warned.cells, grouping, measure)
        everyone = select_warning(warned.concordance, grouping, measure).query("worse_of == 'all'")
        if cells.empty or everyone.empty:
            continue
        whole = everyone.iloc[0]
        own = cells[cells["events_of"] == cells["non_events_of"]]
        sizes = own[["n_events", "n_non_events"]].sum()
        tests = select_warning(warned.tests, grouping, measure)
        pairs = tests[tests["family"] == "pairs"]["p_fdr"]
        rows.append(
            [
                one.name,
                f"{sizes['n_events']}/{sizes.sum()}",
                str(cells["rule"].iloc[0]),
                write_number(warned.overall.get(measure), 2),
                write_estimate(whole[["concordance", "low", "high"]].tolist(), TWO),
                write_p(pairs.min()) if pairs.notna().any() else write_undefined("not tested"),
            ]
        )
    columns = ["ruler", "failed", "what failed means", "AUC of all exams", "concordance of all"]
    columns.append(f"{shown[0][0].title_of(grouping)}: smallest adjusted p")
    note = (
        "Failed exams are counted within the grouping. Concordance: the chance that of two exams "
        "the worse one looks less sure, which needs no threshold. The AUC of all exams is no mean "
        "of the groups' AUCs."
    )
    if any(select_warning(w.cells, grouping, measure)["by_quantile"].any() for _, w in shown):
        note += (
            " Where the threshold of success leaves a group too few failures, the worst exams of "
            "the whole set fail instead, so two rulers with one share may call other exams failed."
        )
    return make_table(
        f"Does {measure} warn of failures? By provenance of the judge", columns, rows, note
    )


def tabulate_matrix(one: ShownAudit, warned: Warned, grouping: str, measure: str) -> Table:
    """Tabulate the AUC of failed exams of each group against acceptable ones of each."""
    cells = select_warning(warned.cells, grouping, measure)
    order = list(dict.fromkeys(cells["non_events_of"]))
    failed = {row.events_of: row.n_events for row in iterate_rows(cells)}
    good = {row.non_events_of: row.n_non_events for row in iterate_rows(cells)}
    rows = []
    for group, part in cells.groupby("events_of", sort=False):
        written = {}
        for row in iterate_rows(part):
            value = write_estimate((row.auc, row.low, row.high), TWO, row.undefined_because)
            few = row.auc == row.auc and bool(row.remarks)
            written[row.non_events_of] = (
                value + (FEW if few else "") + (BELOW if row.below_half else "")
            )
        rows.append([f"{group} ({failed[group]} failed)", *(written[name] for name in order)])
    columns = ["failed exams of", *(f"acceptable, {name} ({good[name]})" for name in order)]
    rule = f"Failed: {cells['rule'].iloc[0]}. " if len(cells) else ""
    marked = any(cell.endswith(FEW) for line in rows for cell in line)
    below = f"{BELOW.strip()} Below one half: there the failures look surer than the rest."
    rule += f"{below} " if cells["below_half"].any() else ""
    note = rule + (f"{FEW} Fewer than ten on a side, or nothing varies." if marked else "")
    caption = f"{one.title_of(grouping)}: AUC of {measure} for failure, judged by {one.name}"
    return make_table(caption, columns, rows, note.strip())


def tabulate_tests(one: ShownAudit, warned: Warned, grouping: str, measure: str) -> Table:
    """Tabulate the tests of equal within-group AUCs."""
    tests = select_warning(warned.tests, grouping, measure)
    rows = [
        [
            f"{row.group_a} and {row.group_b}" if row.group_b else "all groups",
            write_number(row.difference, 3, row.undefined_because),
            write_p(row.p, row.undefined_because),
            write_p(row.p_fdr),
            f"{row.family_size} {row.family}" if row.family_size else UNDEFINED,
            write_remarks(row.remarks),
        ]
        for row in iterate_rows(tests)
    ]
    columns = ("groups", "difference of AUCs", "p", "adjusted p", "adjusted over", "remarks")
    note = "By score-type intervals of the AUCs, which hold their level with few failures, too."
    what = f"tests of equal within-group AUCs of {measure}"
    caption = f"{one.title_of(grouping)}: {what}, judged by {one.name}"
    return make_table(caption, columns, rows, note)


def tabulate_concordance(one: ShownAudit, warned: Warned, grouping: str, measure: str) -> Table:
    """Tabulate the question without a threshold: does the worse of two exams look less sure?"""
    rows = [
        [
            row.worse_of,
            row.better_of,
            write_estimate((row.concordance, row.low, row.high), TWO, row.undefined_because),
            f"{row.n_pairs}",
        ]
        for row in iterate_rows(select_warning(warned.concordance, grouping, measure))
    ]
    columns = ("worse exam of", "better exam of", "concordance", "pairs")
    caption = (
        f"{one.title_of(grouping)}: concordance of {measure} with the score, judged by {one.name}"
    )
    return make_table(caption, columns, rows)
