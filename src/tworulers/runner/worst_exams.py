"""Images and label maps of the exams that a page shows as the worst of their groups."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tworulers.ingest.judged_folders import Prepared
from tworulers.ingest.predictions import read_pair
from tworulers.io.images import ImageError, read_image
from tworulers.io.paths import Layout
from tworulers.progress import say
from tworulers.report.findings import Findings, WorstExam
from tworulers.report.view import make_view
from tworulers.report.worst_figure import Worst, cut_slice, find_worst
from tworulers.rulers.find import make_ruler
from tworulers.rulers.kinds import RulerKind
from tworulers.runner.material import gather_material
from tworulers.runner.reading import Read
from tworulers.schema.settings import Settings


def read_worst(read: Read, settings: Settings, layout: Layout) -> list[WorstExam]:
    """Read the worst exam of each group by each ruler, those whose image, prediction and reference are at hand."""
    worst, cohort = find_worst(make_view(read.findings)), read.cohort
    if settings.report.shared or not worst or cohort is None:
        return []
    cells = zip(cohort["exam_id"], cohort["image"], strict=True)
    images = {str(exam): layout.root / str(cell) for exam, cell in cells}
    kinds: dict[tuple[str, str], RulerKind] = {}
    found = []
    for one in worst:
        result = one.audit.result
        side = (result.regime, result.ruler)
        try:
            if side not in kinds:
                ruler = read.rulers[side]
                material = gather_material(ruler.name, settings, layout, cohort)
                kinds[side] = make_ruler(ruler, material)
            found.append(_read(one, kinds[side], images, layout))
        except (ValueError, OSError, ImageError, KeyError) as error:
            say(f"no picture of {one.exam_id} by {result.ruler}: {error}")
    return found


def read_judged_worst(
    findings: Findings, ready: Prepared, *, trust_grid: bool = False
) -> list[WorstExam]:
    """Read the label maps of the worst exam of each group by each reference from the folders that were judged."""
    found = []
    for one in find_worst(make_view(findings)):
        judge = ready.judges[one.audit.result.regime, one.audit.result.ruler]
        prediction, reference = read_pair(
            judge.predictions[one.exam_id],
            judge.references[one.exam_id],
            ready.structures.values(),
            judge.predicted,
            judge.drawn,
            trust_grid=trust_grid,
        )
        parts = cut_slice(None, prediction.array, reference.array, reference.spacing)
        found.append(
            WorstExam(one.audit.key, one.group, one.exam_id, one.value, *parts, of_labels=True)
        )
    return found


def _read(one: Worst, kind: RulerKind, images: Mapping[str, Path], layout: Layout) -> WorstExam:
    """Read one exam, and cut the slice that is shown."""
    predicted = layout.predicted(one.audit.result.regime) / f"{one.exam_id}.nii.gz"
    image, volume = read_image(images[one.exam_id]), read_image(predicted)
    reference = read_image(kind.reference(one.exam_id))
    if len({part.array.shape for part in (image, volume, reference)}) > 1:
        raise ValueError("image, prediction and reference are not of one grid")
    drawn, change = np.asarray(reference.array).astype(np.int16), kind.changes(one.exam_id)
    if change is not None:
        drawn = change(drawn, reference.spacing).astype(np.int16)
    parts = cut_slice(image.array, np.asarray(volume.array), drawn, image.spacing)
    return WorstExam(one.audit.key, one.group, one.exam_id, one.value, *parts)
