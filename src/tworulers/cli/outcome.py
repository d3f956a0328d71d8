"""What a stage found, for other programs: one JSON object, and an exit status that a check can wait for."""

import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from tworulers.cli.arguments import Typed
from tworulers.progress import QUIET

FOUND = 3
"""The exit status of what `--fail-on` waits for; 1 is a refusal, 2 a command that was not understood."""


def tell_status(call: Callable[[], None]) -> int:
    """Run a stage and return its exit status."""
    try:
        call()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


def answer(name: str, typed: Typed, call: Callable[[], None]) -> int:
    """Run a stage, silently where that is asked for, and answer with an object or with the status alone."""
    from tworulers.runner.outcome import forget

    forget()
    if typed.json or typed.quiet:
        os.environ[QUIET] = "1"
        with redirect_stdout(io.StringIO()):
            status = tell_status(call)
    else:
        status = tell_status(call)
    found = gather(name)
    met = [word for word in typed.fail_on if status == 0 and found["found"][word]]
    status = FOUND if met else status
    if typed.json:
        print(
            json.dumps(
                {**found, "failed_on": met, "exit_status": status}, indent=2, allow_nan=False
            )
        )
    elif met:
        print(f"--fail-on {','.join(met)}: found; exit status {FOUND}", file=sys.stderr)
    return status


def gather(name: str) -> dict[str, Any]:
    """Gather what the stages of this process left behind.

    Returns
    -------
    `audits` (by model and reference: the four answers, and by grouping), `comparisons` (what changed), `risks`,
    `found` (whether groups differ, cannot be told apart or not, or change with the ruler), `sentences`, `paths`.
    """
    from tworulers.runner.outcome import ERRORS, OUTCOMES, SENTENCES
    from tworulers.runner.tracking.record import list_results, read_record

    audits, comparisons, risks, pages = [], [], [], []
    for one in OUTCOMES:
        for folder in list_results(one.folder):
            record = read_record(folder)
            path = str(folder)
            if record.stage == "audit" and (folder / "groupings.parquet").is_file():
                audits.append({**_read_audit(folder, record.tags), "path": path})
            elif record.stage == "compare" and (folder / "summary.json").is_file():
                comparisons.append({**_read_comparison(folder), "path": path})
            elif record.stage == "risk":
                risks.append({**_read_risk(folder), "path": path})
        pages += [str(page) for page in sorted(one.folder.glob("**/index.html"))]
    return {
        "command": name,
        "found": _find(audits, comparisons, risks),
        "sentences": list(SENTENCES),
        "audits": audits,
        "comparisons": comparisons,
        "risks": risks,
        "paths": {"results": [str(one.folder) for one in OUTCOMES], "pages": pages},
        "errors": list(ERRORS),
    }


def _read_audit(folder: Path, tags: Mapping[str, str]) -> dict[str, Any]:
    import pandas as pd

    from tworulers.battery.overview import keep_stated
    from tworulers.battery.within import ANSWERS

    summary = json.loads((folder / "summary.json").read_text())
    table = keep_stated(pd.read_parquet(folder / "groupings.parquet"))
    rows = [
        {
            "grouping": row["grouping"],
            "title": row["title"],
            "exams": int(row["n"]),
            "left_out": int(row["n_left_out"]),
            "smallest_adjusted_p": _finite(row["smallest_p_fdr"]),
            "answers": {name: int(row[name]) for name in ANSWERS},
        }
        for row in table.to_dict("records")
    ]
    return {
        "model": tags.get("regime"),
        "reference": tags.get("ruler"),
        "provenance": str(summary["provenance"]),
        "judged": "identical" not in tags,
        "exams": summary["n_exams"],
        "patients": summary["n_patients"],
        "answers": summary["answers"],
        "groupings": rows,
    }


def _read_comparison(folder: Path) -> dict[str, Any]:
    summary = json.loads((folder / "summary.json").read_text())
    told = (
        *("regime", "base_ruler", "other_ruler", "base_provenance", "other_provenance", "status"),
        *("base_regime", "other_regime", "ruler", "provenance"),
        *("flips", "tests_changed", "verdicts", "mechanisms", "gap_changes", "differences"),
    )
    return {key: summary[key] for key in told if key in summary}


def _read_risk(folder: Path) -> dict[str, Any]:
    summary = json.loads((folder / "summary.json").read_text())
    return {key: summary[key] for key in ("use", "overall", "tests", "sentences")}


def _find(
    audits: Sequence[Mapping[str, Any]],
    comparisons: Sequence[Mapping[str, Any]],
    risks: Sequence[Mapping[str, Any]],
) -> dict[str, bool]:
    """Tell what the best labels there are answer of the patients, and whether anything changed with the ruler."""
    from tworulers.report.words.two_sentences import WHOSE

    order = list(WHOSE)
    judged = [one for one in audits if one["judged"]]
    best = min((order.index(one["provenance"]) for one in judged), default=None)
    asked = [
        row["answers"]
        for one in judged
        if order.index(one["provenance"]) == best
        for row in one["groupings"]
    ]
    differs = any(row["differs"] for row in asked)
    tests = [test for one in risks for test in one["tests"] if test["family"] == "groupings"]
    differs |= any(test["p_fdr"] is not None and test["p_fdr"] < 0.05 for test in tests)
    if not judged:
        differs |= any(_differs_in(one, order) for one in comparisons)
    changed = [part for one in comparisons for part in one.get("tests_changed", {}).values()]
    return {
        "differs": differs,
        "cannot_say": any(row["cannot_say"] and not row["differs"] for row in asked),
        "changed": any(part["changed"] for part in changed),
    }


def _differs_in(comparison: Mapping[str, Any], order: Sequence[str]) -> bool:
    """Tell whether the better labels of a comparison find a difference."""
    base, other = (comparison.get(f"{side}_provenance") for side in ("base", "other"))
    first = base is None or other is None or order.index(base) <= order.index(other)
    names = ("both", "base_only" if first else "other_only")
    return any(part.get(name, 0) for part in comparison["flips"].values() for name in names)


def _finite(value: float) -> float | None:
    return None if value != value else float(value)
