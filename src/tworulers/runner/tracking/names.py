"""Names that MLflow takes: any text becomes one, and two texts never meet in one."""

import hashlib
import re
from collections.abc import Mapping
from typing import TypeVar

Value = TypeVar("Value")

GROUP_SIGNS = {
    "<=": "le",
    ">=": "ge",
    "<": "lt",
    ">": "gt",
    "+": "plus",
    "%": "pct",
    "&": "and",
    "/": "_or_",
}
ALLOWED = re.compile(r"[^\w\-. :/]", re.UNICODE)
LONGEST = 250
"""How many characters MLflow takes in a name."""


def slug(text: str) -> str:
    """Write any text so that MLflow takes it in a metric name: `<40` becomes `lt40`, brackets become underscores."""
    for sign, word in GROUP_SIGNS.items():
        text = text.replace(sign, word)
    return re.sub(r"\.\.+|//+", "_", ALLOWED.sub("_", text)).strip("/").replace(" ", "_") or "_"


def name_metrics(metrics: Mapping[str, Value]) -> dict[str, Value]:
    """Give every metric, series, parameter or tag a name that MLflow accepts.

    Names are `metric/structure/grouping/quantity`. Names that would meet in one, and names of more than 250
    characters, get a short hash of the original.
    """
    names = list(metrics)
    plain = {
        name: "/".join(slug(part) for part in name.split("/") if part) or "_" for name in names
    }
    taken: dict[str, list[str]] = {}
    for name in names:
        taken.setdefault(plain[name].casefold(), []).append(name)
    named = {}
    for name in names:
        short = plain[name]
        if (len(taken[short.casefold()]) > 1 and short != name) or len(short) > LONGEST:
            short = f"{short[: LONGEST - 10]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        named[short] = metrics[name]
    return named
