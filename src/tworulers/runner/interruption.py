"""What a command says when it is interrupted: in one line how to go on, and no traceback."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALLED = 128
"""What an exit status is above, by the custom of shells, when a signal ended the command."""


class TerminatedError(KeyboardInterrupt):
    """The command was asked to end from outside, as a scheduler does; treated like Ctrl-C."""


@contextmanager
def telling_interruption() -> Iterator[None]:
    """Turn Ctrl-C and a request to end into one line for a person, and an exit status."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, _end) if main else None
    try:
        yield
    except KeyboardInterrupt as error:
        number = signal.SIGTERM if isinstance(error, TerminatedError) else signal.SIGINT
        kept = " ".join(getattr(error, "__notes__", []))
        told = kept or "results that were there stand as they were; the same command begins again"
        print(f"\ninterrupted: {told}", file=sys.stderr, flush=True)
        sys.exit(SIGNALLED + number)
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


def _end(*_: Any) -> None:
    raise TerminatedError
