"""What is wrong with a source: what was expected, what was found, and how to mend it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from tworulers.schema.file_names import escape_controls


class FaultKind(StrEnum):
    """What a fault is about; the list of faults is grouped by it."""

    FILES = "unreadable files"
    PAIRING = "pairing"
    GEOMETRY = "geometry"
    VALUES = "values"
    TABLE = "tables"
    IDS = "ids"
    DUPLICATES = "duplicates"
    PROVENANCE = "provenance"
    LEAKAGE = "leakage"
    IDENTITY = "identical masks"
    GROUPS = "groups"
    COUNTS = "counts"


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong, or, as a note, worth knowing.

    Attributes
    ----------
    kind : what it is about.
    file : the file, as seen from the root of the source; empty where no single file is at fault.
    exam : the exam, patient or other id; empty where no single one is at fault.
    expected, found : in words and numbers.
    mend : what a person can do.
    note : worth knowing, but nothing is wrong.
    details : the numbers for machines.
    """

    kind: FaultKind
    expected: str
    found: str
    mend: str = ""
    file: str = ""
    exam: str = ""
    note: bool = False
    details: dict[str, Any] = field(default_factory=dict)

    def describe(self) -> str:
        """Return the fault as one line."""
        where = ", ".join(dict.fromkeys(part for part in (self.exam, self.file) if part))
        text = f"{where}: " if where else ""
        text += f"expected {self.expected}, found {self.found}" if self.expected else self.found
        return escape_controls(f"{text}; {self.mend}" if self.mend else text)


class IngestError(ValueError):
    """A source cannot be used; the message lists every fault."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__(format_faults(faults))
        self.faults = list(faults)

    def __reduce__(self) -> tuple[type, tuple[list[Fault]]]:
        return type(self), (self.faults,)


def format_faults(faults: Iterable[Fault]) -> str:
    """Write faults and then notes, grouped by kind, one line each."""
    faults = list(faults)
    lines: list[str] = []
    for title, chosen in (
        ("fault", [fault for fault in faults if not fault.note]),
        ("note", [fault for fault in faults if fault.note]),
    ):
        for kind in FaultKind:
            of_kind = [fault.describe() for fault in chosen if fault.kind == kind]
            if of_kind:
                lines.append(f"{kind} ({len(of_kind)} {title}{'s' if len(of_kind) > 1 else ''})")
                lines += [f"  {line}" for line in of_kind]
    return "\n".join(lines)


def refuse(*faults: Fault) -> None:
    """Raise the faults as one error, if there are any that are not notes."""
    wrong = [fault for fault in faults if not fault.note]
    if wrong:
        raise IngestError(wrong)


def table_fault(path: Path, expected: str, found: str, mend: str) -> Fault:
    """Make a fault of a table as a whole."""
    return Fault(FaultKind.TABLE, expected, found, mend, file=str(path))
