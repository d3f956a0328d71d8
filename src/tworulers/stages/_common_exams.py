"""Which exams, scores and people two rulers have in common, and what either has beyond them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tworulers.audit import AuditResult, audit_scores
from tworulers.cohort.spelling import fold_spelling, is_blank
from tworulers.io.audits import read_audit, write_audit
from tworulers.rulers import Audited
from tworulers.schema import MACRO
from tworulers.schema_sources import Attributes
from tworulers.stats.pairs import SCORE

OF_COMMON = "common"
"""The folder of a comparison that holds both audits over the common exams and structures, where either has more."""


@dataclass(frozen=True)
class CommonExams:
    """The exams that both rulers judged.

    Attributes
    ----------
    exams : their ids.
    names : what the two sides are called.
    judged : how many exams each side judged.
    """

    exams: frozenset[str]
    names: tuple[str, str]
    judged: tuple[int, int]

    @property
    def left_out(self) -> tuple[int, int]:
        """How many exams each side judged that the other did not."""
        return self.judged[0] - len(self.exams), self.judged[1] - len(self.exams)

    def keep(self, table: pd.DataFrame) -> pd.DataFrame:
        """Keep the rows of the common exams."""
        return table[table["exam_id"].isin(self.exams)].reset_index(drop=True)

    def require_all(self) -> None:
        """Refuse two rulers that judged different exams.

        Raises
        ------
        ValueError : naming both, with their numbers of exams.
        """
        if any(self.left_out):
            raise ValueError(
                f"{self.names[0]} judged {self.judged[0]} exams and {self.names[1]} {self.judged[1]}, of which "
                f"{len(self.exams)} are common; score and audit both again over the same exams"
            )

    def tell(self) -> list[str]:
        """Say over how many exams the rulers are compared, where one of them judged more."""
        if not any(self.left_out):
            return []
        beyond = " and ".join(
            f"{n} of the {judged} exams of {name}"
            for name, n, judged in zip(self.names, self.left_out, self.judged, strict=True)
            if n
        )
        return [f"compared over the {len(self.exams)} exams that both judged; {beyond} left out"]

    def count(self) -> dict[str, int]:
        """Give the numbers of exams for a summary."""
        first, second = self.left_out
        return {"n_exams": len(self.exams), "left_out_base": first, "left_out_other": second}


def find_common(base: pd.DataFrame, other: pd.DataFrame, names: tuple[str, str]) -> CommonExams:
    """Find the exams that both score tables hold.

    Raises
    ------
    ValueError : fewer than two; the message names both sides and how many exams each has.
    """
    first, second = (set(scores["exam_id"]) for scores in (base, other))
    common = first & second
    if len(common) < 2:
        raise ValueError(
            f"{names[0]} ({len(first)} exams) and {names[1]} ({len(second)} exams) have {len(common)} exams in "
            "common; rulers are compared over two or more exams that both judged: are the ids spelled alike?"
        )
    return CommonExams(frozenset(common), names, (len(first), len(second)))


def keep_common_scores(
    base: pd.DataFrame, other: pd.DataFrame, names: tuple[str, str]
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Keep the structures and metrics that both score tables hold, a mean over structures only if over the same ones.

    Returns
    -------
    Both tables, and a sentence on each score that one of them lacks.
    """
    sides = [
        set(map(tuple, scores[SCORE].drop_duplicates().to_numpy())) for scores in (base, other)
    ]
    common = sides[0] & sides[1]
    notes = [
        f"{metric} of {structure} is in {names[place]} alone and is not compared"
        for place in (0, 1)
        for structure, metric in sorted(sides[place] - common)
    ]
    for metric in sorted({metric for structure, metric in common if structure == MACRO}):
        over = [sorted(s for s, m in side if m == metric and s != MACRO) for side in sides]
        if over[0] != over[1]:
            common.remove((MACRO, metric))
            notes.append(
                f"the mean {metric} over structures is over {', '.join(over[0])} in {names[0]} and over "
                f"{', '.join(over[1])} in {names[1]}, and is not compared"
            )
    if not common:
        raise ValueError(
            f"{names[0]} and {names[1]} have no score in common:\n  " + "\n  ".join(notes)
        )
    keys = pd.DataFrame(sorted(common), columns=SCORE)
    return base.merge(keys, on=SCORE), other.merge(keys, on=SCORE), notes


def require_same_people(
    base: pd.DataFrame, other: pd.DataFrame, names: tuple[str, str], attributes: Attributes
) -> None:
    """Refuse two tables that say different things of one exam: whose it is, or what its groups are made of.

    Parameters
    ----------
    base, other : one row an exam, the same exams; a column that one of them lacks is not compared.
    names : what the tables are called.
    attributes : the groupings, whose columns have to agree.

    Raises
    ------
    ValueError : naming the columns, some exams and what either table says.
    """
    first = base.set_index("exam_id")
    second = other.set_index("exam_id").reindex(first.index)
    used = dict.fromkeys(g.column for g in attributes.groupings.values() if g.column)
    used |= {"patient_id": None} | ({"age_over_89": None} if "age" in used else {})
    faults = []
    for column in (name for name in used if name in first and name in second):
        sides = first[column], second[column]
        if column == "patient_id" and any((side == first.index).all() for side in sides):
            continue  # a table without patients counts every exam as one
        known = ~is_blank(sides[0]) & ~is_blank(sides[1])
        apart = known & (sides[0].map(fold_spelling) != sides[1].map(fold_spelling))
        if apart.any():
            exam = str(first.index[apart][0])
            faults.append(
                f"{column} differs in {int(apart.sum())} exams: {exam} has {sides[0][exam]!r} in {names[0]} and "
                f"{sides[1][exam]!r} in {names[1]}"
            )
    if faults:
        raise ValueError(
            "the two tables describe the same exams differently; correct one, or give both the same table of exams "
            "(scores.cohort, against.cohort):\n  " + "\n  ".join(faults)
        )


def audit_again(
    audit: AuditResult,
    scores: pd.DataFrame,
    groups: pd.DataFrame,
    patients: pd.Series,
    attributes: Attributes,
) -> AuditResult:
    """Audit as before what two rulers have in common: fewer exams, or macro scores over fewer structures."""
    asked = scores[scores["metric"].isin(list(audit.metrics))]
    return audit_scores(asked, groups, patients, audit.settings, attributes, None, audit.metrics)


def take_side(scores: pd.DataFrame, audit: AuditResult) -> Audited:
    """Make a side of a comparison of the scores that were audited."""
    asked = scores[scores["metric"].isin(list(audit.metrics))]
    return Audited(asked, audit.tests, audit.disparities, audit.metrics)


def write_common_audits(audits: Iterable[AuditResult], folder: Path) -> None:
    """Write the audits over the common exams and structures beside their comparison."""
    for audit in audits:
        place = folder / OF_COMMON / audit.ruler
        place.mkdir(parents=True, exist_ok=True)
        write_audit(audit, place)


def read_common_audits(folder: Path) -> dict[str, AuditResult]:
    """Read the audits over the common exams of a comparison, by ruler; none where the exams were the same."""
    return {
        path.parent.name: read_audit(path.parent)
        for path in sorted((folder / OF_COMMON).glob("*/audit.json"))
    }
