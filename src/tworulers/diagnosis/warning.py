"""Whether a model's own confidence would have warned of its failed exams, as far as a ruler calls them failed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from tworulers.diagnosis.failure_detection import FailureRule, WarningAudit, audit_warning
from tworulers.metrics.known.dice import DICE
from tworulers.metrics.macro import pick_macro_dice
from tworulers.schema.settings import MACRO, Audit

UNCERTAINTIES: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    "confidence": lambda table: 1 - table["mean_top_probability"],
    "entropy": lambda table: table["mean_entropy"],
    "disagreement": lambda table: table["disagreement"],
}
"""What may make an exam look suspect, computed without any reference; higher is more suspect."""

TABLES = ("cells", "metrics", "tests", "concordance")


@dataclass(frozen=True)
class Warned:
    """How well each uncertainty of a model warns of failures, as one ruler calls them.

    Attributes
    ----------
    cells, metrics, tests, concordance : as `failure_detection` gives them, with a column `uncertainty`.
    overall : by uncertainty, the AUC over all exams.
    ordered : by uncertainty, how often the worse of two exams looks more suspect.
    found : by uncertainty, what counts as failed and what the tables are of; not known of results read back.
    undefined : uncertainties that no exam has; not known of results read back.
    """

    cells: pd.DataFrame
    metrics: pd.DataFrame
    tests: pd.DataFrame
    concordance: pd.DataFrame
    overall: Mapping[str, float]
    ordered: Mapping[str, float] = field(default_factory=dict)
    found: Mapping[str, tuple[FailureRule, WarningAudit]] = field(default_factory=dict)
    undefined: tuple[str, ...] = ()

    @property
    def numbers(self) -> dict[str, float]:
        """Name the main numbers as a run shows them."""
        kinds = (("auc", self.overall), ("concordance", self.ordered))
        return {
            f"warning/{name}/{kind}": values[name]
            for name in self.overall
            for kind, values in kinds
        }


def measure_warning(
    scores: pd.DataFrame,
    groups: pd.DataFrame,
    patients: pd.Series,
    provenance: str,
    settings: Audit,
    confidences: pd.DataFrame,
) -> Warned | None:
    """Measure how well each uncertainty warns of failures in every group; None without groups, Dice or confidence.

    A failure is an exam whose macro Dice does not exceed the threshold in the eyes of this ruler. Where a group has
    fewer than five, the worst `quantile` of the whole set fail instead, and the tables say so.

    Parameters
    ----------
    scores : a scores table of one regime and ruler.
    groups : indexed by exam_id, one ordered categorical column a grouping.
    patients : patient_id, indexed by exam_id.
    provenance : whose labels call an exam failed.
    settings : threshold and confidence level.
    confidences : one row an exam, with `mean_top_probability`, `mean_entropy` and `disagreement`.
    """
    dice = pick_macro_dice(scores)
    if dice.empty or groups.empty:
        return None
    suspect = confidences.set_index("exam_id").reindex(dice.index)
    rule = FailureRule(
        metric=DICE,
        structure=MACRO,
        threshold=settings.thresholds[DICE.name],
        quantile=settings.failure_quantile,
        min_events=settings.min_group,
        provenance=provenance,
    )
    columns = {str(grouping): groups[grouping].reindex(dice.index) for grouping in groups}
    who = patients.reindex(dice.index).to_numpy()
    tables: dict[str, list[pd.DataFrame]] = {name: [] for name in TABLES}
    overall, ordered, audits, undefined = {}, {}, {}, []
    for name, measure in UNCERTAINTIES.items():
        uncertainty = measure(suspect)
        if uncertainty.isna().all():
            undefined.append(name)
            continue
        found = audit_warning(
            uncertainty, dice, columns, rule, level=1 - settings.alpha, patient=who
        )
        for table, rows in tables.items():
            rows.append(getattr(found, table).assign(uncertainty=name))
        overall[name] = found.overall.value
        everyone = found.concordance.query("worse_of == 'all'")["concordance"].iloc[0]
        ordered[name], audits[name] = float(everyone), (rule, found)
    if not overall:
        return None
    cells, metrics, tests, concordance = (
        pd.concat(rows, ignore_index=True) for rows in tables.values()
    )
    return Warned(cells, metrics, tests, concordance, overall, ordered, audits, (*undefined,))
