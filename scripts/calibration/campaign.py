"""Measure error rates of tests, intervals and verdicts by simulation, and write docs/calibration.md.

Topics whose code has not changed since they were measured are kept; `--all` measures every one anew.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

from calibration.digest import ROOT, digest_topic
from calibration.page import count_broken, write_page
from calibration.topics import list_topics
from tworulers.stats.draw import named_stream

RECORD = ROOT / "docs" / "calibration.json"
PAGE = ROOT / "docs" / "calibration.md"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/campaign calibration", description=__doc__)
    parser.add_argument("--all", action="store_true", help="measure every topic anew")
    parser.add_argument("--topics", nargs="+", default=[], help="measure these alone")
    parser.add_argument("--studies", type=int, help="studies a cell, instead of each topic's own")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--page", type=Path, default=PAGE)
    asked = parser.parse_args(arguments)
    known = list_topics()
    if unknown := sorted(set(asked.topics) - set(known)):
        parser.error(f"no topic {', '.join(unknown)}; there are {', '.join(known)}")
    kept = read_record(asked.record)
    stale = [
        name
        for name in known
        if (name in asked.topics if asked.topics else asked.all or not is_current(name, kept))
    ]
    with ProcessPoolExecutor(max(1, min(asked.processes, len(stale)))) as pool:
        running = {
            pool.submit(measure_topic, name, asked.studies, asked.seed): name for name in stale
        }
        for done in as_completed(running):
            name = running[done]
            kept[name] = done.result()
            print(f"{name}: {tell(kept[name])}", file=sys.stderr, flush=True)
    kept = {name: kept[name] for name in known if name in kept}
    replace(asked.record, json.dumps(kept, indent=1, allow_nan=False) + "\n")
    replace(asked.page, write_page(known, kept))
    broken = sum(map(count_broken, kept.values()))
    print(f"{asked.page}: {len(kept)} topics, {broken} rows beyond their bound")
    return 1 if broken else 0


def tell(measured: Mapping[str, Any]) -> str:
    """Say how long a topic took and how many of its rows do not hold."""
    rows, seconds = len(measured["rows"]), measured["cpu_seconds"]
    return f"{seconds} s, {rows} rows, {count_broken(measured)} beyond their bound"


def measure_topic(name: str, studies: int | None, seed: int) -> dict[str, Any]:
    """Measure one topic; what is not finite is left out of its rows."""
    topic = list_topics()[name]
    started, used = time.process_time(), studies or topic.studies
    rows = topic.measure(used, named_stream(seed, name))
    return {
        "digest": digest_topic(topic),
        "studies": used,
        "seed": seed,
        "cpu_seconds": round(time.process_time() - started),
        "rows": [
            {key: value for key, value in asdict(row).items() if value == value} for row in rows
        ],
    }


def read_record(path: Path) -> dict[str, Any]:
    """Read what was measured before; nothing where there is no record."""
    found: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return found


def is_current(name: str, record: Mapping[str, Any]) -> bool:
    """Tell whether a topic was measured on the code as it is."""
    return name in record and record[name]["digest"] == digest_topic(list_topics()[name])


def replace(path: Path, text: str) -> None:
    """Write a file beside its place and rename it into it."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


if __name__ == "__main__":
    sys.exit(main())
