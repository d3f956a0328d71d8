"""Tables that carry a digest of themselves, so that a changed byte anywhere is seen.

It lies between the pages and the footer of a Parquet file, where readers, which go by the footer's places, never look.
"""

import hashlib
from pathlib import Path

MARK = b"two rulers seal:"
SIZE = 16
MAGIC = b"PAR1"
TAIL = 8
"""Bytes after the footer: its length, and the magic."""


def seal(path: Path) -> None:
    """Put the digest of a Parquet file into it."""
    content = path.read_bytes()
    place = _find_footer(content)
    path.write_bytes(content[:place] + MARK + _digest(content) + content[place:])


def require_seal(content: bytes) -> None:
    """Compare a Parquet file with the digest that it carries; one that carries none is let through.

    Raises
    ------
    ValueError : it is cut short, or bytes of it have changed.
    """
    place = _find_footer(content)
    start = place - SIZE - len(MARK)
    if content[start : place - SIZE] != MARK:
        return
    if content[place - SIZE : place] != _digest(content[:start] + content[place:]):
        raise ValueError("it holds other bytes than were written")


def _find_footer(content: bytes) -> int:
    if len(content) < TAIL or content[:4] != MAGIC or content[-4:] != MAGIC:
        raise ValueError("it is cut short, or no Parquet file")
    place = len(content) - TAIL - int.from_bytes(content[-TAIL:-4], "little")
    if place < len(MAGIC):
        raise ValueError("its footer is longer than the file")
    return place


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=SIZE).digest()
