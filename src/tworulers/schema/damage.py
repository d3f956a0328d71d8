"""Files of ours that cannot be read any more: each is named, with the command that makes it again."""

import pickle
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading a file may end in that was cut short, emptied, or had bytes changed."""


class DamagedError(ValueError):
    """A file of ours is damaged; the message names it, and the command that makes it again."""


def made_by(stage: str) -> str:
    """Say which command makes an input, for the message about one that is missing or damaged."""
    return f"`python -m tworulers.stages.{stage}` (or `dvc repro`)"


@contextmanager
def reading(path: Path, maker: str, exam: str = "") -> Iterator[None]:
    """Read a file within; whatever goes wrong is told as damage of that file.

    Parameters
    ----------
    path : the file.
    maker : the stage that makes it.
    exam : whose file it is, of a file an exam.

    Raises
    ------
    DamagedError : it cannot be read; its absence stays what it is, and so does a lack of memory.
    """
    try:
        yield
    except (FileNotFoundError, DamagedError):
        raise
    except DAMAGE as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DamagedError(
            f"{f'exam {exam}: ' if exam else ''}{path} is damaged ({reason}); make it again with {made_by(maker)}"
        ) from error
