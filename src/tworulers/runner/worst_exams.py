"""Images and label maps of the exams that a page shows as the worst of their groups."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tworulers.io.images import ImageError, read_image
from tworulers.io.paths import Layout
from tworulers.io.results import read_cohort
from tworulers.progress import say
from tworulers.report.findings import Findings, WorstExam
from tworulers.report.view import make_view
from tworulers.report.worst_figure import Worst, cut_slice, find_worst
from tworulers.rulers.find import make_ruler
from tworulers.rulers.kinds import RulerKind
from tworulers.runner.material import gather_material
from tworulers.runner.reading import find_ruler
from tworulers.schema.settings import Settings


def read_worst(findings: Findings, settings: Settings, layout: Layout) -> list[WorstExam]:
    """Read the worst exam of each group by each ruler, those whose image, prediction and reference are at hand."""
    worst = find_worst(make_view(findings))
    if settings.report.shared or not worst or not layout.cohort_table.is_file():
        return []
    cohort = read_cohort(layout)
    cells = zip(cohort["exam_id"], cohort["image"], strict=True)
    images = {str(exam): layout.root / str(cell) for exam, cell in cells}
    kinds: dict[Path, RulerKind] = {}
    found = []
    for one in worst:
        result = one.audit.result
        folder = layout.audit(result.regime, result.ruler)
        try:
            if folder not in kinds:
                ruler = find_ruler(folder, layout)
                material = gather_material(ruler.name, settings, layout, cohort)
                kinds[folder] = make_ruler(ruler, material)
            found.append(_read(one, kinds[folder], images, layout))
        except (ValueError, OSError, ImageError, KeyError) as error:
            say(f"no picture of {one.exam_id} by {result.ruler}: {error}")
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
