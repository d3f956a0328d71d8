"""What few expert-scored and many machine-scored exams say together of each group's mean score."""

from pathlib import Path

import pandas as pd

from tworulers.io.paths import Layout
from tworulers.io.records import read_table, write_json, write_table
from tworulers.schema import MACRO, Settings
from tworulers.stages.audit import form_groups
from tworulers.stages.score import BEYOND
from tworulers.stats.anchored import anchor_gaps, anchor_groups, assess_exchangeability
from tworulers.tables import Cohort, Scores

COVARIATES = ("sex", "age", "race", "ethnicity", "manufacturer", "field_strength_t")


def anchor_scores(
    regime: str, base: str, other: str, settings: Settings, layout: Layout, folder: Path
) -> list[str]:
    """Write gold-anchored means and gaps of macro Dice, and return what has to be said of them.

    The other ruler has also scored test exams without an expert label; where it has not, nothing is written.

    Parameters
    ----------
    regime : whose predictions were scored.
    base, other : the expert ruler, and the ruler made of predictions.
    settings : attributes, level, draws and seed.
    layout : where the scores and the cohort lie.
    folder : where ``anchored_means``, ``anchored_gaps``, ``exchangeability`` (Parquet) and ``anchored.json`` go.
    """
    beyond = layout.scores(regime, other) / BEYOND
    if not beyond.is_file():
        return []
    gold = _macro_dice(read_table(layout.scores(regime, base) / "scores.parquet", "score", Scores))
    both = read_table(layout.scores(regime, other) / "scores.parquet", "score", Scores)
    silver = pd.concat([_macro_dice(both), _macro_dice(pd.read_parquet(beyond))])
    cohort = read_table(layout.cohort / "cohort.parquet", "cohort", Cohort).set_index("exam_id")
    exams = cohort.loc[silver.index]
    groups, _ = form_groups(exams.reset_index(), settings.attributes)
    level = 1 - settings.audit.alpha
    means, gaps = [], []
    for grouping in groups:
        found = anchor_groups(
            gold.reindex(silver.index), silver, groups[grouping].reindex(silver.index), level=level
        )
        means.append(found.assign(grouping=str(grouping)))
        gaps.append(anchor_gaps(found, level=level).assign(grouping=str(grouping)))
    covariates = exams[[name for name in COVARIATES if exams[name].notna().any()]]
    exchangeable = assess_exchangeability(
        pd.Series(silver.index.isin(gold.index), silver.index),
        covariates.assign(silver_score=silver),
        alpha=settings.audit.alpha,
        draws=settings.audit.permutations,
        seed=settings.audit.seed,
    )
    said = [
        f"Gold-anchored means rest on {len(gold)} exams with an expert label and {len(silver) - len(gold)} without; "
        "they hold where both are drawn alike."
    ]
    differing = list(exchangeable.loc[exchangeable["warning"], "attribute"])
    if differing:
        said.append(
            f"They are not drawn alike in {', '.join(differing)}: do not lean on these estimates."
        )
    write_table(pd.concat(means, ignore_index=True), folder / "anchored_means.parquet")
    write_table(pd.concat(gaps, ignore_index=True), folder / "anchored_gaps.parquet")
    write_table(exchangeable, folder / "exchangeability.parquet")
    write_json({"sentences": said}, folder / "anchored.json")
    return said


def _macro_dice(scores: pd.DataFrame) -> pd.Series:
    rows = scores[(scores["structure"] == MACRO) & (scores["metric"] == "dice")]
    return rows.set_index("exam_id")["value"].dropna()
