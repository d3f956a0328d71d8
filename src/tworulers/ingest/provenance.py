"""Who drew each label: told by a column, by a list of what experts drew, or not at all."""

from pathlib import Path

import pandas as pd

from tworulers.cohort.spelling import fold_spelling
from tworulers.ingest.faults import Fault, FaultKind
from tworulers.ingest.folders import stem_of
from tworulers.ingest.text_table import read_text_table
from tworulers.schema.settings import Provenance

_GOLD = {"gold", "expert", "experts", "manual", "retrospective expert", "human", "radiologist"}
_SILVER = {
    "silver",
    "auto",
    "automatic",
    "machine",
    "model",
    "retrospective auto",
    "predicted",
    "ai",
}


def read_provenance(cells: pd.Series, exams: pd.Series, file: str) -> tuple[pd.Series, list[Fault]]:
    """Read a provenance column; a word that is neither an expert's nor a machine's is a fault.

    Parameters
    ----------
    cells : the column, such as ``gold`` or ``Retrospective_auto``.
    exams : the exam of each cell, for messages.
    file : the table's name.
    """
    folded = cells.fillna("").map(fold_spelling)
    known = folded.map(
        lambda word: (
            Provenance.GOLD.value
            if word in _GOLD
            else Provenance.SILVER.value
            if word in _SILVER
            else None
        )
    )
    unclear = known.isna()
    faults = [
        Fault(
            FaultKind.PROVENANCE,
            "gold or silver (expert or auto)",
            f"{cells[unclear].iloc[place]!r}",
            "say who drew the label; until then the exam is left out",
            file,
            str(exam),
        )
        for place, exam in enumerate(exams[unclear])
    ]
    return known, faults


def read_experts(path: Path) -> set[str]:
    """Read a list of what experts drew: exam ids, series or file names, in any column of a table.

    A file without a header is read too; every cell counts as a name.
    """
    if path.suffix.casefold() in (".txt", ".lst"):
        lines = path.read_text(encoding="utf-8-sig").splitlines()
        names = {line.strip() for line in lines if line.strip()}
    else:
        table = read_text_table(path)
        names = {str(name) for name in table.columns}
        names |= {str(cell) for column in table for cell in table[column] if cell}
    return names | {stem_of(Path(name)) for name in names}


def apply_experts(
    exams: pd.DataFrame, names: dict[str, set[str]], experts: set[str], file: str
) -> tuple[pd.Series, list[Fault]]:
    """Call the exams on an expert list gold and all others silver.

    Parameters
    ----------
    exams : one row an exam.
    names : what each exam may be called on the list: its id, series, files.
    experts : the names on the list.
    file : the list's name in messages.
    """
    found = exams["exam_id"].map(lambda exam: bool(names[exam] & experts))
    gold = int(found.sum())
    note = Fault(
        FaultKind.PROVENANCE,
        "",
        f"{gold} labels are experts' by the list, {len(exams) - gold} are machines'",
        "" if gold else "no name on the list is an exam, series or file of this source",
        file,
        note=gold > 0,
        details={"expert": gold, "auto": len(exams) - gold},
    )
    return found.map({True: Provenance.GOLD.value, False: Provenance.SILVER.value}), [note]


def judge_provenance(exams: pd.DataFrame) -> list[Fault]:
    """Say how many labels are experts' and machines'; none of an expert is a fault."""
    gold = int((exams["provenance"] == Provenance.GOLD).sum())
    counts = {"expert": gold, "auto": len(exams) - gold}
    if gold or exams.empty:
        return [
            Fault(
                FaultKind.PROVENANCE,
                "",
                f"{gold} expert and {counts['auto']} machine labels",
                note=True,
                details=counts,
            )
        ]
    return [
        Fault(
            FaultKind.PROVENANCE,
            "labels of experts among the others",
            f"0 expert and {counts['auto']} machine labels: experts' cannot be told apart",
            "give the list of experts' series or files as dataset.reading.experts",
            details=counts,
        )
    ]
