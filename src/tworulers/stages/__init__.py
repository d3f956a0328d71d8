"""One module a stage of the line, each runnable alone."""

import sys
from types import TracebackType


def _end_in_a_line(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Say in one line that a command was interrupted while it was loaded, which begins nothing."""
    if issubclass(kind, KeyboardInterrupt):
        print("\ninterrupted before anything was begun", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


if sys.argv[0] == "-m" or sys.argv[0].rpartition("/")[2].startswith("tworulers"):
    sys.excepthook = _end_in_a_line
