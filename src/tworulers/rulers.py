"""What does changing the ruler do to an audit: is the change in the gap, in the noise, or in neither?"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tworulers.metrics.macro import count_partial
from tworulers.schema import MACRO, METRICS, Audit, Metric, Provenance
from tworulers.stats.closeness import Closeness, measure_closeness
from tworulers.stats.disagreement import (
    Disagreement,
    Row,
    compare_gaps,
    measure_disagreement,
    order_groups,
)
from tworulers.stats.flips import (
    TEST,
    count_by_family,
    summarise_flips,
    tabulate_flips,
    tabulate_four_fifths,
)
from tworulers.stats.paired import measure_inflation
from tworulers.stats.pairs import (
    SCORE,
    GroupedPair,
    Pair,
    group_pairs,
    pair_scores,
)
from tworulers.stats.power import trace_verdicts
from tworulers.stats.resample import named_stream
from tworulers.stats.verdicts import MeasuredTest, count_changed, name_fault, settle_verdicts


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
    """Tidy frames of a comparison of two rulers over the same predictions, and a strict-JSON summary.

    `inflation` has a row a score, `closeness` a row a structure with Dice; `spread`,
    `decomposition`, `verdicts` and `flips` a row a grouping and score; `four_fifths` a row a
    threshold at which one ruler alone falls below four fifths.
    """

    inflation: pd.DataFrame
    closeness: pd.DataFrame
    spread: pd.DataFrame
    decomposition: pd.DataFrame
    verdicts: pd.DataFrame
    flips: pd.DataFrame
    four_fifths: pd.DataFrame
    summary: dict[str, Any]


@dataclass(frozen=True)
class RegimeComparison:
    """Tidy frames of a comparison of two regimes under one ruler: paired differences, changes of
    gaps, flips.
    """

    differences: pd.DataFrame
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
) -> Comparison:
    """Compare the audits of one regime's predictions under two rulers; diagnose each disagreement.

    Parameters
    ----------
    base, other : the audits of the same exams; `base` is under the ruler compared with, usually the
        experts'.
    groups : index `exam_id`, one ordered categorical column a grouping; missing is in no group.
    settings : level, smallest group with a verdict, numbers of draws, seed.
    patients : patient of each exam, index `exam_id`; exams of one patient are drawn and exchanged
        together. Every exam is its own patient if None.
    ruler_against_expert : `exam_id`, `structure`, `value`: Dice of the other ruler against the base
        ruler.
    shared_error : `exam_id`, `structure`, `value`: index of the errors that model and ruler share.

    Raises
    ------
    ValueError : the two sides scored different exams, structures or metrics, or the predictions of
        different regimes.
    """
    if base.name("regime") != other.name("regime"):
        raise ValueError(
            "rulers can be compared over one regime's predictions only; found "
            f"{base.name('regime')!r} and {other.name('regime')!r}"
        )
    pairs = _pair(base, other)
    names = {
        f"{side}_{column}": audited.name(column)
        for side, audited in (("base", base), ("other", other))
        for column in ("ruler", "provenance")
    }
    inflation = tabulate_inflation(pairs)
    closeness = tabulate_closeness(
        pairs, ruler_against_expert, shared_error, may_repeat=may_repeat(names["other_provenance"])
    )
    status = overall_status(closeness)
    flips = tabulate_flips(base.tests, other.tests, settings.alpha)
    measured = _measure(_walk(pairs, groups, patients), flips, names, settings)
    verdicts = settle_verdicts(measured, status, settings)
    four_fifths = tabulate_four_fifths(base.disparities, other.disparities)
    nothing = flips.assign(verdict="", reversal=False, sentence="", undefined_because=None)
    table = pd.DataFrame(verdicts) if verdicts else nothing
    summary: dict[str, Any] = {"regime": base.name("regime"), **names, "status": status}
    summary |= summarise_flips(flips, four_fifths) | {"verdicts": count_by_family(table, "verdict")}
    summary["macro_partial"] = count_partial(base.scores)
    summary["tests_changed"] = count_changed(measured, settings)
    summary["reversals"] = count_by_family(table[table["reversal"].eq(True)], "family")
    figures = closeness.drop(columns="structure").astype(object).where(closeness.notna(), None)
    summary["closeness"] = dict(
        zip(closeness["structure"], figures.to_dict("records"), strict=True)
    )
    summary["inflation"] = _by_score(
        inflation, ("mean", "mean_low", "mean_high", "forgiven_share", "spearman")
    )
    return Comparison(
        inflation,
        closeness,
        pd.DataFrame([_tabulate(test, Disagreement.tabulate_spread) for test in measured]),
        pd.DataFrame([_tabulate(test, Disagreement.tabulate_parts) for test in measured]),
        table,
        flips,
        four_fifths,
        summary,
    )


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
    if base.name("ruler") != other.name("ruler"):
        raise ValueError(
            "regimes can be compared under one ruler only; found "
            f"{base.name('ruler')!r} and {other.name('ruler')!r}"
        )
    pairs = _pair(base, other)
    flips = tabulate_flips(base.tests, other.tests, settings.alpha)
    rows = []
    for pair, grouped in _walk(pairs, groups, patients):
        row = {"grouping": grouped.grouping, **_identify(pair), "n": len(grouped.base)}
        row |= _count_missing(pair)
        if len(grouped.names) < 2:
            rows.append(row | {"change": "undefined", "undefined_because": name_fault(grouped)})
        else:
            compared = compare_gaps(grouped, settings) | order_groups(grouped)
            rows.append(row | compared | {"undefined_because": None})
    differences = tabulate_inflation(pairs).drop(columns="forgiven_share")
    four_fifths = tabulate_four_fifths(base.disparities, other.disparities)
    table = flips[["grouping", "structure", "metric", "family"]].merge(pd.DataFrame(rows))
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
        differences, ("mean", "mean_low", "mean_high", "hodges_lehmann", "wilcoxon_p")
    )
    return RegimeComparison(differences, table, flips, four_fifths, summary)


def verdict_probability(
    base: pd.DataFrame,
    other: pd.DataFrame,
    groups: pd.DataFrame,
    sizes: Sequence[int],
    draws: int,
    seed: int,
    *,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Give the probability of a significant test under both rulers as the number of exams grows.

    A flip is a window in n: with more exams the experts' labels find a real gap too.

    Parameters
    ----------
    base, other : long scores of the same exams under two rulers; the tests are one family each.
    groups : index `exam_id`, one ordered categorical column a grouping.
    sizes : numbers of exams, drawn with replacement from those there are.
    draws : studies drawn at each size, the same exams under both rulers.
    seed : of the draws.
    alpha : level.

    Returns
    -------
    One row a size and test: `n`, `grouping`, `structure`, `metric`, and for raw and adjusted p
    `probability_base`, `probability_other`, `probability_fdr_base`, `probability_fdr_other`.
    """
    key = ["n", "grouping", "structure", "metric"]
    traced = []
    for side, scores in (("base", base), ("other", other)):
        wide = scores.pivot_table(
            index="exam_id", columns=["structure", "metric"], values="value", dropna=False
        ).sort_index()
        labels = wide.columns.to_frame(index=False)
        wide.columns = pd.RangeIndex(len(labels))
        rng = named_stream(seed, "verdict probability")
        rows = trace_verdicts(wide, groups.loc[wide.index], sizes, draws, rng, alpha)
        rows = rows.join(labels, on="score").set_index(key)[["probability", "probability_fdr"]]
        traced.append(rows.add_suffix(f"_{side}"))
    return traced[0].join(traced[1], how="outer").reset_index()


def tabulate_inflation(pairs: list[Pair]) -> pd.DataFrame:
    """Measure the paired difference of every score, one row each."""
    return pd.DataFrame(
        [
            _identify(pair)
            | _count_missing(pair)
            | _spread_over_exams(pair)
            | asdict(measure_inflation(pair.base, pair.other, perfect=_perfect(pair.metric)))
            for pair in pairs
        ]
    )


def may_repeat(provenance: str) -> bool:
    """Tell whether labels of a provenance may repeat the model: a machine's, or unknown ones."""
    return provenance not in (Provenance.GOLD, Provenance.TRUTH)


def tabulate_closeness(
    pairs: list[Pair],
    ruler_against_expert: pd.DataFrame | None,
    shared_error: pd.DataFrame | None,
    *,
    may_repeat: bool = True,
) -> pd.DataFrame:
    """Measure for each structure with Dice how close the other ruler is to the model."""
    rows = [
        {"structure": pair.structure}
        | asdict(
            measure_closeness(
                pair.other,
                pair.base,
                _pick(ruler_against_expert, pair),
                _pick(shared_error, pair),
                asked=may_repeat,
            )
        )
        for pair in pairs
        if pair.metric.name == "dice" and len(pair.base) > 1
    ]
    return pd.DataFrame(rows, columns=["structure", *(column.name for column in fields(Closeness))])


def _pair(base: Audited, other: Audited) -> list[Pair]:
    known = base.scores[base.scores["metric"].isin(list(base.metrics))]
    tested = (base.tests if len(base.tests) else known)[SCORE].drop_duplicates()
    left, right = (audited.scores.merge(tested, on=SCORE) for audited in (base, other))
    return pair_scores(left, right, base.metrics)


def _perfect(metric: Metric) -> float:
    """Score of a faultless prediction; NaN where a metric declares none."""
    return np.nan if metric.perfect is None else metric.perfect


def _measure(
    walked: Iterator[tuple[Pair, GroupedPair]],
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
        row |= {"n": len(grouped.base), **_count_missing(pair)}
        few = len(grouped.names) < 2
        found = None if few else measure_disagreement(grouped, settings)
        measured.append(MeasuredTest(row, grouped, found))
    return measured


def _tabulate(test: MeasuredTest, write: Callable[[Disagreement], Row]) -> Row:
    """Write one table's part of what was measured, or why nothing was."""
    kept = {name: test.row[name] for name in (*TEST, "n", "n_undefined", "n_infinite")}
    if test.found is None:
        return kept | {"undefined_because": name_fault(test.grouped)}
    return kept | write(test.found)


def _walk(
    pairs: list[Pair], groups: pd.DataFrame, patients: pd.Series | None
) -> Iterator[tuple[Pair, GroupedPair]]:
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


def _pick(table: pd.DataFrame | None, pair: Pair) -> NDArray[np.float64] | None:
    """Return the values of one structure for the exams of a pair, where a table gives any."""
    if table is None:
        return None
    rows = table[(table["structure"] == pair.structure) & table["exam_id"].isin(pair.exams)]
    return rows["value"].to_numpy(dtype=np.float64) if len(rows) else None


def overall_status(closeness: pd.DataFrame) -> str:
    """Judge the ruler by the macro score, or by its closest structure where there is none."""
    status = closeness.set_index("structure")["status"]
    if MACRO in status.index:
        return str(status[MACRO])
    found = set(status)
    return next(
        (name for name in ("identical", "too_close", "distinct") if name in found), "unknown"
    )


def _by_score(table: pd.DataFrame, columns: tuple[str, ...]) -> dict[str, dict[str, float | None]]:
    """Nest the figures of each score as `structure/metric`, undefined ones as null."""
    return {
        f"{row['structure']}/{row['metric']}": {
            column: float(row[column]) if np.isfinite(row[column]) else None for column in columns
        }
        for _, row in table.iterrows()
    }
