"""What came out of every run of a sweep, as one table: on the terminal, and as `summary.csv` in the sweep's folder."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from tworulers.report.tables import Table, make_table, write_number
from tworulers.report.words.read_facts import read_changed, tell_change
from tworulers.runner.sweeps.asked import Asked
from tworulers.runner.sweeps.ended import DONE, Ended
from tworulers.runner.tracking.record import RECORD, RunRecord, read_record
from tworulers.schema.result_files import SUMMARY

ANSWERS = ("differs", "differs_within_margin", "within_margin", "cannot_say")
SHORT = ("differs", "but within margin", "within margin", "cannot say")
MEANS = ("dice/macro/mean", "validation/dice/macro")
"""The metrics that say best how good a result is; else the first mean that there is."""

UNKNOWN = float("nan")


@dataclass(frozen=True)
class Row:
    """What one run came to: of a run that compared, a row for each comparison of rulers.

    `mean` is of the metric `mean_of`, `answers` the number of tests by each of the four answers, both by `ruler`, and
    with `_other` by `other_ruler`. `ruler_is` says how near the other ruler is to the model, `flips` how many
    conclusions it moved, `shown` of how many a mechanism is shown, and `verdict` all of that in a sentence.
    """

    run: int
    overrides: str
    status: str
    regime: str = ""
    ruler: str = ""
    other_ruler: str = ""
    mean_of: str = ""
    mean: float = UNKNOWN
    mean_other: float = UNKNOWN
    answers: tuple[float, ...] = ()
    answers_other: tuple[float, ...] = ()
    ruler_is: str = ""
    flips: float = UNKNOWN
    shown: float = UNKNOWN
    verdict: str = ""
    path: str = ""
    error: str = ""


def list_rows(asked: Asked, runs: Sequence[Ended], root: Path) -> list[Row]:
    """List what the runs of a sweep came to, those that failed with their reason."""
    return [
        row
        for ended in runs
        for row in _list_of_run(
            Row(
                ended.number,
                asked.tell(ended.number),
                ended.status,
                path=ended.result,
                error=ended.error,
            ),
            root / ended.result if ended.result else None,
            root / ended.home,
        )
    ]


def _list_of_run(row: Row, result: Path | None, home: Path) -> Iterator[Row]:
    if result is None or not (result / RECORD).is_file():
        yield row
        return
    record = read_record(result)
    compared = []
    if record.stage in ("compare", "report"):
        compared = sorted((home / "comparisons" / "rulers").glob(f"*/*/{SUMMARY}"))
    for path in compared:
        yield _read_compared(row, json.loads(path.read_text()), home / "audits")
    if not compared:
        mean_of, mean = _find_mean(record)
        yield Row(
            **_keep(row),
            regime=str(record.tags.get("regime", "")),
            ruler=str(record.tags.get("ruler", "")),
            mean_of=mean_of,
            mean=mean,
            answers=_find_answers(record),
            path=row.path,
        )


def _read_compared(row: Row, summary: Mapping[str, Any], audits: Path) -> Row:
    """Tell what another ruler did to the audit of a model."""
    regime, base, other = (str(summary[name]) for name in ("regime", "base_ruler", "other_ruler"))
    mine, theirs = (_read_audit(audits / regime / ruler) for ruler in (base, other))
    changed = read_changed(summary)
    mean_of, mean = _find_mean(mine)
    return Row(
        **_keep(row),
        regime=regime,
        ruler=base,
        other_ruler=other,
        mean_of=mean_of,
        mean=mean,
        mean_other=_find_mean(theirs)[1],
        answers=_find_answers(mine),
        answers_other=_find_answers(theirs),
        ruler_is=str(summary["status"]).replace("_", " "),
        flips=sum(changed.flips.values()),
        shown=changed.shown,
        verdict=tell_change(summary),
        path=row.path,
    )


def _keep(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("run", "overrides", "status")}


def _read_audit(folder: Path) -> RunRecord | None:
    return read_record(folder) if (folder / RECORD).is_file() else None


def _find_mean(record: RunRecord | None) -> tuple[str, float]:
    metrics = {} if record is None else record.metrics
    names = [*MEANS, *(name for name in metrics if name.endswith("/mean"))]
    name = next((name for name in names if name in metrics), "")
    return name, metrics.get(name, UNKNOWN)


def _find_answers(record: RunRecord | None) -> tuple[float, ...]:
    found = () if record is None else tuple(record.metrics.get(f"answers/{a}") for a in ANSWERS)
    return tuple(n for n in found if n is not None)


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write every row with all of its columns, the answers one a column."""
    cells = []
    for row in rows:
        content: dict[str, Any] = asdict(row)
        for name in ("answers", "answers_other"):
            counted = content.pop(name)
            suffix = name.removeprefix("answers")
            content |= {
                f"{a}{suffix}": counted[n] if counted else None for n, a in enumerate(ANSWERS)
            }
        cells.append(content)
    names = [field.name for field in fields(Row)]
    frame = pd.DataFrame(cells)
    order = [name for name in names if name in frame]
    last = order.index("ruler_is")
    counts = [name for name in frame if name not in names]
    frame[[*order[:last], *counts, *order[last:]]].to_csv(path, index=False)


def tabulate(rows: Sequence[Row], place: str) -> Table:
    """Tabulate a sweep for a terminal; columns that say nothing are left out.

    Parameters
    ----------
    rows : of all runs.
    place : the sweep's folder, seen from the project.
    """
    measured = {row.mean_of.removesuffix("/mean") for row in rows if row.mean_of}
    mean = f"mean {measured.pop()}" if len(measured) == 1 else "mean"
    cells = {
        "run": [str(row.run) for row in rows],
        "choices": [row.overrides for row in rows],
        "status": [row.status for row in rows],
        "of": [_name_sides(row) for row in rows],
        mean: [_write_mean(row, len(measured) > 1) for row in rows],
        "answers": [_write_answers(row) for row in rows],
        "other ruler": [_write_ruler(row) for row in rows],
    }
    shown = {name: column for name, column in cells.items() if any(column)}
    done = len({row.run for row in rows if row.status == DONE})
    caption = f"{place}: {done} of {len({row.run for row in rows})} runs are done"
    if "answers" in shown:
        caption += f". Answers: {' · '.join(SHORT)}"
    if "other ruler" in shown:
        caption += (
            ". Of the other ruler: conclusions that it moved, and of how many a mechanism is shown"
        )
    return make_table(caption, tuple(shown), list(zip(*shown.values(), strict=True)))


def list_places(rows: Sequence[Row], place: str) -> list[str]:
    """Say of each run why it failed, or where its result lies if that is not below the sweep's folder by its number."""
    told = {}
    for row in rows:
        elsewhere = "" if Path(row.path).is_relative_to(place) else row.path
        if said := row.error or elsewhere:
            told[row.run] = f"run {row.run}, {row.overrides}: {said}"
    return list(told.values())


def _name_sides(row: Row) -> str:
    rulers = ", ".join(filter(None, (row.ruler, row.other_ruler)))
    return f"{row.regime} by {rulers}" if rulers else row.regime


def _write_mean(row: Row, named: bool) -> str:
    known = [write_number(value) for value in (row.mean, row.mean_other) if value == value]
    return " ".join([*([row.mean_of] if named and known else []), " → ".join(known)])


def _write_answers(row: Row) -> str:
    told = [
        f"{ruler} {'·'.join(f'{n:g}' for n in counts)}"
        for ruler, counts in ((row.ruler, row.answers), (row.other_ruler, row.answers_other))
        if counts
    ]
    return ", ".join(told)


def _write_ruler(row: Row) -> str:
    if not row.ruler_is:
        return ""
    return f"{row.ruler_is}; {row.flips:g} moved, {row.shown:g} shown"
