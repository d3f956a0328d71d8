"""Who may read what a stage writes."""

import os

MASKS = {"owner": 0o077, "group": 0o027, "all": 0o022}


def limit_readers(readable_by: str) -> None:
    """Let everything this process writes from now on be read by its owner alone, unless more is asked for.

    Raises
    ------
    ValueError : `readable_by` is none of `owner`, `group`, `all`.
    """
    if readable_by not in MASKS:
        raise ValueError(f"paths.readable_by={readable_by}: expected one of {', '.join(MASKS)}")
    os.umask(MASKS[readable_by])
