"""The facts of a model card: of a study, and of a risk score, in the words and numbers of their pages."""

from collections.abc import Sequence

from tworulers.auc.audit import RiskAudit
from tworulers.report.findings import ShownAudit
from tworulers.report.from_study import gather_findings
from tworulers.report.risk_layout import say_missed, say_verdict, tabulate_risk_briefly
from tworulers.report.tables import list_sizes, write_count
from tworulers.report.verdict_table import choose_glances, tabulate_briefly
from tworulers.report.view import View, make_view
from tworulers.report.words.answers import write_margins
from tworulers.report.words.groupings import DRAWN_BY
from tworulers.report.words.headline import (
    UNNAMED,
    Headline,
    name_side,
    remark_on_size,
    write_headline,
)
from tworulers.report.words.methods import tell_measured, tell_successes
from tworulers.report.words.model_card import CardFacts
from tworulers.report.words.primary import remark_on_lock
from tworulers.report.words.risk import tell_turned
from tworulers.study import Study

MOST_GROUPINGS, MOST_SIZES = 5, 4
"""Groupings on a card, and groups whose sizes are listed."""

ON_PAGE = "All else is on the page beside it, index.html."
IN_RESULT = "All else is in the tables of the result."


def gather_card(view: View, headline: Headline, rest: str = ON_PAGE) -> CardFacts:
    """Gather what a card says of the model that a page is about.

    Parameters
    ----------
    view : what the page shows.
    headline : its answer.
    rest : where all else is said.
    """
    first, judged = view.first, view.judged
    shown = {row.grouping for row in choose_glances(view, list(headline.rows), MOST_GROUPINGS)}
    sizes = {row.grouping: list_sizes(row.sizes, MOST_SIZES) for row in headline.rows}
    factors = [f"{first.title_of(name)}: {sizes[name]}" for name in sizes if name in shown]
    if len(shown) < len(sizes):
        factors.append(f"{len(shown)} of {write_count(len(sizes), 'grouping')}")
    margins = write_margins(first.result.settings, first.result.metrics)
    asked = f"Margins: {margins}." if margins else "No margin was given: equality was not asked."
    return CardFacts(
        title=f"Fairness of a model: {view.findings.dataset}",
        model=[
            name for name in dict.fromkeys(one.result.regime for one in judged) if name != UNNAMED
        ],
        factors=factors,
        metrics=[tell_measured(first.result), *filter(None, [tell_successes(first.result)]), asked],
        evaluation=[f"{headline.about}.", *dict.fromkeys(map(_name_labels, judged))],
        training=view.findings.training,
        answers=[text for text in (headline.patients, headline.ruler) if text],
        table=tabulate_briefly(view, headline, MOST_GROUPINGS),
        missed=remark_on_size(view, MOST_SIZES),
        caveats=[*remark_on_lock(first.result.settings.locked), *view.findings.origins],
        settings=first.result.settings,
        rest=rest,
    )


def card_study(study: Study, title: str) -> CardFacts:
    """Gather what a card says of what a study was asked; the models have the names that the study gives them."""
    view = make_view(gather_findings(study, title))
    return gather_card(view, write_headline(view), IN_RESULT)


def card_risk(
    audit: RiskAudit,
    title: str,
    rows: int,
    events: int,
    notes: Sequence[str] = (),
    rest: str = IN_RESULT,
) -> CardFacts:
    """Gather what a card says of a risk score.

    Parameters
    ----------
    audit : the audit.
    title : of the score; empty where nobody named it.
    rows, events : of the table, and those of them with the event.
    notes : what reading the table left out or changed.
    rest : where all else is said.
    """
    use = audit.use
    means = audit.mean_scores[audit.mean_scores["outcome"] == "all"]
    table = tabulate_risk_briefly(audit, MOST_GROUPINGS)
    factors = []
    for name, *_ in table.rows:
        own = means[means["grouping"] == name]
        sizes = [f"{group} (n {n})" for group, n in zip(own["group"], own["n"], strict=True)]
        factors.append(f"{name}: {list_sizes(', '.join(sizes), MOST_SIZES)}")
    factors += [table.note] if table.note else []
    at = "" if use.threshold is None else f", selected at or above {use.threshold:g}"
    return CardFacts(
        title=f"Fairness of a risk score{f': {title}' if title else ''}",
        model=[title] if title else [],
        factors=factors,
        metrics=[
            f"AUC within each group, ties one half, {100 * use.level:g} % intervals; used for "
            f"{use.name.replace('_', ' ')}{at}."
        ],
        evaluation=[f"{write_count(rows, 'row')}, {events:,} with the event.", *notes],
        training=[],
        answers=say_verdict(audit),
        table=table,
        missed=say_missed(audit),
        caveats=tell_turned(audit),
        settings=use,
        rest=rest,
    )


def _name_labels(one: ShownAudit) -> str:
    return f"{name_side(one)}, {DRAWN_BY[one.result.provenance]}"
