"""What the report says of success rates: their ratio, their differences, and how both hang on the threshold."""

from collections.abc import Sequence

from tworulers.report.audit_tables import tabulate_rate_differences, tabulate_ratios
from tworulers.report.gallery import ShownAudit, picture_forest, picture_sweep
from tworulers.report.page import Section
from tworulers.report.tables import tell_more
from tworulers.schema import MACRO


def tell_of_rates(judged: Sequence[ShownAudit], grouping: str) -> list[Section]:
    """Tell of success rates by every metric that has a threshold; nothing where none has.

    Parameters
    ----------
    judged : the audits that the page is about.
    grouping : the one whose rates are shown over thresholds.
    """
    shown = pick_rated(judged[0])
    if not shown:
        return []
    forests = [picture_forest(judged, metric=m, structure=s) for m, s in shown.items()]
    tables = [
        [
            tabulate(one.result, one.name, metric=m, structure=s)
            for tabulate in (tabulate_ratios, tabulate_rate_differences)
            for one in judged
        ]
        for m, s in shown.items()
    ]
    rates = Section(
        "rates",
        "Success rates and their ratio",
        (
            "Rates are shown with their counts. The interval with the best measured coverage "
            "stands beside the published BCa interval, which draws its lower bound up where the "
            "ratio is near 1; for a group of few exams look at the difference of the rates, whose "
            "interval (Newcombe's) holds at any size."
            + tell_more(judged[0].result.disparities, shown.items(), "disparities.parquet"),
        ),
        (forests[0],),
        tuple(tables[0]),
        tuple(table for part in tables[1:] for table in part),
        "The other scores",
        tuple(forests[1:]),
    )
    swept = [
        picture_sweep(judged, grouping=grouping, metric=m, structure=s) for m, s in shown.items()
    ]
    sweep = Section(
        "sweep",
        "How much hangs on the threshold",
        pictures=(swept[0],),
        more_pictures=tuple(swept[1:]),
        details_title="The other scores",
    )
    return [rates, sweep]


def pick_rated(one: ShownAudit) -> dict[str, str]:
    """Pick for each stated metric with a threshold the structure that stands for all: macro, else the first."""
    table = one.result.disparities
    shown = {}
    for name in one.result.settings.metrics:
        structures = list(table.loc[table["metric"] == name, "structure"]) if len(table) else []
        if structures:
            shown[name] = MACRO if MACRO in structures else str(structures[0])
    return shown
