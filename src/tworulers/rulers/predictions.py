"""Rulers made of a model's predictions on the exams that are judged."""

from pathlib import Path

from tworulers.rulers.kinds import RULERS, RulerKind, Tested
from tworulers.schema.settings import Provenance, Ruler


@RULERS.register("predictions")
class Predictions(RulerKind):
    """What the model of `ruler.regime` predicts; exams without an expert label have that, too."""

    @staticmethod
    def needs(ruler: Ruler) -> str:
        """Name the regime that predicts."""
        if ruler.regime is None:
            raise ValueError(
                f"ruler {ruler.name}: ruler.regime, whose predictions it is, is not given"
            )
        return ruler.regime

    def beyond(self, tested: Tested) -> list[str]:
        """List the test exams without an expert label."""
        return sorted(set(tested.all) - set(tested.expert))

    def reference(self, exam: str) -> Path:
        """Return the prediction of the exam."""
        return self.material.predictions(self.needs(self.ruler)) / f"{exam}.nii.gz"

    def expert(self, exam: str) -> Path | None:
        """Return the expert's label map where there is one."""
        drawn = self.material.provenances[exam] == Provenance.GOLD
        return self.material.labels[exam] if drawn else None
