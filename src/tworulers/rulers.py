"""What does changing the ruler do to an audit: is the change in the gap, in the noise, or in neither?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tworulers.schema import MACRO, METRICS, Audit, Metric
from tworulers.stats.closeness import Closeness, measure_closeness
from tworulers.stats.diagnosis import Verdict
from tworulers.stats.disagreement import (
    FIGURES,
    Row,
    compare_gaps,
    measure_disagreement,
    order_groups,
    say_verdict,
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
    patients : patient of each exam, index `exam_id`, where resampling draws patients; None draws
        exams.
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
    closeness = tabulate_closeness(pairs, ruler_against_expert, shared_error)
    status = overall_status(closeness)
    flips = tabulate_flips(base.tests, other.tests, settings.alpha)
    by_test = flips.set_index(TEST)
    spreads, decompositions, verdicts = [], [], []
    for pair, grouped in _walk(pairs, groups, patients):
        key = {"grouping": grouped.grouping, **_identify(pair)}
        if tuple(key.values()) not in by_test.index:
            continue
        test: Row = {**names, **by_test.loc[tuple(key.values())]}
        for side in ("base", "other"):
            test[f"significant_{side}"] = bool(test[f"p_fdr_{side}"] < settings.alpha)
        counts = {"n": len(grouped.base), **_count_missing(pair)}
        if len(grouped.names) < 2:
            reason = {"undefined_because": _name_fault(grouped)}
            spreads.append(key | counts | reason)
            decompositions.append(key | counts | reason)
            silent: Row = {"verdict": str(Verdict.UNDEFINED), "reversal": False, "sentence": ""}
            verdicts.append(key | test | counts | silent | dict.fromkeys(FIGURES, np.nan) | reason)
            continue
        found = measure_disagreement(grouped, settings)
        spreads.append(key | counts | found.tabulate_spread())
        decompositions.append(key | counts | found.tabulate_parts())
        judgement = found.judge(test["significant_base"], test["significant_other"], settings.alpha)
        row = asdict(judgement) | found.tabulate_figures() | order_groups(grouped)
        verdicts.append(_conclude(key | test | counts | row, grouped, status, settings))
    four_fifths = tabulate_four_fifths(base.disparities, other.disparities)
    nothing = flips.assign(verdict="", reversal=False, sentence="", undefined_because=None)
    table = pd.DataFrame(verdicts) if verdicts else nothing
    summary: dict[str, Any] = {"regime": base.name("regime"), **names, "status": status}
    summary |= summarise_flips(flips, four_fifths) | {"verdicts": count_by_family(table, "verdict")}
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
        pd.DataFrame(spreads),
        pd.DataFrame(decompositions),
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
            rows.append(row | {"change": "undefined", "undefined_because": _name_fault(grouped)})
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


def tabulate_closeness(
    pairs: list[Pair], ruler_against_expert: pd.DataFrame | None, shared_error: pd.DataFrame | None
) -> pd.DataFrame:
    """Measure for each structure with Dice how close the other ruler is to the model."""
    rows = [
        {"structure": pair.structure}
        | asdict(
            measure_closeness(
                pair.other, pair.base, _pick(ruler_against_expert, pair), _pick(shared_error, pair)
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


def _name_fault(grouped: GroupedPair) -> str:
    apart = "; not assessed: " + ", ".join(grouped.not_assessed) if grouped.not_assessed else ""
    return "fewer than two groups with two exams" + apart


def _conclude(row: Row, grouped: GroupedPair, status: str, settings: Audit) -> Row:
    """Settle the verdict of a row and write its sentence, or say why there is none."""
    small = [
        f"{name} (n {size})"
        for name, size in zip(grouped.names, grouped.sizes, strict=True)
        if size < settings.min_group
    ]
    reason = None
    if np.isnan(row["p_fdr_base"]) or np.isnan(row["p_fdr_other"]):
        reason = "the test could not be computed under both rulers"
    elif small:
        reason = f"a group below {settings.min_group} exams: {', '.join(small)}"
    verdict = row["verdict"] if reason is None else Verdict.UNDEFINED
    # Agreement with a ruler that repeats the model confirms nothing; a disagreement still tells of
    # the ruler.
    leans_on_it = status == "too_close" and verdict is Verdict.STABLE
    if reason is None and (status == "identical" or leans_on_it):
        verdict = Verdict.TOO_CLOSE
    row |= {"verdict": str(verdict), "undefined_because": reason}
    return row | {"sentence": say_verdict(row, grouped, status) if reason is None else ""}


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
