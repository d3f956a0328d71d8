"""The value of voxels that nobody annotated: whether it can be used, and how much of the labels it is."""

from collections.abc import Sequence

from tworulers.ingest.dataset_json import IGNORE
from tworulers.ingest.faults import Fault, FaultKind
from tworulers.ingest.inspect import Inspection
from tworulers.ingest.source import Source
from tworulers.schema.sources import Dataset

SHOWN = 5


def find_ignore_faults(source: Source, dataset: Dataset) -> list[Fault]:
    """Refuse a value of unannotated voxels that no network can be trained around, or that the source has otherwise.

    As in nnU-Net it follows those of the structures, so that networks have a channel for every value below it.
    """
    if named := [name for name in dataset.structures if name.casefold() == IGNORE]:
        found = f"a structure called {named[0]!r}, which is nnU-Net's word for voxels without annotation"
        mend = f"set dataset.ignore={dataset.structures[named[0]]} if it is that, or rename it"
        return [Fault(FaultKind.VALUES, "structures in dataset.structures", found, mend)]
    given, declared = dataset.ignore, source.ignore
    if declared is not None and declared in dataset.reading.label_map:
        declared = None
    if given is None and declared is None:
        return []
    if given != declared and declared is not None:
        expected = f"dataset.ignore {declared}, as the source declares"
        mend = f"set dataset.ignore={declared}, or map its voxels with dataset.reading.label_map"
        return [Fault(FaultKind.VALUES, expected, f"dataset.ignore {given}", mend)]
    following = max(dataset.structures.values(), default=0) + 1
    if given != following:
        expected = f"{following}, the value after those of the structures"
        mend = (
            f"set dataset.ignore={following} 'dataset.reading.label_map={{{given}: {following}}}'"
        )
        return [Fault(FaultKind.VALUES, expected, f"dataset.ignore {given}", mend)]
    return []


def note_ignored(inspections: Sequence[Inspection], dataset: Dataset) -> list[Fault]:
    """Note how many voxels nobody annotated, and the label maps that are nothing else.

    Parameters
    ----------
    inspections : one an exam; nothing is noted of those whose voxels were not read.
    dataset : the value of such voxels.
    """
    if dataset.ignore is None:
        return []
    read = [inspection for inspection in inspections if inspection.voxels]
    if not read:
        return []
    counts = {one.exam_id: one.voxels.get(dataset.ignore, 0) for one in read}
    partly = sum(n > 0 for n in counts.values())
    voxels = sum(counts.values())
    share = 100 * voxels / sum(sum(one.voxels.values()) for one in read)
    found = (
        f"value {dataset.ignore} marks {voxels} voxels ({share:.2g} %) of {partly} of {len(read)} label maps as not "
        "annotated: they are neither learnt from nor judged, and volumes are of the others"
    )
    notes = [Fault(FaultKind.VALUES, "", found, note=True)]
    if empty := [one.exam_id for one in read if set(one.voxels) == {dataset.ignore}]:
        shown = ", ".join(empty[:SHOWN]) + (" ..." if len(empty) > SHOWN else "")
        told = f"{len(empty)} label maps have no annotated voxel: {shown}"
        mend = "leave them out with dataset.reading.exclude: nothing can be learnt from them"
        notes.append(Fault(FaultKind.VALUES, "", told, mend, note=True))
    return notes
