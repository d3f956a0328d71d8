"""What the two sentences are made of, read from audits and from the summary of a comparison."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tworulers.battery.audit import AuditResult
from tworulers.battery.clearest import find_clearest
from tworulers.battery.overview import keep_stated
from tworulers.battery.questions import EXTRA, PRIMARY, RANDOM
from tworulers.battery.within import CANNOT_SAY, DIFFERS, DIFFERS_WITHIN
from tworulers.diagnosis.mechanism import SHOWN
from tworulers.report.tables import write_apart
from tworulers.report.words.rulers import AGREED
from tworulers.report.words.two_sentences import (
    WHOSE,
    Changed,
    Grouped,
    Told,
    say_patients,
    say_ruler,
)
from tworulers.schema.settings import MACRO, Provenance
from tworulers.schema.tables import list_rows
from tworulers.stats.types import Row


def tell_best(results: Sequence[AuditResult]) -> str:
    """Say what the best labels of some audits of one model answer of the patients; nothing without any audit."""
    best = sorted(results, key=lambda one: list(WHOSE).index(one.provenance))
    if not best:
        return ""
    experts = next((one for one in best if one.provenance == Provenance.GOLD), None)
    beside = None if experts is None or experts is best[0] else read_told(experts)
    return say_patients(read_told(best[0]), beside)


def tell_change(summary: Mapping[str, Any] | None) -> str:
    """Say what another ruler did, from the summary of a comparison; nothing where there is none, or it is of models."""
    if summary is None or "tests_changed" not in summary:
        return ""
    return say_ruler(read_changed(summary))


def read_told(result: AuditResult) -> Told:
    """Read what an audit answers of every grouping: of its primary questions alone where it has any."""
    stated = keep_stated(result.tests)
    stated = stated[stated["family"] != RANDOM]
    primary = stated[stated["family"] == PRIMARY]
    asked = primary if len(primary) else stated
    score, name = _pick_score(asked, result)
    titles = dict(zip(result.groupings["grouping"], result.groupings["title"], strict=True))
    others = stated[stated["family"] != PRIMARY]
    return Told(
        ruler=result.ruler,
        provenance=result.provenance,
        exams=result.n_exams,
        margin_asked=bool(result.settings.margin),
        score=name,
        groupings=[
            _read_grouping(str(titles[grouping]), rows, score, result)
            for grouping, rows in asked.groupby("grouping", sort=False)
        ],
        primary=len(primary),
        locked=result.settings.locked.date,
        secondary=len(others),
        secondary_found=int(others["significant"].sum()),
    )


def read_changed(summary: Mapping[str, Any]) -> Changed:
    """Read what another ruler did to the stated tests."""
    quiet = {str(name) for name in AGREED} | {"undefined", ""}
    counts = _count(summary["tests_changed"])
    verdicts = _count(summary["verdicts"])
    mechanisms = _count(summary["mechanisms"])
    rows = summary["closeness"]
    close: Mapping[str, Any] = rows.get(MACRO) or next(iter(rows.values()), {})
    return Changed(
        base=summary["base_ruler"],
        other=summary["other_ruler"],
        status=summary["status"],
        tests=counts.get("tested", 0),
        changed=counts.get("changed", 0),
        flips={name: n for name, n in verdicts.items() if name not in quiet},
        known=summary["known"],
        shown=sum(mechanisms.get(name, 0) for name in SHOWN),
        forgiven=close.get("forgiven"),
    )


def _count(by_family: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Add up counts over the stated families."""
    stated = {name: part for name, part in by_family.items() if name not in (EXTRA, RANDOM)}
    total: dict[str, int] = {}
    for part in (stated or by_family).values():
        for name, n in part.items():
            total[name] = total.get(name, 0) + n
    return total


def _pick_score(tests: pd.DataFrame, result: AuditResult) -> tuple[tuple[str, str], str]:
    """Pick the score that stands for all: the first metric asked for, of the macro where it is tested."""
    scores = list(zip(tests["metric"], tests["structure"], strict=True))
    if not scores:
        return ("", ""), ""
    metrics = [metric for metric, _ in scores]
    first = next((name for name in result.settings.metrics if name in metrics), metrics[0])
    mine = [structure for metric, structure in scores if metric == first]
    score = (first, MACRO if MACRO in mine else mine[0])
    return score, result.metrics[first].name_of(score[1])


def _read_grouping(
    title: str, tests: pd.DataFrame, score: tuple[str, str], result: AuditResult
) -> Grouped:
    found = tests[tests["answer"].isin([DIFFERS, DIFFERS_WITHIN])]
    first = find_clearest(found) if len(found) else None
    mine = tests[(tests["metric"] == score[0]) & (tests["structure"] == score[1])]
    needed = [
        int(row["n_needed"])
        for row in list_rows(mine[mine["answer"] == CANNOT_SAY])
        if row["n_needed"] == row["n_needed"]
    ]
    answers = {str(name): int(n) for name, n in tests["answer"].value_counts().items()}
    clearest = "" if first is None else _write_clearest(first, result)
    return Grouped(title, answers, clearest, needed[0] if needed else None)


def _write_clearest(test: Row, result: AuditResult) -> str:
    """Write whom the clearest difference is worst for, in which score, and how far apart groups lie."""
    metric, worst = result.metrics[test["metric"]], test["worst_group"]
    whom = f", worst for {worst}" if isinstance(worst, str) else ""
    apart = write_apart(test["median_gap"], metric)
    return f"{whom}, clearest in {metric.name_of(test['structure'])}, {apart}"
