"""Which processor made a result: another one rounds otherwise, and a network that trains carries every rounding on."""

import json
import platform
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tworulers.runner.verify.unequal import Unequal
from tworulers.schema.result_files import SCORES

PROCESSOR = "processor"
"""The key of a record under which it names the processor of the result that it was made of."""

HELD = ("overall.parquet", SCORES)
"""Tables of means over all exams: small groups and words move further from one processor to the next."""

POINTS = 0.03
"""Tolerance of such means up to 1; the example of two kinds of processor differed by .0008 (Dice) and .016 mm."""


def name_processor(described: Path = Path("/proc/cpuinfo")) -> str:
    """Name this machine's kind of processor: vendor, family and model where the system tells them."""
    try:
        lines = [line.partition(":") for line in described.read_text().splitlines()]
    except OSError:
        lines = []
    told = {name.strip(): value.strip() for name, _, value in reversed(lines)}
    known = [told[name] for name in ("vendor_id", "cpu family", "model") if name in told]
    return " ".join(known or [platform.machine(), platform.processor()]).strip()


def read_processor(record: Path) -> str:
    """Read which processor a record is of; nothing where it does not say, or is none."""
    try:
        content = json.loads(record.read_text(encoding="utf-8"))
    except ValueError:
        return ""
    return str(content.get(PROCESSOR, "")) if isinstance(content, dict) else ""


def hold_across(found: Iterable[Unequal]) -> list[Unequal]:
    """Hold differences between processors in means over all exams, and missing tables; list all others as near."""
    return [
        one if not one.column or one.table.rpartition("/")[2] in HELD else replace(one, near=True)
        for one in found
    ]
