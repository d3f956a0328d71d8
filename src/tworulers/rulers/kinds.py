"""What a kind of ruler is, and the kinds there are: each is one class, found by the name in `kind`."""

# ruff: noqa: ARG002, ARG004
# A kind is told of the ruler, exam and split that it is asked about, whether or not it needs to know.

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tworulers.schema.own_files import Registry
from tworulers.schema.settings import Ruler, Split

if TYPE_CHECKING:
    import pandas as pd

LabelMap = NDArray[np.integer]
Change = Callable[[LabelMap, tuple[float, ...]], LabelMap]
"""Makes another label map of one and its spacing in mm; it travels to the process that scores the exam."""


@dataclass(frozen=True)
class Material:
    """What references can be made of.

    Attributes
    ----------
    dataset : its name.
    labels : the label map that goes with each exam: the data's own, or the machine's of the silver pool.
    provenances : who drew it, by exam.
    predictions : the folder of a regime's label maps.
    truth : the folder of noise-free masks; None where the data have none.
    root : the folder that paths in settings start from.
    group : the group of every exam in a grouping, by the grouping's name.
    """

    dataset: str
    labels: Mapping[str, Path]
    provenances: Mapping[str, str]
    predictions: Callable[[str], Path]
    truth: Path | None
    root: Path
    group: Callable[[str], pd.Series]


@dataclass(frozen=True)
class Tested:
    """The test exams: `all` that models predict, and those among them with an `expert` label."""

    all: list[str]
    expert: list[str]


class RulerKind:
    """How a kind of ruler judges. This one takes the labels of the data for the exams that experts drew.

    A kind says what it does differently.
    """

    same_exams = True
    """Whether the same exams are judged as by the base ruler, so that the two can be compared."""

    def __init__(self, ruler: Ruler, material: Material) -> None:
        self.ruler, self.material = ruler, material

    @staticmethod
    def needs(ruler: Ruler) -> str | None:
        """Name the regime whose predictions have to be there; None where none has."""
        return None

    def lacks(self) -> str:
        """Say why the data have nothing to judge by; empty where they do."""
        return ""

    def exams(self, tested: Tested) -> list[str]:
        """List the test exams that are judged."""
        return tested.expert

    def beyond(self, tested: Tested) -> list[str]:
        """List the test exams without an expert label that have a reference nevertheless."""
        return []

    def provenance(self, exam: str) -> str:
        """Say who drew the reference of an exam."""
        return str(self.ruler.provenance)

    def reference(self, exam: str) -> Path:
        """Return the label map that an exam is judged by."""
        return self.material.labels[exam]

    def expert(self, exam: str) -> Path | None:
        """Return the expert's label map, where the errors that the reference shares with the prediction are asked."""
        return None

    def changes(self, exam: str) -> Change | None:
        """Return what is done to the reference of an exam before it judges; None where nothing is."""
        return None


RULERS: Registry[type[RulerKind]] = Registry("kind of ruler")
"""Kinds of ruler by name."""


def choose_exams(
    kind: RulerKind, splits: pd.DataFrame, widest: str, teacher: str
) -> tuple[list[str], list[str]]:
    """Choose the test exams that a ruler judges, and those that it can score beyond them.

    Parameters
    ----------
    kind : of the ruler.
    splits : one row a regime and exam, with `split`.
    widest : the regime whose test exams every model predicts.
    teacher : the regime of expert labels alone; its test exams have one each.

    Raises
    ------
    ValueError : there is no test exam that the ruler can judge.
    """
    rows = splits[splits["split"] == Split.TEST]
    tested = {str(regime): sorted(exams["exam_id"]) for regime, exams in rows.groupby("regime")}
    expert = tested.get(teacher, [])
    judged = kind.exams(Tested(tested.get(widest) or expert, expert))
    if not judged:
        raise ValueError(
            f"no test exam can be judged by ruler {kind.ruler.name}: the split has no {teacher} test exam"
        )
    beyond = kind.beyond(Tested(tested.get(widest, []), judged))
    return judged, beyond
