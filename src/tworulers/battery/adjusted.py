"""What stands beside the tests of an audit: given something else, along an order, and all pairs at once."""

from typing import Any

import pandas as pd

from tworulers.battery.mixed import fit_models
from tworulers.battery.ordered import find_trends
from tworulers.battery.provenance import find_provenance, share_labels
from tworulers.battery.questions import Question
from tworulers.battery.simultaneous import bound_shifts
from tworulers.battery.stratified import compare_given
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes


def look_beside(
    questions: list[Question],
    tests: pd.DataFrame,
    table: pd.DataFrame,
    groups: pd.DataFrame,
    exams: pd.DataFrame | None,
    scores: pd.DataFrame,
    settings: Audit,
    attributes: Attributes,
) -> dict[str, Any]:
    """Make the frames `adjusted`, `mixed`, `trends`, `shifts` and `label_shares` of an audit.

    Parameters
    ----------
    questions, tests : row by row.
    table, groups : scores (exams, scores) and groups (exams, groupings), in one order.
    exams : the table of exams; None where there is none.
    scores : the long scores, for the provenance of the labels that judged each exam.
    settings, attributes : of the audit.
    """
    exams = None if exams is None else exams.loc[table.index]
    provenance = find_provenance(scores).loc[table.index]
    about = (table, groups, exams)
    return {
        "adjusted": compare_given(questions, tests, *about, provenance, settings, attributes),
        "mixed": fit_models(questions, *about, settings, attributes),
        "trends": find_trends(questions, tests, settings, attributes),
        "shifts": bound_shifts(questions, settings),
        "label_shares": share_labels(provenance, groups),
    }
