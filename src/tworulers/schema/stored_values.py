"""The values of a file that stand for a name, as somebody wrote them in settings."""

from collections.abc import Iterable, Mapping
from typing import Any


def write_values(values: Mapping[str, Iterable[Any]]) -> dict[str, list[str]]:
    """Write the values that stand for a name as texts, so that `[7]` says what `["7"]` does."""
    return {name: [str(value) for value in of] for name, of in values.items()}
