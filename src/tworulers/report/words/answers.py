"""The four answers of an audit in words: how many tests gave which, and what none of them may be taken for."""

from collections.abc import Mapping
from typing import Any

from tworulers.battery.audit import AuditResult
from tworulers.battery.margins import find_fault_of_labels
from tworulers.battery.overview import count_answers, keep_stated
from tworulers.battery.within import CANNOT_SAY, DIFFERS, DIFFERS_WITHIN, WITHIN
from tworulers.report.tables import write_count
from tworulers.schema.metric import Metric
from tworulers.schema.settings import FAILURES, Audit

ANSWERS: Mapping[str, str] = {
    DIFFERS: "differs",
    DIFFERS_WITHIN: "differs, but within the margin",
    WITHIN: "within the margin",
    CANNOT_SAY: "cannot say",
}
"""The answers as they are written."""


def tell_answers(found: AuditResult) -> str:
    """Count the answers over the stated families, and say where equality was not asked or cannot be proved."""
    counts = count_answers(found.tests)
    total = sum(counts.values())
    if not total:
        return "No test was asked."
    listed = "; ".join(f"{ANSWERS[name]} {n}" for name, n in counts.items())
    told = (
        f"Answers of {write_count(total, 'test')} by {found.ruler} ({found.provenance}): {listed}."
    )
    return f"{told} {_tell_limits(found)}"


def _tell_limits(found: AuditResult) -> str:
    """Say by which margins equality was asked, and why of none, or of some, of the stated tests."""
    if not found.settings.margin:
        return "Within: not asked, since no margin was given (audit.margin); no difference shown is no equality."
    told = [f"Margins: {write_margins(found.settings, found.metrics)}."]
    if find_fault_of_labels(found.provenance):
        told.append(
            f"Labels of provenance {found.provenance} prove no equality, so none is said to be within."
        )
    tests = keep_stated(found.tests)
    reasons = tests["within_undefined_because"].fillna("").astype(str)
    lacking = tests[reasons.str.startswith("not asked")]
    if len(lacking):
        names = ", ".join(
            f"{found.metrics[name].title}" for name in dict.fromkeys(lacking["metric"])
        )
        why = str(reasons[lacking.index[0]]).partition(": ")[2]
        told.append(f"Of {names} within was not asked ({why}).")
    return " ".join(told)


def write_margins(settings: Audit, metrics: Mapping[str, Metric]) -> str:
    """List the margins with their units, those of the metrics that were scored."""
    parts = [
        f"{metrics[name].title} {margin:g} {'points' if metrics[name].in_points else metrics[name].unit}".strip()
        for name, margin in settings.margin.items()
        if name in metrics
    ]
    if FAILURES in settings.margin:
        parts.append(f"failures {settings.margin[FAILURES]:g} %")
    return ", ".join(parts)


NONE_NEEDED = "none: "
"""Begins the cell of a test that no number of exams would answer."""


def write_needed(test: Mapping[str, Any]) -> str:
    """Write how many exams would answer a test, or why no number does."""
    if test["answer"] != CANNOT_SAY:
        return ""
    needed = test["n_needed"]
    return f"{needed:.0f}" if needed == needed else f"{NONE_NEEDED}{test['n_needed_because']}"
