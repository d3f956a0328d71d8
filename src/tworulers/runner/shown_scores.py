"""What a command says of finished scores."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tworulers.ingest.scoring import pick_metrics
from tworulers.metrics.macro import count_partial, tell_partial
from tworulers.metrics.means import count_successes, summarise_scores
from tworulers.progress import say
from tworulers.runner.console import show_table
from tworulers.schema.settings import MACRO, Audit
from tworulers.schema.tables import list_rows


def show_scores(title: str, scores: pd.DataFrame, audit: Audit, facts: Mapping[str, Any]) -> None:
    """Print the means of the scores over all exams, and what has to be told of them."""
    asked = pick_metrics(audit)
    means = list_rows(summarise_scores(scores, asked).reset_index(names=["metric", "structure"]))
    rows, partial = [], count_partial(scores)
    for row in means:
        successes = count_successes(scores, asked[row["metric"]], row["structure"], audit)
        numbers = [f"{row[name]:.4f}" for name in ("mean", "median", "sd")]
        fewer = partial.get(row["metric"], 0) if row["structure"] == MACRO else 0
        over = ", ".join(
            filter(
                None, (f"{row['count']} of {row['size']}", tell_partial(fewer, int(row["size"])))
            )
        )
        rows.append((row["metric"], row["structure"], *numbers, over, successes))
    heads = ("metric", "structure", "mean", "median", "SD", "over", "successes")
    show_table(title, heads, rows)
    if "ndsc_reference" in facts:
        averages = facts["ndsc_reference"]["averages"]
        shown = ", ".join(f"{name} {value:.6g}" for name, value in averages.items())
        say(f"nDSC is normalised to the reference {facts['ndsc_reference']['reading']}: {shown}")
