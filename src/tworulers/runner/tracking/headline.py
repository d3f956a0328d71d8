"""The few numbers of a result that its own page shows; every other is on a run within it, `details`."""

import re
from typing import Any

from tworulers.runner.tracking.record import RunRecord
from tworulers.schema.settings import MACRO

MOST = 60
"""Results with no more numbers than this show them all."""

COUNTS = ("answers", "flips", "tests_changed", "verdicts", "mechanisms", "gap_changes")
FAMILY = ("significant", "size")
OVERALL = ("exams", "patients")
OF_SCORE = ("mean", "difference")
OF_GROUPING = (
    "p_verdict_fdr", "median_gap", "dir",
    "gap_ratio", "noise_part", "swap_p_fdr",
    "gap_base", "gap_other", "gap_change",
)  # fmt: skip
"""What is shown of a grouping: of an audit its p, gap and ratio; of a comparison what became of the gap, and why."""

DIFFERS, VERDICT = "answers/differs", "verdict/differs"

GRAVEST = ("differs", "cannot_say", "differs_within_margin", "within_margin")
"""Answers, the one that an audit is summed up by first: where none differs, one that cannot say leaves it open."""

PARAMS = re.compile(
    r"audit\.(name|alpha|seed)"
    r"|(?!(attributes|audit|dataset|regime|ruler|scores|against|grid)\.).*"
)
"""Parameters on a page of few numbers; those of the choices that its tags name, and of every grouping, are details."""

SWEPT = re.compile(r"audit\.[^.]+(\.[^.]+)?|" + PARAMS.pattern)
"""Those on the page of a result of a sweep, which may differ from others of it in any setting of the audit."""


def choose_headline(record: RunRecord) -> dict[str, float]:
    """Choose about 40 numbers of an audit or of a comparison of two; any other result shows all that it has.

    They are the counts, the mean of every metric over all structures, and the figures by grouping of the first metric.
    """
    metrics = dict(record.metrics)
    compared = record.stage == "compare" and {"base_ruler", "base_regime"} & set(record.tags)
    if len(metrics) <= MOST or not (record.stage == "audit" or compared):
        return metrics
    scored = [tuple(name.split("/")[:2]) for name in metrics if name.count("/") == 3]
    whole = [one for one in scored if one[1] == MACRO] or scored or [("", MACRO)]
    chosen = {name: value for name, value in metrics.items() if _is_headline(name, *whole[0])}
    # Last, since MLflow draws the first where runs are compared.
    return chosen | ({VERDICT: float(metrics[DIFFERS] > 0)} if DIFFERS in metrics else {})


def choose_params(record: RunRecord, few: bool) -> dict[str, Any]:
    """Choose the parameters of a result's own page: all, unless it shows but a `few` of its numbers."""
    shown = SWEPT if "sweep" in record.tags else PARAMS
    return {
        name: value for name, value in record.params.items() if not few or shown.fullmatch(name)
    }


def tell_verdict(record: RunRecord) -> dict[str, str]:
    """Write the answers of an audit as tags that a list of runs shows: how many of each, and the gravest."""
    if record.stage != "audit":
        return {}
    counts = {name: int(record.metrics.get(f"answers/{name}", 0)) for name in GRAVEST}
    told = {name.replace("_", " "): n for name, n in counts.items() if n}
    answers = {"answers": ", ".join(f"{name} {n}" for name, n in told.items())} if told else {}
    return {**answers, "verdict": next(iter(told), "no verdict")}


def _is_headline(name: str, first: str, structure: str) -> bool:
    match name.split("/"):
        case [kind, *_] if kind in COUNTS or name in OVERALL:
            return True
        case ["family", _, quantity]:
            return quantity in FAMILY
        case [_, of, quantity] if of == structure:
            return quantity in OF_SCORE
        case [metric, of, _, quantity] if (metric, of) == (first, structure):
            return quantity in OF_GROUPING
    return False
