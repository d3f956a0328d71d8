"""Scores on disk: one table, what has to be told of it, and scores of exams that no audit reads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tworulers.io.records import folder_written_beside, write_json, write_table
from tworulers.schema.result_files import BEYOND, SCORES, SUMMARY


def write_scores(
    result: Path, scores: pd.DataFrame, facts: Mapping[str, Any], beyond: pd.DataFrame | None = None
) -> None:
    """Write scores, what has to be told of them, and the scores of exams beyond them, if any."""
    with folder_written_beside(result) as folder:
        write_table(scores, folder / SCORES)
        if beyond is not None:
            write_table(beyond, folder / BEYOND)
        write_json(facts, folder / SUMMARY)
