"""What is known of a ruler beside its scores, and whether a change that it makes may be called false."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from tworulers.diagnosis.witness import Witnessed
from tworulers.schema.settings import Provenance
from tworulers.schema.sources import Relation


class Basis(StrEnum):
    """What the word false, or its absence, rests on."""

    EXPERTS = "declared_experts"
    TRUTH = "declared_truth"
    BIASED = "declared_biased"
    COPIED = "demonstrated_copy"
    SHARPER = "demonstrated_sharper"
    SHARES_TRAINING = "shares_training"
    CORRECTED = "corrected_into_base"
    INDEPENDENT = "declared_independent"
    UNKNOWN = "unknown"


FALSE = (Basis.BIASED, Basis.COPIED, Basis.SHARES_TRAINING)
"""On what a change may be called false."""

DECLARED = {
    Provenance.GOLD: Basis.EXPERTS,
    Provenance.TRUTH: Basis.TRUTH,
    Provenance.BIASED: Basis.BIASED,
}
"""Provenances that settle it: whatever else is found, experts' labels and the truth are never false."""

RELATED = {
    Relation.SHARES_TRAINING: Basis.SHARES_TRAINING,
    Relation.INDEPENDENT: Basis.INDEPENDENT,
    Relation.UNKNOWN: Basis.UNKNOWN,
}


@dataclass(frozen=True)
class Corrected:
    """That the base's labels are corrections of the other ruler's.

    Attributes
    ----------
    base : name of the base.
    unchanged, exams : in how many exams both are one label map, of how many where both are known.
    """

    base: str
    unchanged: int = 0
    exams: int = 0


@dataclass(frozen=True)
class RulerKnowledge:
    """What is known of a ruler in relation to the model that it judges.

    Attributes
    ----------
    provenance : who drew its labels, a word of `Provenance`.
    relation : to the model, a word of `Relation`: known of predictions that the line itself made, else declared.
    testimony : what a second expert, or the truth, demonstrates; None where neither is at hand.
    corrected : that the base's labels were made from these; None where they were not.
    """

    provenance: str
    relation: str = Relation.UNKNOWN
    testimony: Witnessed | None = None
    corrected: Corrected | None = None

    @property
    def basis(self) -> Basis:
        """Say what the word false, or its absence, rests on; what is demonstrated stands before what is declared."""
        if self.provenance in DECLARED:
            return DECLARED[Provenance(self.provenance)]
        if self.testimony is not None and self.testimony.finding in ("copied", "sharper"):
            return Basis.COPIED if self.testimony.finding == "copied" else Basis.SHARPER
        if self.corrected is not None and self.relation != Relation.SHARES_TRAINING:
            return Basis.CORRECTED
        return RELATED[Relation(self.relation)]

    @property
    def may_be_false(self) -> bool:
        """Tell whether a change that is shown may be called false."""
        return self.basis in FALSE

    @property
    def may_repeat(self) -> bool:
        """Tell whether closeness is asked: of a machine's labels and of those that nobody knows."""
        return self.provenance not in DECLARED

    def settle_status(self, status: str) -> str:
        """Put what is demonstrated in the place of what three label maps look like.

        Parameters
        ----------
        status : as of `Closeness`; identical labels stay so.
        """
        shown = {Basis.COPIED: "too_close", Basis.SHARPER: "distinct"}
        return status if status == "identical" else shown.get(self.basis, status)

    def tabulate(self) -> dict[str, Any]:
        """Write it for a summary."""
        heard = {} if self.testimony is None else asdict(self.testimony)
        for name in ("shared_share", "low", "high"):
            if name in heard and not np.isfinite(heard[name]):
                heard[name] = None
        return {
            "basis": str(self.basis),
            "may_be_called_false": self.may_be_false,
            "relation": str(self.relation),
            "testimony": heard,
            "corrected": None if self.corrected is None else asdict(self.corrected),
        }
