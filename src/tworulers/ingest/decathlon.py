"""What a Medical Segmentation Decathlon folder holds."""

from pathlib import Path, PurePosixPath

from tworulers.ingest.dataset_json import Declared, read_dataset_json
from tworulers.ingest.faults import Fault, FaultKind
from tworulers.ingest.folders import list_images, pair_by_name, stem_of
from tworulers.ingest.nnunet import check_count, frame_exams
from tworulers.ingest.source import Source
from tworulers.schema_sources import Dataset


def read_decathlon(root: Path, dataset: Dataset) -> Source:
    """List the exams of a Decathlon folder: ``imagesTr`` and ``labelsTr`` with the same names in
    both.

    Files and ``dataset.json`` are compared in both directions; what is only in one is a fault.

    Parameters
    ----------
    root : the folder that holds ``dataset.json``.
    dataset : how patients are told from exam ids.

    Raises
    ------
    IngestError : no readable ``dataset.json``.
    """
    declared = read_dataset_json(root)
    images = list_images(root / "imagesTr", root)
    labels = list_images(root / "labelsTr", root)
    paired, unpaired = pair_by_name(images.files, labels, images.folder)
    faults = [*declared.faults, *images.faults, *labels.faults, *unpaired]
    faults += _compare_with_list(declared, set(paired))
    faults += check_count(declared.n_training, len(paired))
    files = {exam: (images.files[exam], labels.files[exam]) for exam in paired}
    return Source(root, frame_exams(files, dataset, faults), declared.structures, faults)


def _compare_with_list(declared: Declared, paired: set[str]) -> list[Fault]:
    """List exams that only the folders or only ``dataset.json`` names."""
    if not declared.training:
        return []
    listed = {stem_of(Path(PurePosixPath(image).name)) for image, _ in declared.training}
    faults = [
        Fault(
            FaultKind.PAIRING,
            "a pair of files, as dataset.json lists it",
            "none",
            "add the files, or take the entry out",
            file="dataset.json",
            exam=exam,
        )
        for exam in sorted(listed - paired)
    ]
    faults += [
        Fault(
            FaultKind.PAIRING,
            "",
            "a pair of files that dataset.json does not list; it is used",
            exam=exam,
            note=True,
        )
        for exam in sorted(paired - listed)
    ]
    return faults
