"""The facts of a model card, gathered from what a page shows: the same sentences and tables, in Markdown."""

from tworulers.report.answer_tables import tabulate_answers
from tworulers.report.audit_tables import tabulate_groups
from tworulers.report.style import MOST_LISTED, list_sizes
from tworulers.report.view import View
from tworulers.report.words.headline import Headline, remark_on_size
from tworulers.report.words.methods import write_methods
from tworulers.report.words.model_card import CardFacts

ROWS = 16
"""Rows of a table of the card; the page beside it has all."""


def gather_card(view: View, headline: Headline) -> CardFacts:
    """Gather what a card says of the model that a page is about.

    Parameters
    ----------
    view : what the page shows.
    headline : its answer.
    """
    least = view.findings.suppress_below
    compared = None if view.change is None else view.change.comparison
    sizes = [f"{row.title}: {list_sizes(row.sizes, MOST_LISTED)}" for row in headline.rows[:ROWS]]
    asked = any(one.result.settings.margin for one in view.judged)
    return CardFacts(
        title=f"Fairness of a model: {view.findings.dataset}",
        model=", ".join(dict.fromkeys(one.result.regime for one in view.judged)),
        intended_use="",
        data=[f"{headline.about}.", *sizes],
        rulers={one.ruler: one.provenance for one in view.judged},
        groups=[tabulate_groups(one, view.score, least).shorten(ROWS) for one in view.judged],
        held=[tabulate_answers(view.first, view.score).shorten(ROWS)] if asked else [],
        answers=[text for text in (headline.patients, headline.ruler) if text],
        method=write_methods(view.first.result, compared)[:1],
        caveats=[*view.findings.origins, *remark_on_size(view)],
    )
