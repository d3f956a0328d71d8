"""Which predictions made elsewhere belong to which references, and why so few do where few do."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pandas as pd

from tworulers.ingest.faults import Fault, FaultKind
from tworulers.ingest.folders import Listing, list_images, pick_named
from tworulers.ingest.id_rules import EXAM, rename_files
from tworulers.ingest.lookalikes import find_cause
from tworulers.ingest.nested_folders import STRUCTURE, list_nested
from tworulers.io.image_names import list_parts

SHOWN = 5
"""Exams that are named one by one; of more the number is given."""


MISSING = "missing"
"""What the details of a fault hold that is about exams without a prediction."""


@dataclass(frozen=True)
class Pairing:
    """Predictions and one reference folder, paired by name.

    Attributes
    ----------
    pairs : ``exam_id``, ``prediction`` and ``reference`` (absolute paths), one row a pair.
    missing : exams with a reference and no prediction.
    extra : exams with a prediction and no reference.
    faults : faults of the missing, notes on the extra, and what else lay in the folders.
    parts : structures that have a file of their own, among the predictions and among the references.
    """

    pairs: pd.DataFrame
    missing: list[str]
    extra: list[str]
    faults: list[Fault]
    parts: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @property
    def share(self) -> str:
        """How many references have a prediction, in words: ``3 of 4 cases``."""
        return f"{len(self.pairs)} of {len(self.pairs) + len(self.missing)} cases"


def pair_predictions(
    predictions: Path,
    references: Path,
    exam_ids: Iterable[str] | None = None,
    patterns: tuple[str, str] = (EXAM, EXAM),
    ignore: Sequence[str] = (),
    settings: tuple[str, str] = ("predictions", "the reference"),
) -> Pairing:
    """Pair two folders of label maps by name; side files of other kinds are ignored.

    Parameters
    ----------
    predictions, references : folders of label maps named by exam.
    exam_ids : the exams that matter; all where not given.
    patterns : how predictions and references are called, without extension: ``{exam}_seg``. Images
        called otherwise are none of them.
    ignore : what does not count in names, words of `id_rules.IGNORABLE`.
    settings : where the settings of either folder are, for messages.
    """
    if absent := find_absent_folders((predictions, references), settings):
        return Pairing(_frame([]), [], [], absent)
    predicted = list_label_maps(predictions, patterns[0], ignore)
    referred = list_label_maps(references, patterns[1], ignore)
    listed = zip((predictions, references), (predicted, referred), settings, strict=True)
    nested = [_explain_nested(place, name) for place, found, name in listed if not found.files]
    if any(nested):
        return Pairing(_frame([]), [], [], [*chain(*nested)])
    wanted = None if exam_ids is None else set(exam_ids)
    known = {e: p for e, p in referred.files.items() if wanted is None or e in wanted}
    pairs = sorted(set(known) & set(predicted.files))
    missing = sorted(set(known) - set(predicted.files))
    extra = sorted(set(predicted.files) - set(referred.files))
    faults = [*predicted.faults, *referred.faults]
    cause = _explain(predicted, referred, patterns, settings) if missing and extra else []
    mend = "predict the exam, or take its reference out"
    if extra and not pairs:
        mend += f"; the predictions are called {', '.join(extra[:SHOWN])}"
    faults += cause or _list_exams(missing, "a prediction", mend, referred.folder)
    if len(extra) > SHOWN:
        faults.append(
            _sum_up(f"{len(extra)} predictions have no reference", extra, predicted.folder)
        )
    else:
        faults += [
            Fault(
                FaultKind.PAIRING, "", "no reference", "", f"{predicted.folder}/{e}", e, note=True
            )
            for e in extra
        ]
    faults += [
        Fault(FaultKind.PAIRING, "a reference", "none", "add it", referred.folder, exam)
        for exam in sorted((wanted or set()) - set(referred.files))
    ]
    rows = [(exam, str(predicted.files[exam]), str(known[exam])) for exam in pairs]
    return Pairing(_frame(rows), missing, extra, faults, (predicted.parts, referred.parts))


def list_label_maps(folder: Path, pattern: str, ignore: Sequence[str]) -> Listing:
    """List the label maps of a folder by exam: those in it, or below it where the pattern has folders."""
    if "/" in pattern:
        found = list_nested(folder, pattern)
    else:
        found = pick_named(list_images(folder, folder.parent), pattern)
    files, faults = rename_files(found.files, ignore, found.folder)
    return Listing(found.folder, files, [*found.faults, *faults], found.parts)


def find_absent_folders(folders: Sequence[Path], settings: Sequence[str]) -> list[Fault]:
    """List folders that are not there, with the neighbour that may be meant."""
    faults = []
    for folder, setting in zip(folders, settings, strict=True):
        if folder.is_dir():
            continue
        around = folder.parent.iterdir() if folder.parent.is_dir() else ()
        near = difflib.get_close_matches(folder.name, [p.name for p in around if p.is_dir()], n=1)
        mend = f"did you mean {str(folder.with_name(near[0]))!r}?" if near else "correct the path"
        found = "a file" if folder.exists() else "no such folder"
        faults.append(
            Fault(FaultKind.PAIRING, f"a folder ({setting}.folder)", found, mend, str(folder))
        )
    return faults


def _explain_nested(folder: Path, setting: str) -> list[Fault]:
    """Say in one fault that label maps lie a folder deeper, and which pattern finds them there."""
    inner = [
        list_parts(path)
        for path in sorted(folder.iterdir())
        if path.is_dir() and path.name[0] != "."
    ]
    full = [names for names in inner if names]
    if not full:
        return []
    several = any(len(names) > 1 for names in full)
    name = min(full[0])
    pattern = f"{EXAM}/{STRUCTURE}" if several else f"{EXAM}/{name}"
    if not several and any(list(names) != [name] for names in full):
        pattern = f"{EXAM}/{EXAM}"
    found = f"none, but {len(full)} folders that hold some, such as {', '.join(sorted(full[0])[:SHOWN])}"
    mend = f"where each is of an exam set {setting}.pattern='{pattern}'"
    return [Fault(FaultKind.PAIRING, "label maps", found, mend, str(folder))]


def _explain(
    predicted: Listing, referred: Listing, patterns: tuple[str, str], settings: tuple[str, str]
) -> list[Fault]:
    """Say in one fault why names of two folders have little in common, and which settings mend it."""
    cause = find_cause(list(predicted.files), list(referred.files))
    if cause is None:
        return []
    sides = ((cause.first, patterns[0], settings[0]), (cause.second, patterns[1], settings[1]))
    options = [
        f"{setting}.pattern='{before.replace(EXAM, pattern)}'"
        for pattern, before, setting in sides
        if pattern != EXAM
    ]
    options += [f"predictions.id_ignore=[{','.join(cause.ignore)}]"] * bool(cause.ignore)
    both = len(set(predicted.files) & set(referred.files))
    found = (
        f"{both} of {len(referred.files)}: {cause.describe(predicted.folder, referred.folder)}, such as "
        f"{min(predicted.files)!r} and {min(referred.files)!r}"
    )
    mend = f"set {' and '.join(options)}, then {cause.share} pair"
    expected = "a prediction of each reference"
    return [
        Fault(FaultKind.PAIRING, expected, found, mend, predicted.folder, details={MISSING: True})
    ]


def _list_exams(exams: Sequence[str], expected: str, mend: str, folder: str) -> list[Fault]:
    """Name exams that lack something, each in a fault, or all in one where there are many."""
    details = {MISSING: True}
    if len(exams) <= SHOWN:
        return [
            Fault(FaultKind.PAIRING, expected, "none", mend, f"{folder}/{e}", e, details=details)
            for e in exams
        ]
    found = f"none of {len(exams)} exams: {', '.join(exams[:SHOWN])}, ..."
    return [Fault(FaultKind.PAIRING, expected, found, mend, folder, details=details)]


def _sum_up(found: str, exams: Sequence[str], folder: str) -> Fault:
    return Fault(
        FaultKind.PAIRING, "", f"{found}: {', '.join(exams[:SHOWN])}, ...", "", folder, note=True
    )


def _frame(rows: list[tuple[str, str, str]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["exam_id", "prediction", "reference"]).astype("str")
