"""Whether a table of scores is whole: every exam with every score, every structure with every metric."""

from collections.abc import Sequence

import pandas as pd

from tworulers.schema.settings import MACRO

_SCORE = ["structure", "metric"]
_WHOLE = (MACRO, "all")


def find_lacking(scores: pd.DataFrame, exams: Sequence[str] | None = None) -> pd.DataFrame:
    """List the scores that a table has for some of its exams and lacks for others.

    Parameters
    ----------
    scores : one row an `exam_id`, `structure` and `metric`.
    exams : the exams that should be there; those of the table where not given.

    Returns
    -------
    The absent rows: `exam_id`, `structure`, `metric`.
    """
    if scores.empty:
        return scores[["exam_id", *_SCORE]]
    wanted = pd.DataFrame({"exam_id": list(exams or dict.fromkeys(scores["exam_id"]))})
    wanted = wanted.merge(scores[_SCORE].drop_duplicates(), how="cross")
    found = wanted.merge(scores[["exam_id", *_SCORE]].drop_duplicates(), how="left", indicator=True)
    return found.loc[found["_merge"] == "left_only", ["exam_id", *_SCORE]].reset_index(drop=True)


def tell_lacking(lacking: pd.DataFrame, exams: int) -> list[str]:
    """Count in a sentence a score how many of the exams lack it."""
    return [
        f"{metric} of {structure} lacks in {len(part)} of {exams} exams"
        for (structure, metric), part in lacking.groupby(_SCORE, sort=False)
    ]


def tell_gaps(scores: pd.DataFrame) -> list[str]:
    """Name the metrics that some structures of the table have and others have not."""
    pairs = scores.loc[~scores["structure"].isin(_WHOLE), _SCORE].drop_duplicates()
    structures = list(dict.fromkeys(pairs["structure"]))
    sentences = []
    for metric, part in pairs.groupby("metric", sort=False):
        absent = [name for name in structures if name not in set(part["structure"])]
        if absent:
            sentences.append(f"the table has no {metric} of {', '.join(absent)}")
    return sentences
