"""Weights and checkpoints read whole or not at all: torch does not compare the checksums that it writes."""

import zipfile
from pathlib import Path
from typing import Any

import torch

from tworulers.schema.damage import reading


def load_archive(path: Path) -> Any:
    """Read a file that torch wrote while training, without running code from it.

    Raises
    ------
    DamagedError
        The file is cut short, or bytes of it have changed.
    """
    with reading(path, "train"):
        require_whole(path)
        return torch.load(path, map_location="cpu", weights_only=True)


def require_whole(path: Path) -> None:
    """Compare the checksum of every part of a file of torch's.

    Raises
    ------
    ValueError
        A part holds other bytes than were written; or as `zipfile` raises.
    """
    with zipfile.ZipFile(path) as archive:
        broken = archive.testzip()
    if broken is not None:
        raise ValueError(f"part {broken} holds other bytes than were written")
