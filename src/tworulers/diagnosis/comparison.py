"""What does changing the ruler do to an audit: is the change in the gap, in the noise, or in neither?"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from tworulers.battery.questions import Question
from tworulers.diagnosis.by_group import number_patients, tabulate_by_group
from tworulers.diagnosis.closeness import count_needed, overall_status, tabulate_closeness
from tworulers.diagnosis.disagreement import (
    Disagreement,
    compare_gaps,
    measure_disagreement,
    order_groups,
)
from tworulers.diagnosis.flips import (
    TEST,
    count_by_family,
    summarise_flips,
    tabulate_flips,
    tabulate_four_fifths,
)
from tworulers.diagnosis.inflation import measure_inflation
from tworulers.diagnosis.known import Corrected, RulerKnowledge
from tworulers.diagnosis.pairs import (
    SCORE,
    Pair,
    group_pairs,
    pair_scores,
)
from tworulers.diagnosis.verdicts import MeasuredTest, count_changed, name_fault, settle_verdicts
from tworulers.diagnosis.witness import Witnessed
from tworulers.metrics.macro import count_partial
from tworulers.metrics.registry import METRICS
from tworulers.schema.metric import Metric
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Relation
from tworulers.stats.types import Row

NO_VERDICT: dict[str, Any] = {
    "mechanism": "none",
    "verdict": "",
    "reversal": False,
    "undefined_because": None,
}
"""Columns of the table of verdicts where nothing was compared."""


@dataclass(frozen=True)
class Audited:
    """One side of a comparison: its long scores, the tests and disparities of its audit, metrics.

    Only scores that were tested are compared; where nothing was tested, all scores are.
    """

    scores: pd.DataFrame
    tests: pd.DataFrame
    disparities: pd.DataFrame
    metrics: Mapping[str, Metric] = field(default_factory=lambda: METRICS)

    def name(self, column: str) -> str:
        """Return the regime, ruler or provenance of the scores; several are joined by a plus."""
        return "+".join(sorted(self.scores[column].astype(str).unique()))


@dataclass(frozen=True)
class Comparison:
    """Tidy frames of a comparison of two rulers over the same predictions, and a strict-JSON summary, with the
    metrics as the base audit declares them.

    `inflation` has a row a score, `closeness` a row a structure with Dice; `spread`,
    `decomposition`, `verdicts` and `flips` a row a grouping and score; `four_fifths` a row a
    threshold at which one ruler alone falls below four fifths; `agreement` a row a score and label volume.
    """

    inflation: pd.DataFrame
    closeness: pd.DataFrame
    spread: pd.DataFrame
    decomposition: pd.DataFrame
    verdicts: pd.DataFrame
    flips: pd.DataFrame
    four_fifths: pd.DataFrame
    summary: dict[str, Any]
    metrics: Mapping[str, Metric] = field(default_factory=lambda: METRICS)
    agreement: pd.DataFrame = field(default_factory=pd.DataFrame)


@dataclass(frozen=True)
class RegimeComparison:
    """Tidy frames of a comparison of two regimes under one ruler: paired differences over all exams
    and within each group, changes of gaps, flips.
    """

    differences: pd.DataFrame
    by_group: pd.DataFrame
    gaps: pd.DataFrame
    flips: pd.DataFrame
    four_fifths: pd.DataFrame
    summary: dict[str, Any]


def compare_rulers(
    base: Audited,
    other: Audited,
    groups: pd.DataFrame,
    settings: Audit,
    *,
    patients: pd.Series | None = None,
    ruler_against_expert: pd.DataFrame | None = None,
    shared_error: pd.DataFrame | None = None,
    relation: str = Relation.UNKNOWN,
    testimony: Witnessed | None = None,
    corrected: Corrected | None = None,
    confirmed: Collection[tuple[str, ...]] = (),
) -> Comparison:
    """Compare the audits of one regime's predictions under two rulers; diagnose each disagreement.

    Parameters
    ----------
    base, other : the audits of the same exams; `base` is under the ruler compared with, usually the experts'.
    groups : index `exam_id`, one ordered categorical column a grouping; missing is in no group.
    settings : level, smallest group with a verdict, numbers of draws, seed.
    patients : patient of each exam, index `exam_id`, whose exams are drawn and exchanged together.
    ruler_against_expert : `exam_id`, `structure`, `value`: Dice of the other ruler against the base ruler.
    shared_error : `exam_id`, `structure`, `value`: index of the errors that model and ruler share.
    relation : of the other ruler's labels to the model, a word of `Relation`.
    testimony : what a second expert or the truth says of the other ruler.
    corrected : that the base's labels were made from the other ruler's.
    confirmed : tests in which the truth comes to the other ruler's conclusion.

    Raises
    ------
    ValueError : the two sides scored different exams, structures or metrics, or the predictions of
        different regimes.
    """
    _require_one("rulers can be compared over one regime's predictions", "regime", base, other)
    pairs = _pair(base, other)
    sides = (("base", base), ("other", other))
    judges = ("ruler", "provenance")
    names = {f"{side}_{name}": audited.name(name) for side, audited in sides for name in judges}
    known = RulerKnowledge(names["other_provenance"], relation, testimony, corrected)
    inflation = tabulate_inflation(pairs, patients)
    against = ruler_against_expert, shared_error
    closeness = tabulate_closeness(pairs, *against, known=known, patients=patients)
    status = known.settle_status(overall_status(closeness))
    flips = tabulate_flips(base.tests, other.tests, settings.alpha)
    measured = _measure(_walk(pairs, groups, patients), flips, names, settings)
    verdicts = settle_verdicts(measured, status, settings, known, confirmed)
    four_fifths = tabulate_four_fifths(base.disparities, other.disparities)
    table = pd.DataFrame(verdicts) if verdicts else flips.assign(**NO_VERDICT)
    summary: dict[str, Any] = {"regime": base.name("regime"), **names, "status": status}
    summary["known"] = known.tabulate() | {"second_expert_exams": count_needed(closeness)}
    summary |= summarise_flips(flips, four_fifths)
    summary["macro_partial"] = count_partial(base.scores)
    summary["tests_changed"] = count_changed(measured, settings)
    summary |= _summarise_tables(table, closeness, inflation)
    written = (Disagreement.tabulate_spread, Disagreement.tabulate_parts)
    spread, parts = (pd.DataFrame([_tabulate(x, how) for x in measured]) for how in written)
    return Comparison(
        *(inflation, closeness, spread, parts, table, flips, four_fifths, summary, base.metrics)
    )


def _summarise_tables(
    verdicts: pd.DataFrame, closeness: pd.DataFrame, inflation: pd.DataFrame
) -> dict[str, Any]:
    """Count verdicts and reversals, and nest closeness by structure and inflation by score."""
    figures = closeness.drop(columns="structure").astype(object).where(closeness.notna(), None)
    return {
        "verdicts": count_by_family(verdicts, "verdict"),
        "mechanisms": count_by_family(verdicts[verdicts["mechanism"] != "none"], "mechanism"),
        "reversals": count_by_family(verdicts[verdicts["reversal"].eq(True)], "family"),
        "closeness": dict(zip(closeness["structure"], figures.to_dict("records"), strict=True)),
        "inflation": _by_score(
            inflation, ("mean", "mean_low", "mean_high", "forgiven_share", "spearman")
        ),
    }


def compare_regimes(
    base: Audited,
    other: Audited,
    groups: pd.DataFrame,
    settings: Audit,
    *,
    patients: pd.Series | None = None,
) -> RegimeComparison:
    """Compare the audits of two regimes under one ruler: which scores better, and whose gaps are
    wider.

    Parameters
    ----------
    base, other : the audits of the same exams; differences are other - base.
    groups : index `exam_id`, one ordered categorical column a grouping.
    settings : level, numbers of draws, seed.
    patients : patient of each exam, index `exam_id`, where resampling draws patients; None draws
        exams.

    Raises
    ------
    ValueError : the two sides scored different exams, structures or metrics, or were judged by
        different rulers.
    """
    _require_one("regimes can be compared under one ruler", "ruler", base, other)
    pairs = _pair(base, other)
    flips = tabulate_flips(base.tests, other.tests, settings.alpha)
    rows = []
    for pair, grouped in _walk(pairs, groups, patients):
        row = {"grouping": grouped.grouping, **_identify(pair), "n": len(grouped.sample.codes)}
        row |= _count_missing(pair)
        if len(grouped.sample.names) < 2:
            rows.append(row | {"change": "undefined", "undefined_because": name_fault(grouped)})
        else:
            compared = compare_gaps(grouped, settings) | order_groups(grouped)
            rows.append(row | compared | {"undefined_because": None})
    differences = tabulate_inflation(pairs, patients).drop(columns="forgiven_share")
    by_group = tabulate_by_group(pairs, groups, patients, 1 - settings.alpha)
    four_fifths = tabulate_four_fifths(base.disparities, other.disparities)
    table = flips[["grouping", "structure", "metric", "family"]]
    # Where nothing was grouped there are no gaps, and no columns to join on.
    table = table.merge(pd.DataFrame(rows)) if rows else table.assign(change="")
    summary: dict[str, Any] = {
        "base_regime": base.name("regime"),
        "other_regime": other.name("regime"),
    }
    summary |= {"ruler": base.name("ruler"), "provenance": base.name("provenance")}
    summary["macro_partial"] = count_partial(base.scores)
    summary |= summarise_flips(flips, four_fifths) | {
        "gap_changes": count_by_family(table, "change")
    }
    summary["differences"] = _by_score(
        differences, ("mean", "mean_low", "mean_high", "hodges_lehmann", "wilcoxon_p", "p_verdict")
    )
    return RegimeComparison(differences, by_group, table, flips, four_fifths, summary)


def _require_one(what: str, column: str, base: Audited, other: Audited) -> None:
    """Refuse two sides that differ in what they have to have in common."""
    names = [one.name(column) for one in (base, other)]
    if names[0] != names[1]:
        raise ValueError(f"{what} only; found {names[0]!r} and {names[1]!r}")


def tabulate_inflation(pairs: list[Pair], patients: pd.Series | None) -> pd.DataFrame:
    """Measure the paired difference of every score, one row each; the exams of a patient are taken together."""
    rows = []
    for pair in pairs:
        who = number_patients(patients, pair.exams)
        perfect = _perfect(pair.metric)
        found = measure_inflation(pair.base, pair.other, perfect=perfect, patients=who)
        rows.append(
            _identify(pair) | _count_missing(pair) | _spread_over_exams(pair) | asdict(found)
        )
    return pd.DataFrame(rows)


def _pair(base: Audited, other: Audited) -> list[Pair]:
    known = base.scores[base.scores["metric"].isin(list(base.metrics))]
    tested = (base.tests if len(base.tests) else known)[SCORE].drop_duplicates()
    left, right = (audited.scores.merge(tested, on=SCORE) for audited in (base, other))
    return pair_scores(left, right, base.metrics)


def _perfect(metric: Metric) -> float:
    """Score of a faultless prediction; NaN where a metric declares none."""
    return np.nan if metric.perfect is None else metric.perfect


def _measure(
    walked: Iterator[tuple[Pair, Question]],
    flips: pd.DataFrame,
    names: Row,
    settings: Audit,
) -> list[MeasuredTest]:
    """Measure every test that both sides made."""
    by_test = flips.set_index(TEST)
    measured = []
    for pair, grouped in walked:
        key = {"grouping": grouped.grouping, **_identify(pair)}
        if tuple(key.values()) not in by_test.index:
            continue
        row: Row = {**key, **names, **by_test.loc[tuple(key.values())]}
        for side in ("base", "other"):
            row[f"significant_{side}"] = bool(row[f"p_verdict_fdr_{side}"] < settings.alpha)
        row |= {"n": len(grouped.sample.codes), **_count_missing(pair)}
        few = len(grouped.sample.names) < 2
        found = None if few else measure_disagreement(grouped, settings)
        measured.append(MeasuredTest(row, grouped, found))
    return measured


def _tabulate(test: MeasuredTest, write: Callable[[Disagreement], Row]) -> Row:
    """Write one table's part of what was measured, or why nothing was."""
    kept = {name: test.row[name] for name in (*TEST, "n", "n_undefined", "n_infinite")}
    if test.found is None:
        return kept | {"undefined_because": name_fault(test.question)}
    return kept | write(test.found)


def _walk(
    pairs: list[Pair], groups: pd.DataFrame, patients: pd.Series | None
) -> Iterator[tuple[Pair, Question]]:
    for pair in pairs:
        for grouped in group_pairs(pair, groups, patients):
            yield pair, grouped


def _identify(pair: Pair) -> Row:
    return {"structure": pair.structure, "metric": pair.metric.name}


def _spread_over_exams(pair: Pair) -> Row:
    sides = {"sd_base": pair.base, "sd_other": pair.other}
    return {n: float(x.std(ddof=1)) if len(x) > 1 else np.nan for n, x in sides.items()}


def _count_missing(pair: Pair) -> Row:
    return {"n_undefined": pair.n_undefined, "n_infinite": pair.n_infinite}


def _by_score(table: pd.DataFrame, columns: tuple[str, ...]) -> dict[str, dict[str, float | None]]:
    """Nest the figures of each score as `structure/metric`, undefined ones as null."""
    return {
        f"{row['structure']}/{row['metric']}": {
            column: float(row[column]) if np.isfinite(row[column]) else None for column in columns
        }
        for _, row in table.iterrows()
    }
