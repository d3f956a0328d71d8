"""Which exams and scores two sides of a comparison have in common, and what either has beyond them."""

from dataclasses import dataclass, replace

import pandas as pd

from tworulers.diagnosis.pairs import SCORE
from tworulers.metrics.macro import list_structures
from tworulers.schema.settings import MACRO, Audit


@dataclass(frozen=True)
class CommonExams:
    """The exams that both sides judged.

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
        """Refuse two sides that judged different exams.

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
        """Say over how many exams the sides are compared, where one of them judged more."""
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
            "common; a comparison is over two or more exams that both judged: are the ids spelled alike?"
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
        over = [sorted(list_structures(one[one["metric"] == metric])) for one in (base, other)]
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
    if not notes:
        return base, other, notes
    keys = pd.DataFrame(sorted(common), columns=SCORE)
    return base.merge(keys, on=SCORE), other.merge(keys, on=SCORE), notes


def keep_to_tests(settings: Audit, patients: pd.Series) -> Audit:
    """Leave out of an audit what a comparison does not read: power, margins, models, strata, permutations.

    Permutations stay where a patient has several exams, since significance rests on them.

    Parameters
    ----------
    settings : of the audit.
    patients : patient of each audited exam.
    """
    permutations = settings.permutations if patients.duplicated().any() else 0
    return replace(
        settings, permutations=permutations, power_draws=0, margin={}, linear=False, given=[]
    )
