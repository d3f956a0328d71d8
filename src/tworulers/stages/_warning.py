"""Whether the model's own confidence would have warned of its failed exams, as far as a ruler calls them failed."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from tworulers.io.paths import Layout
from tworulers.io.records import write_json, write_table
from tworulers.schema import MACRO, METRICS, Audit
from tworulers.stats.failure_warning import FailureRule, audit_warning

UNCERTAINTIES: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    "confidence": lambda table: 1 - table["mean_top_probability"],
    "entropy": lambda table: table["mean_entropy"],
    "disagreement": lambda table: table["disagreement"],
}
"""What may make an exam look suspect, computed without any reference; higher is more suspect."""


def write_warning(
    scores: pd.DataFrame,
    groups: pd.DataFrame,
    patients: pd.Series,
    provenance: str,
    settings: Audit,
    layout: Layout,
    folder: Path,
) -> dict[str, float]:
    """Write how well each uncertainty warns of failures in every group, and return its main numbers.

    A failure is an exam whose macro Dice does not exceed the threshold in the eyes of this ruler. Where a group has
    fewer than five, the worst `quantile` of the whole set fail instead, and the tables say so.

    Parameters
    ----------
    scores : a scores table of one regime and ruler.
    groups : indexed by exam_id, one ordered categorical column a grouping.
    patients : patient_id, indexed by exam_id.
    provenance : whose labels call an exam failed.
    settings : threshold and confidence level.
    layout : where the confidences of the regime's predictions lie; without them nothing is written.
    folder : where ``warning_cells``, ``warning_metrics``, ``warning_tests``, ``warning_concordance`` (Parquet) and
        ``warning.json`` go.
    """
    path = layout.confidence(str(scores["regime"].iloc[0]))
    dice = scores[(scores["structure"] == MACRO) & (scores["metric"] == "dice")].set_index(
        "exam_id"
    )["value"]
    if not path.is_file() or dice.empty or groups.empty:
        return {}
    suspect = pd.read_parquet(path).set_index("exam_id").reindex(dice.index)
    rule = FailureRule(
        metric="macro Dice",
        higher_is_better=METRICS["dice"].higher_is_better,
        threshold=settings.thresholds["dice"],
        quantile=settings.failure_quantile,
        min_events=settings.min_group,
        provenance=provenance,
    )
    tables: dict[str, list[pd.DataFrame]] = {
        name: [] for name in ("cells", "metrics", "tests", "concordance")
    }
    numbers: dict[str, float] = {}
    sentences: dict[str, list[str]] = {}
    for name, measure in UNCERTAINTIES.items():
        uncertainty = measure(suspect)
        if uncertainty.isna().all():
            sentences[name] = [f"{name} is undefined for every exam"]
            continue
        columns = {str(grouping): groups[grouping].reindex(dice.index) for grouping in groups}
        found = audit_warning(
            uncertainty.to_numpy(),
            dice.to_numpy(),
            columns,
            rule,
            level=1 - settings.alpha,
            patient=patients.reindex(dice.index).to_numpy(),
        )
        for table, rows in tables.items():
            rows.append(getattr(found, table).assign(uncertainty=name))
        numbers[f"warning/{name}/auc"] = found.overall.value
        everyone = found.concordance.query("worse_of == 'all'")["concordance"].iloc[0]
        numbers[f"warning/{name}/concordance"] = float(everyone)
        sentences[name] = found.sentences
    for table, rows in tables.items():
        if rows:
            write_table(pd.concat(rows, ignore_index=True), folder / f"warning_{table}.parquet")
    write_json(
        {"provenance": provenance, "numbers": numbers, "sentences": sentences},
        folder / "warning.json",
    )
    return numbers
