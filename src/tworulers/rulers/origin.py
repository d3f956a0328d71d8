"""How the labels of a ruler came about, as ruler, dataset and the making of the labels say."""

from dataclasses import replace

from tworulers.schema.settings import Ruler
from tworulers.schema.sources import Dataset

OWN_LABELS = ("gold", "dataset", "biased")
"""Kinds of ruler that are made of the data's own labels."""


def declare_origin(ruler: Ruler, dataset: Dataset, predicted: str = "") -> Ruler:
    """Say of a ruler's labels how they came about: of the data's own as the ruler has it, else as the dataset has.

    Parameters
    ----------
    ruler, dataset : as they are configured.
    predicted : of labels that a model of the pipeline predicted, how, where not as its recipe says; goes to the caveat.
    """
    if ruler.kind in OWN_LABELS:
        ruler = replace(
            ruler,
            corrected_from=ruler.corrected_from or dataset.corrected_from,
            caveat=ruler.caveat or dataset.caveat,
        )
    if not predicted:
        return ruler
    made = f"The {ruler.name} labels were predicted with {predicted}; not as the recipe says"
    return replace(ruler, caveat=". ".join(filter(None, [ruler.caveat.strip().rstrip("."), made])))
