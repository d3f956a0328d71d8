"""Rulers made of labels that come with the data or lie in a folder."""

from pathlib import Path

from tworulers.rulers.kinds import RULERS, RulerKind, Tested

RULERS.register("gold")(RulerKind)


@RULERS.register("dataset")
class DatasetLabels(RulerKind):
    """Every exam's own label, whoever drew it: all test exams are judged."""

    same_exams = False

    def exams(self, tested: Tested) -> list[str]:
        """List all test exams."""
        return tested.all

    def provenance(self, exam: str) -> str:
        """Say who drew the exam's own label."""
        return self.material.provenances[exam]


@RULERS.register("truth")
class TruthMasks(RulerKind):
    """Noise-free masks, which only generated data have."""

    def lacks(self) -> str:
        """Say that data have no such masks."""
        no_masks = f"dataset {self.material.dataset} has no truth labels"
        return no_masks if self.material.truth is None else ""

    def reference(self, exam: str) -> Path:
        """Return the exam's mask."""
        assert self.material.truth is not None
        return self.material.truth / f"{exam}.nii.gz"


@RULERS.register("folder")
class FolderLabels(RulerKind):
    """Label maps of a folder, called after the exams."""

    def reference(self, exam: str) -> Path:
        """Return the exam's label map in the folder."""
        if self.ruler.folder is None:
            raise ValueError(f"ruler {self.ruler.name}: ruler.folder is not given")
        return self.material.root / self.ruler.folder / f"{exam}.nii.gz"
