"""The folds that came with data: a `splits_final.json` as nnU-Net writes it."""

import json
from pathlib import Path
from typing import Any

from tworulers.ingest.faults import Fault, FaultKind, refuse


def read_fold_file(path: Path) -> list[dict[str, list[str]]]:
    """Read the folds of a ``splits_final.json``: a list of ``{"train": [...], "val": [...]}``.

    Raises
    ------
    IngestError : no such file, or not of that form.
    """
    shape = 'a list of {"train": [exam ids], "val": [exam ids]}'
    if not path.is_file():
        refuse(Fault(FaultKind.LEAKAGE, shape, "no such file", "give split.file", file=str(path)))
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        content = f"no JSON ({error})"
    sound = isinstance(content, list) and all(
        isinstance(fold, dict)
        and isinstance(fold.get("train"), list)
        and isinstance(fold.get("val"), list)
        for fold in content
    )
    if not sound or not content:
        refuse(
            Fault(FaultKind.LEAKAGE, shape, str(content)[:80], "correct the file", file=str(path))
        )
    return [
        {side: [str(exam) for exam in fold[side]] for side in ("train", "val")} for fold in content
    ]
