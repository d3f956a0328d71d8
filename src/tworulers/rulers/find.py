"""The kinds of ruler of this package and of a project's own files, by the settings of a ruler."""

from tworulers.rulers import biased, labels, predictions
from tworulers.rulers.kinds import RULERS, Material, RulerKind
from tworulers.schema.settings import Ruler

SHIPPED = (biased, labels, predictions)
"""The modules that hold kinds of ruler."""


def make_ruler(ruler: Ruler, material: Material) -> RulerKind:
    """Return a ruler that can judge.

    Raises
    ------
    ValueError : its kind is unknown; the message lists those there are.
    """
    return RULERS.find(ruler.kind)(ruler, material)


def find_needed(ruler: Ruler) -> str | None:
    """Name the regime whose predictions a ruler is made of; None for rulers of labels."""
    return RULERS.find(ruler.kind).needs(ruler)


def judges_same_exams(ruler: Ruler) -> bool:
    """Tell whether a ruler judges the exams that the base ruler judges, so that the two can be compared."""
    return RULERS.find(ruler.kind).same_exams
