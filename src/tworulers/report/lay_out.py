"""The page as a whole: the answer, what is seen at once, what is folded below it, and what can be downloaded."""

from collections.abc import Mapping
from dataclasses import replace

from tworulers.report.choose import MOST_ROWS, choose
from tworulers.report.data_files import list_data
from tworulers.report.findings import Findings
from tworulers.report.page import Page, Section
from tworulers.report.sections import list_sections
from tworulers.report.verdict_table import tabulate_verdict
from tworulers.report.view import make_view
from tworulers.report.words.headline import NO_EQUALITY, OF_RULERS, Headline, write_headline

OPENED = ("two-rulers", "missed")
"""The parts that are seen at once; all others are folded."""

PRINTED = ("words", "methods", "tests", "inflation", "why", "groups", "regimes", "audits")
"""The folded parts that are printed; the others are named in print with their tables."""

DATA: Mapping[str, tuple[str, ...]] = {
    "two-rulers": ("groups",),
    "missed": ("power",),
    "words": ("groupings",),
    "answers": ("tests", "equivalence"),
    "tests": ("tests",),
    "inflation": ("rulers_inflation", "rulers_closeness", "rulers_agreement"),
    "why": ("rulers_verdicts", "rulers_four_fifths"),
    "adjusted": ("adjusted", "shifts", "trends", "mixed", "posthoc"),
    "rates": ("disparities", "rates", "differences"),
    "sweep": ("rates",),
    "groups": ("groups", "overall", "repeats"),
    "power": ("power", "rulers_chance"),
    "anchored": (
        *("anchored_means", "anchored_gaps"),
        *("anchored_failures", "anchored_failure_gaps"),
    ),
    "warning": tuple(f"confidence_{name}" for name in ("cells", "metrics", "tests", "concordance")),
    "regimes": ("models_differences", "models_gaps"),
    "by-group": ("models_by_group",),
    "model": ("linear",),
    "cohort": ("cohort_counts", "cohort_ages", "cohort_relations", "cohort_left_out"),
    "audits": ("overall",),
}
"""The tables that each part is read from."""


def write_report(findings: Findings) -> tuple[Headline, list[Section]]:
    """Write the headline and the sections, leaving out what there is nothing to say of.

    The headline is of all groupings and scores; the sections are of those that can be shown.

    Raises
    ------
    ValueError : there is no audit.
    """
    whole = make_view(findings)
    headline = write_headline(whole)
    shown, left_out = choose(findings)
    view = replace(make_view(shown), grouping=whole.grouping)
    if view.grouping not in view.first.titles:
        view = make_view(shown)
    sections = list_sections(view, whole, headline, left_out)
    return headline, [_finish(section) for section in sections]


def lay_out(findings: Findings) -> tuple[Headline, Page]:
    """Lay out the page: what is seen at once, and what is folded below it.

    Raises
    ------
    ValueError : there is no audit.
    """
    headline, sections = write_report(findings)
    view = make_view(findings)
    judged = {(one.result.regime, one.ruler): one for one in view.judged}
    return headline, Page(
        title=f"Two {'models' if view.models else 'rulers'}: {findings.dataset}",
        kicker=headline.about,
        sentences=[headline.patients, headline.ruler],
        verdicts=tabulate_verdict(view, headline),
        opened=[one for one in sections if one.anchor in OPENED],
        folded=[one for one in sections if one.anchor not in OPENED],
        facts=findings.facts,
        commands=findings.commands,
        configuration=findings.configuration,
        data=list_data(replace(findings, audits={**findings.audits, **judged})),
        footer=f"Made by tworulers. {OF_RULERS * (view.change is not None)}{NO_EQUALITY}",
    )


def _finish(section: Section) -> Section:
    """Cut tables that are too long to read, name those to download, and say whether the part is printed."""
    return replace(
        section,
        data=DATA.get(section.anchor, ()),
        printed=section.anchor in PRINTED,
        tables=[table.shorten(MOST_ROWS) for table in section.tables],
        details=[table.shorten(MOST_ROWS) for table in section.details],
    )
