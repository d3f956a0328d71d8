"""Write docs/benchmarks.md from the rows that benchmarks have kept.

    benchmarks/run score --keep rows.jsonl
    benchmarks/run document rows.jsonl

The newest row of each name goes into docs/benchmarks.json, and the page is written from that; without a file of rows
the page alone is written anew.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from _aims import LEVEL, ROWS, Aim, Planned
from _rows import Machine, Row, read_rows, take_row, tell_spread

DOCS = Path(__file__).resolve().parents[1] / "docs"
HEAD = """# Benchmarks

What this package costs, beside what others cost for the same. `benchmarks/run document` writes this page from rows
that the other benchmarks measured (`--keep`); `docs/benchmarks.json` holds them. Both sides run in turns on one
machine, one thread a process, and their results are compared first.

A ratio is the peer's time over ours, taken within each repeat: above 1, ours is faster. Numbers are medians, with the
lowest and highest repeat in brackets. Times are processor seconds (user and system) where they do not say wall.
"Level" is reached from a ratio of .95 on. Peaks are those of the largest process. The machine did other work
meanwhile, so ratios are to be trusted more than seconds.
"""


def write_page(measured: Mapping[str, Row]) -> str:
    """Write the page: a table a part, what each row compared, and how to run it again."""
    machines = list(dict.fromkeys(row.machine for row in measured.values()))
    letters = {machine: chr(ord("A") + place) for place, machine in enumerate(machines)}
    said = [HEAD]
    for part in dict.fromkeys(planned.part for planned in ROWS.values()):
        said.append(f"## {part}\n")
        said.append(
            "| what | peer | ours | peer's | ratio | aim | reached | peak, ours / peer's | bound by | machine |"
        )
        said.append("|---|---|---|---|---|---|---|---|---|---|")
        for name, planned in ROWS.items():
            if planned.part == part:
                said.append(_write_row(planned, measured.get(name), letters))
        said.append("")
    said.append("## What agreed, and the commands\n")
    for name, planned in ROWS.items():
        if name in measured:
            row = measured[name]
            said.append(
                f"- {planned.title}: `{row.command}`. {row.agreed or 'Nothing to agree with.'}"
            )
    said.append("\n## Machines\n")
    said += [f"- {letter}: {machine.tell()}" for machine, letter in letters.items()]
    return "\n".join(said) + "\n"


def _write_row(planned: Planned, row: Row | None, letters: Mapping[Machine, str]) -> str:
    cells = [planned.title, planned.peer or "-"]
    if row is None:
        cells += [
            "not measured",
            "-",
            "-",
            planned.aim.tell() or "-",
            "-",
            "-",
            planned.bound_by,
            "-",
        ]
    else:
        peaks = [row.peak_mb, row.peer_peak_mb][: 1 + bool(row.peer)]
        cells += [
            f"{tell_spread(row.ours)} {row.unit}",
            tell_spread(row.peer) if row.peer else "-",
            tell_spread(row.ratios) if row.peer else "-",
            planned.aim.tell() or "-",
            _tell_reached(row, planned.aim),
            " / ".join("-" if peak is None else f"{peak:.0f}" for peak in peaks) + " MB",
            planned.bound_by,
            letters[row.machine],
        ]
    return f"| {' | '.join(cells)} |"


def _tell_reached(row: Row, aim: Aim) -> str:
    if aim == Aim():
        return "-"
    return "yes" if reaches(row, aim) else "no"


def reaches(row: Row, aim: Aim) -> bool:
    """Tell whether the median of a row reaches its aim; a part of it that was not measured is not reached."""
    held = []
    if aim.ratio is not None:
        least = LEVEL if aim.ratio == 1 else aim.ratio
        held.append(bool(row.peer) and _median(row.ratios) >= least)
    if aim.seconds is not None:
        held.append(_median(row.ours) <= aim.seconds)
    if aim.peak_mb is not None:
        held.append(row.peak_mb is not None and row.peak_mb <= aim.peak_mb)
    if aim.peak_of_peer:
        both = row.peak_mb is not None and row.peer_peak_mb is not None
        held.append(both and row.peak_mb <= row.peer_peak_mb)
    return all(held)


def _median(values: list[float] | tuple[float, ...]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return (ordered[middle] + ordered[~middle]) / 2


def load_measured(path: Path) -> dict[str, Row]:
    """Read the newest row of each name."""
    told = json.loads(path.read_text()) if path.is_file() else []
    return {row["row"]: take_row(row) for row in told}


def main() -> None:
    """Take the rows in, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=Path, nargs="*", help="files of rows, the newest last")
    kept = DOCS / "benchmarks.json"
    measured = load_measured(kept)
    for file in parser.parse_args().rows:
        measured |= {row.row: row for row in read_rows(file)}
    if unknown := sorted(set(measured) - set(ROWS)):
        raise SystemExit(f"rows that benchmarks/_aims.py does not name: {unknown}")
    ordered = {name: measured[name] for name in ROWS if name in measured}
    kept.write_text(json.dumps([asdict(row) for row in ordered.values()], indent=1) + "\n")
    (DOCS / "benchmarks.md").write_text(write_page(ordered))


if __name__ == "__main__":
    main()
