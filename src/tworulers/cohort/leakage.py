"""Whether a split made elsewhere keeps patients apart, and the sets it makes where it does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from tworulers.cohort.split import SplitError, check_provenance, make_regimes
from tworulers.schema.settings import Provenance, Regime, Split, SplitSettings

Fold = Mapping[str, Sequence[str]]
"""One fold: the exam ids under ``train`` and under ``val``."""


@dataclass(frozen=True)
class FoldFaults:
    """Everything wrong with given folds; the overlaps are by fold, empty ones included."""

    patient_overlap: dict[int, list[str]]
    case_overlap: dict[int, list[str]]
    unknown_cases: list[str]
    never_validated: list[str]
    validated_twice: list[str]
    empty_folds: list[int]
    test_patients_in_folds: list[str]

    def describe(self) -> list[str]:
        """Return one line a fault, naming the ids; no lines mean that the folds are sound."""
        lines = []
        for fold, patients in self.patient_overlap.items():
            if patients:
                lines.append(f"fold {fold}: patients {', '.join(patients)} are in train and in val")
        for fold, cases in self.case_overlap.items():
            if cases:
                lines.append(f"fold {fold}: cases {', '.join(cases)} are in train and in val")
        for fold in self.empty_folds:
            lines.append(f"fold {fold}: train or val is empty")
        for names, words in (
            (self.unknown_cases, "cases {} are in the split, but not in the cohort"),
            (self.never_validated, "cases {} are trained on, but never validated"),
            (self.validated_twice, "cases {} are validated in more than one fold"),
            (
                self.test_patients_in_folds,
                "patients {} have exams in the folds and exams left for the test set",
            ),
        ):
            if names:
                lines.append(words.format(", ".join(names)))
        return lines


def find_fold_faults(folds: Sequence[Fold], exams: pd.DataFrame) -> FoldFaults:
    """List everything wrong with folds given as lists of exams.

    Parameters
    ----------
    folds : the folds, each with ``train`` and ``val`` exam ids.
    exams : ``exam_id`` and ``patient_id`` of the cohort; exams in no fold are test exams.
    """
    patients = dict(zip(exams["exam_id"].astype(str), exams["patient_id"].astype(str), strict=True))
    sides = [
        (set(map(str, fold.get("train", ()))), set(map(str, fold.get("val", ())))) for fold in folds
    ]
    named = set().union(*(train | val for train, val in sides)) if sides else set()
    validated = [case for _, val in sides for case in sorted(val)]
    in_folds = {patients[case] for case in named if case in patients}
    left = {patient for case, patient in patients.items() if case not in named}
    return FoldFaults(
        patient_overlap={
            fold: sorted(
                {patients[c] for c in train if c in patients}
                & {patients[c] for c in val if c in patients}
            )
            for fold, (train, val) in enumerate(sides)
        },
        case_overlap={fold: sorted(train & val) for fold, (train, val) in enumerate(sides)},
        unknown_cases=sorted(named - set(patients)),
        never_validated=sorted((named & set(patients)) - set(validated)),
        validated_twice=sorted({case for case in validated if validated.count(case) > 1}),
        empty_folds=[fold for fold, (train, val) in enumerate(sides) if not train or not val],
        test_patients_in_folds=sorted(in_folds & left),
    )


def tell_machine_validated(folds: Sequence[Fold], exams: pd.DataFrame) -> str:
    """Say in which validation sets exams are labelled by a machine, and how many; nothing where none is.

    Parameters
    ----------
    folds : the folds.
    exams : ``exam_id`` and ``provenance`` of the cohort.
    """
    by_machine = set(exams.loc[exams["provenance"] == Provenance.SILVER, "exam_id"].astype(str))
    counts = {
        fold: (len(by_machine & set(map(str, part["val"]))), len(part["val"]))
        for fold, part in enumerate(folds)
    }
    told = [f"fold {fold} {n} of {m}" for fold, (n, m) in counts.items() if n]
    if not told:
        return ""
    return (
        f"validation exams with a machine's labels: {', '.join(told)}; by them a model is held against that machine, "
        "so means over validation exams are told by whose labels they are of"
    )


def apply_given_folds(
    cohort: pd.DataFrame, folds: Sequence[Fold], settings: SplitSettings, regimes: Sequence[Regime]
) -> pd.DataFrame:
    """Make the sets of every regime from folds made elsewhere; exams in no fold are the test set.

    Nothing is balanced or dealt anew: the given split is the split.

    Raises
    ------
    SplitError : with every fault of the folds in one list.
    """
    check_provenance(cohort, regimes)
    lines = find_fold_faults(folds, cohort).describe()
    fold_of = {str(case): place for place, fold in enumerate(folds) for case in fold["val"]}
    if set(cohort["exam_id"]) <= set(fold_of):
        lines.append("no exam is left for the test set: every exam of the cohort is in a fold")
    if lines:
        raise SplitError(
            "the given split cannot be used:\n" + "\n".join(f"  {line}" for line in lines)
        )
    exams = cohort[["exam_id", "patient_id", "provenance"]].sort_values(
        "exam_id", ignore_index=True
    )
    in_fold = exams["exam_id"].isin(list(fold_of))
    exams = exams.assign(
        stratum="given",
        split=in_fold.map({True: Split.TRAIN.value, False: Split.TEST.value}).astype(object),
    )
    unbalanced = SplitSettings(folds=len(folds), balance=None, seed=settings.seed)
    return make_regimes(exams, cohort, unbalanced, regimes, given_folds=fold_of)
