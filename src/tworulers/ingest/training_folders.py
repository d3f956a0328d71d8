"""What folders of training images and labels with a `dataset.json` hold: raw nnU-Net data, and the Decathlon's."""

from pathlib import Path, PurePosixPath

from tworulers.ingest.channels import compare_channels, refuse_several
from tworulers.ingest.dataset_json import Declared, read_dataset_json
from tworulers.ingest.faults import Fault, FaultKind
from tworulers.ingest.files_alone import FilesAlone, Pairs
from tworulers.ingest.folders import Listing, group_channels, list_images, pair_by_name, stem_of
from tworulers.ingest.layout import LAYOUTS
from tworulers.schema.sources import Dataset

FILE = "dataset.json"


class TrainingFolders(FilesAlone):
    """``imagesTr`` and ``labelsTr``, paired by name, in both directions."""

    def pair(self, root: Path, dataset: Dataset) -> Pairs:
        """Find the image and the label of each exam.

        Raises
        ------
        IngestError : no readable ``dataset.json``.
        """
        declared = read_dataset_json(root)
        images = list_images(root / "imagesTr", root)
        labels = list_images(root / "labelsTr", root)
        first, found = self.pick_images(images, declared.channels or dataset.channels)
        found += self.compare_channels(declared, dataset)
        paired, unpaired = pair_by_name(first, labels, images.folder)
        faults = [*declared.faults, *images.faults, *labels.faults, *found, *unpaired]
        faults += [*self.compare(declared, set(paired)), *check_count(declared, len(paired))]
        files = {exam: (first[exam], labels.files[exam]) for exam in paired}
        return Pairs(files, faults, declared.structures, declared.ignore)

    def pick_images(
        self,
        images: Listing,
        channels: list[str],  # noqa: ARG002
    ) -> tuple[dict[str, Path], list[Fault]]:
        """Return the image of each exam, and what is wrong with the channels: every file is an image here."""
        return images.files, []

    def compare_channels(self, declared: Declared, dataset: Dataset) -> list[Fault]:
        """Refuse other channels than ``dataset.json`` declares."""
        return compare_channels(declared.channels, dataset.channels, FILE)

    def compare(self, declared: Declared, paired: set[str]) -> list[Fault]:  # noqa: ARG002
        """List exams that only the folders or only ``dataset.json`` names."""
        return []


@LAYOUTS.register("nnunet")
class NnunetRaw(TrainingFolders):
    """A raw nnU-Net folder: ``imagesTr/<exam>_<channel>``, ``labelsTr/<exam>``."""

    def pick_images(
        self, images: Listing, channels: list[str]
    ) -> tuple[dict[str, Path], list[Fault]]:
        """Take the first channel of each exam; the others are found beside it."""
        by_exam, faults = group_channels(images)
        wanted = list(range(len(channels)))
        mend = f"add the missing channel, or correct channel_names in {FILE}"
        faults += [
            Fault(FaultKind.PAIRING, f"channels {wanted}", f"{sorted(files)}", mend, exam=exam)
            for exam, files in sorted(by_exam.items())
            if sorted(files) != wanted
        ]
        return {exam: files[min(files)] for exam, files in by_exam.items()}, faults


@LAYOUTS.register("decathlon")
class Decathlon(TrainingFolders):
    """A folder of the Medical Segmentation Decathlon: the same names in both folders, all of them listed."""

    def compare_channels(self, declared: Declared, dataset: Dataset) -> list[Fault]:
        """Refuse several channels, which this layout has in one file."""
        several = max(declared.channels, dataset.channels, key=len)
        return refuse_several(several, "decathlon")

    def compare(self, declared: Declared, paired: set[str]) -> list[Fault]:
        """List exams that only the folders or only ``dataset.json`` names."""
        if not declared.training:
            return []
        listed = {stem_of(Path(PurePosixPath(image).name)) for image, _ in declared.training}
        expected, mend = f"a pair of files, as {FILE} lists it", "add them, or take the entry out"
        faults = [
            Fault(FaultKind.PAIRING, expected, "none", mend, FILE, exam)
            for exam in sorted(listed - paired)
        ]
        found = f"a pair of files that {FILE} does not list; it is used"
        return faults + [
            Fault(FaultKind.PAIRING, "", found, exam=exam, note=True)
            for exam in sorted(paired - listed)
        ]


def check_count(declared: Declared, paired: int) -> list[Fault]:
    """Note that `numTraining` is not the number of pairs."""
    n = declared.n_training
    if n is None or n == paired:
        return []
    expected, found = f"{n} training exams (numTraining)", f"{paired} pairs of image and label"
    mend = "add the missing files, or correct numTraining"
    details = {"declared": n, "paired": paired}
    return [Fault(FaultKind.COUNTS, expected, found, mend, FILE, details=details)]
