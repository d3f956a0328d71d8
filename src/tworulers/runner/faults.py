"""What ends a command in one message, and how that message reads."""

import sys
from concurrent.futures.process import BrokenProcessPool

from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from tworulers.runner.outcome import ERRORS
from tworulers.schema.file_names import escape_controls

STOPPING = (
    ValueError,
    OSError,
    MemoryError,
    RecursionError,
    BrokenProcessPool,
    OmegaConfBaseException,
)
"""What ends a stage in one message: faults of input and configuration, and what asks for too much."""


def say_error(error: Exception) -> None:
    """Print an error as one message for a person."""
    text = escape_controls(explain_error(error))
    ERRORS.append(text)
    print(f"error: {text}", file=sys.stderr, flush=True)


def explain_error(error: Exception) -> str:
    """Say what went wrong, for a person."""
    if isinstance(error, MemoryError):
        return f"memory ran out: {str(error) or 'no more could be taken'}; give smaller files or a larger machine"
    if isinstance(error, RecursionError):
        return f"a file or setting is nested too deeply: {error}"
    if isinstance(error, BrokenProcessPool):
        return "a worker process was ended, most often for want of memory; give processes=1"
    if isinstance(error, MissingMandatoryValue):
        return f"{error.full_key} is not set; give it on the command line as {error.full_key}=..."
    return str(error).split("\n    full_key:")[0]
