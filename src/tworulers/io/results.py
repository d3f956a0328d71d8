"""The tables that more than one stage reads, checked against their contracts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tworulers.io.paths import Layout
from tworulers.io.records import read_table

if TYPE_CHECKING:
    import pandas as pd


def read_cohort(layout: Layout) -> pd.DataFrame:
    """Read the table of exams, one row each, as the stage `cohort` wrote it."""
    from tworulers.schema.table_models import Cohort

    return read_table(layout.cohort_table, "cohort", Cohort)


def read_splits(layout: Layout) -> pd.DataFrame:
    """Read which exams each regime trains, validates and tests on, as the stage `split` wrote it."""
    from tworulers.schema.table_models import Splits

    return read_table(layout.split_table, "split", Splits)


def read_scores(layout: Layout, regime: str, ruler: str) -> pd.DataFrame:
    """Read the scores of a regime under a ruler, exam x structure x metric, as the stage `score` wrote them."""
    from tworulers.schema.table_models import Scores

    return read_table(layout.score_table(regime, ruler), "score", Scores)


def read_confidences(layout: Layout, regimes: Iterable[str]) -> dict[str, pd.DataFrame]:
    """Read how sure the networks of each regime were of every exam, where the stage `predict` wrote it."""
    paths = {regime: layout.confidence(regime) for regime in regimes}
    return {regime: read_table(path, "predict") for regime, path in paths.items() if path.is_file()}
