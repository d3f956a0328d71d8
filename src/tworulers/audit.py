"""Whether a model scores patient groups equally by one ruler: the whole battery, as tables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tworulers.metrics.asked import list_unknown
from tworulers.metrics.macro import count_partial
from tworulers.schema import MACRO, METRICS, Audit, Metric, Provenance
from tworulers.schema_sources import Attributes
from tworulers.stats.battery import (
    EXTRA,
    INTERSECTIONS,
    KEY,
    MAIN,
    RANDOM,
    Question,
    judge_rates,
    locate_groups,
    measure_power,
    run_test,
    tested_part,
)
from tworulers.stats.families import adjust_family
from tworulers.stats.groups import IntArray, Row, group_sample
from tworulers.stats.linear import JointModel, fit_joint_model, tabulate_model
from tworulers.stats.overview import (
    describe_groups,
    describe_overall,
    list_scores,
    summarise_families,
    summarise_groupings,
)
from tworulers.stats.ranks import compare_pairs
from tworulers.stats.rates import tabulate_rates
from tworulers.tables import Disparities, Groups, Rates, Tests, check_table, list_rows

DEPENDENT_EXAMS = "patients have several exams, which Dunn's comparison takes as independent"


class AuditError(ValueError):
    """Scores and groups cannot be audited; the message lists why."""


@dataclass(frozen=True)
class AuditResult:
    """An audit by one ruler, as tables; every one keeps groups in their order of display.

    Attributes
    ----------
    regime, ruler, provenance : whose predictions, and what judged them.
    attributes : name of the attribute set.
    resampling_unit : `exam` or `patient`, as drawn by the bootstrap.
    n_exams, n_patients : audited.
    settings, metrics : the battery, and the metrics it met.
    overall : one row a structure and metric, over all exams.
    groups, rates, tests, disparities : see `tworulers.tables`.
    differences : one row a pair of groups and score, second minus first.
    posthoc : Dunn's comparison of pairs where the p of the verdict is below alpha; NaN, with why,
        where patients have several exams, since it takes exams as independent.
    linear : the joint regression, one row a term.
    power : the smallest gap found with 80 % power, at alpha and at alpha / family size.
    groupings : one row a grouping: sizes, who is left out, tests, smallest p.
    families : one row a family: tests configured, computed, missing, significant.
    """

    regime: str
    ruler: str
    provenance: str
    attributes: str
    resampling_unit: str
    n_exams: int
    n_patients: int
    settings: Audit
    metrics: Mapping[str, Metric]
    overall: pd.DataFrame
    groups: pd.DataFrame
    rates: pd.DataFrame
    tests: pd.DataFrame
    disparities: pd.DataFrame
    differences: pd.DataFrame
    posthoc: pd.DataFrame
    linear: pd.DataFrame
    power: pd.DataFrame
    groupings: pd.DataFrame
    families: pd.DataFrame

    @property
    def by_patient(self) -> bool:
        """Tell whether a patient has several exams, so that significance keeps patients together."""
        return self.n_patients < self.n_exams


def audit_scores(
    scores: pd.DataFrame,
    groups: pd.DataFrame,
    patients: pd.Series,
    settings: Audit,
    attributes: Attributes,
    covariates: pd.DataFrame | None = None,
    measures: Mapping[str, Metric] | None = None,
    progress: Callable[[str], None] | None = None,
) -> AuditResult:
    """Run the battery over every score and grouping.

    The tests of `settings.metrics` x `settings.structures` (all structures where none is named) by
    the plain groupings are one family; intersections, random groupings and further scores are
    families of their own. Nothing depends on the order of rows.

    Parameters
    ----------
    scores : a scores table of one regime and one ruler.
    groups : indexed by exam_id, one ordered categorical column a grouping; missing is in no group.
        Without any grouping the scores are described and nothing is tested.
    patients : patient_id, indexed by exam_id.
    settings : the battery.
    attributes : names, titles and kinds of the groupings, and the resampling unit.
    covariates : indexed by exam_id, numeric columns that `settings.linear_terms` may name.
    measures : metrics of the table's own, by name, beside the known ones.
    progress : told the name of each grouping as its turn comes.

    Raises
    ------
    AuditError : listing everything that makes the tables unfit: several regimes or rulers, no
        provenance, repeated rows, metrics that nothing knows, scored exams without groups or
        patient.
    """
    metrics = {**METRICS, **(measures or {})}
    _check_inputs(scores, groups, patients, settings, attributes, metrics)
    table = _spread_scores(scores, settings)
    groups, who = groups.loc[table.index], patients.loc[table.index]
    codes = pd.factorize(who)[0].astype(np.int64)
    repeated = len(np.unique(codes)) < len(codes)
    by_patient = attributes.resampling_unit == "patient" and repeated
    units = codes if by_patient else np.arange(len(codes), dtype=np.int64)
    questions, tests, disparities = [], [], []
    summaries: list[Row] = []
    rates: list[Row] = []
    differences: list[Row] = []
    level = 1 - settings.alpha
    for grouping in map(str, groups):
        if progress is not None:
            progress(grouping)
        left_out = groups[grouping].isna().to_numpy()
        for question in _ask(grouping, table, groups[grouping], (codes, units), metrics):
            questions.append(question)
            family = {"family": _family_of(question, settings, attributes)}
            gaps, pairs = locate_groups(question, settings)
            tests.append(run_test(question, settings) | gaps | family)
            differences += pairs
            values = table[question.structure, question.metric.name].to_numpy(dtype=float)
            summaries += describe_groups(question, values, left_out, settings)
            for threshold, primary in _thresholds(question, table, settings):
                row = judge_rates(question, threshold, settings, primary)
                disparities.append(row | family)
                part = tabulate_rates(question.sample, threshold, question.metric, level)
                rates += [question.key | {"primary": primary} | row for row in part]
    provenances = sorted(scores["provenance"].unique())
    ruler = str(scores["ruler"].iloc[0])
    provenance = str(provenances[0] if len(provenances) == 1 else Provenance.MIXED)
    judged = {"ruler": ruler, "provenance": provenance}
    unit = "patient" if repeated else "exam"
    test_frame = _correct(pd.DataFrame(tests), unit, settings).assign(**judged)
    families = summarise_families(test_frame, settings.alpha)
    return AuditResult(
        regime=str(scores["regime"].iloc[0]),
        ruler=ruler,
        provenance=provenance,
        attributes=attributes.name,
        resampling_unit="patient" if by_patient else "exam",
        n_exams=len(table),
        n_patients=len(np.unique(codes)),
        settings=settings,
        metrics={name: metrics[name] for name in dict.fromkeys(scores["metric"])},
        overall=describe_overall(table, count_partial(scores)),
        groups=_hold_to(Groups, pd.DataFrame(summaries)),
        rates=_hold_to(Rates, pd.DataFrame(rates)),
        tests=_hold_to(Tests, test_frame),
        disparities=_hold_to(Disparities, pd.DataFrame(disparities).assign(**judged)),
        differences=pd.DataFrame(differences),
        posthoc=_compare_further(questions, test_frame, settings),
        linear=_fit_linear(table, groups, covariates, settings),
        power=_measure_power(questions, test_frame, families, settings),
        groupings=summarise_groupings(groups, test_frame, settings, attributes),
        families=families,
    )


def _check_inputs(
    scores: pd.DataFrame,
    groups: pd.DataFrame,
    patients: pd.Series,
    settings: Audit,
    attributes: Attributes,
    metrics: Mapping[str, Metric],
) -> None:
    """List everything that makes the tables unfit for an audit in one error."""
    faults = []
    if scores.empty:
        raise AuditError("the scores table is empty: nothing to audit")
    for column in ("regime", "ruler"):
        if len(found := sorted(map(str, scores[column].unique()))) > 1:
            faults.append(f"column {column!r}: expected one, found {', '.join(found)}")
    if scores["provenance"].isna().any():
        faults.append("column 'provenance': not given; without it a verdict cannot be made")
    if len(unknown := sorted(set(scores["metric"]) - set(metrics))) > 0:
        faults.append(f"column 'metric': expected {', '.join(metrics)}, found {', '.join(unknown)}")
    repeated = scores[scores.duplicated(["exam_id", "structure", "metric"])]
    faults += [
        f"exam {row.exam_id}: {row.metric} of {row.structure} is given more than once"
        for row in repeated.head(5).itertuples()
    ]
    if len(repeated) > 5:
        faults.append(f"{len(repeated) - 5} more scores are given more than once")
    for name, index in (("groups", groups.index), ("patients", patients.index)):
        if index.has_duplicates:
            faults.append(f"{name}: exams named more than once: {_some(index[index.duplicated()])}")
        if len(missing := sorted(set(scores["exam_id"]) - set(index))) > 0:
            faults.append(f"{name}: scored exams that are not there: {_some(missing)}")
    if attributes.resampling_unit not in ("exam", "patient"):
        faults.append(
            f"resampling_unit is {attributes.resampling_unit!r}, expected 'exam' or 'patient'"
        )
    faults += list_unknown(settings, metrics)
    scored = sorted(set(scores["metric"]))
    if not set(settings.metrics) & set(scored):
        wanted = ", ".join(settings.metrics)
        faults.append(f"none of the metrics {wanted} is scored; found {', '.join(scored)}")
    if faults:
        raise AuditError("scores and groups do not fit together:\n  " + "\n  ".join(faults))


def _some(names: "pd.Index | list[str]") -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(str, names[:5])) + more


def _spread_scores(scores: pd.DataFrame, settings: Audit) -> pd.DataFrame:
    """One row an exam, sorted by name, one column a (structure, metric) in the order configured."""
    table = scores.set_index(["exam_id", "structure", "metric"])["value"].astype(float)
    wide = table.unstack(["structure", "metric"]).sort_index()  # noqa: PD010
    structures = list(dict.fromkeys([*settings.structures, *scores["structure"]]))
    metrics = list(dict.fromkeys([*settings.metrics, *settings.extra_metrics, *scores["metric"]]))
    return wide[[(s, m) for m in metrics for s in structures if (s, m) in wide]]


def _ask(
    grouping: str,
    table: pd.DataFrame,
    groups: pd.Series,
    people: tuple[IntArray, IntArray],
    metrics: Mapping[str, Metric],
) -> list[Question]:
    """Pose one question a score; `people` are the patient and the resampling unit of each exam."""
    return [
        Question(
            grouping,
            structure,
            metrics[metric],
            group_sample(table[structure, metric].to_numpy(dtype=float), groups, *people),
        )
        for structure, metric in list_scores(table)
    ]


def _family_of(question: Question, settings: Audit, attributes: Attributes) -> str:
    """Name the family a test is corrected in."""
    inside = question.metric.name in settings.metrics
    if settings.structures:
        inside &= question.structure in settings.structures
    if not inside:
        return EXTRA
    grouping = attributes.groupings.get(question.grouping)
    kind = grouping.kind if grouping is not None else ""
    return {"intersection": INTERSECTIONS, "random": RANDOM}.get(kind, MAIN)


def _thresholds(
    question: Question, table: pd.DataFrame, settings: Audit
) -> list[tuple[float, bool]]:
    """Thresholds of a score, the primary one marked; macro scores, if any, are swept."""
    name = question.metric.name
    if name not in settings.thresholds:
        return []
    primary = settings.thresholds[name]
    swept = question.structure == MACRO or (MACRO, name) not in table
    values = {primary, *(settings.sweep.get(name, []) if swept else [])}
    return [(value, value == primary) for value in sorted(values)]


def _correct(tests: pd.DataFrame, unit: str, settings: Audit) -> pd.DataFrame:
    """Adjust p within families, raw and permuted, and say which of the two the verdict rests on."""
    if tests.empty:
        return tests.reindex(columns=list(Tests.to_schema().columns))
    for raw, adjusted in (("p", "p_fdr"), ("p_permutation", "p_permutation_fdr")):
        tests[adjusted] = np.nan
        for _, rows in tests.groupby("family", sort=False):
            tests.loc[rows.index, adjusted] = adjust_family(rows[raw].to_numpy()).adjusted
    source = "p_permutation" if unit == "patient" else "p"
    reason = "permutation_undefined_because" if unit == "patient" else "undefined_because"
    return tests.assign(
        verdict_by=unit,
        p_verdict=tests[source],
        p_verdict_fdr=tests[f"{source}_fdr"],
        verdict_undefined_because=tests[reason],
        significant=tests[f"{source}_fdr"] < settings.alpha,
    )


def _compare_further(
    questions: list[Question], tests: pd.DataFrame, settings: Audit
) -> pd.DataFrame:
    """Compare pairs of groups where Kruskal-Wallis is significant, at least before correction."""
    frames = []
    for question, test in zip(questions, list_rows(tests), strict=True):
        if test["test"] == "kruskal_wallis" and test["p_verdict"] < settings.alpha:
            of_test = {"test_p": test["p_verdict"], "test_p_fdr": test["p_verdict_fdr"]}
            of_test |= {"significant": test["significant"], "undefined_because": None}
            if test["verdict_by"] == "patient":
                of_test |= dict.fromkeys(("z", "p", "p_adjusted"), np.nan)
                of_test["undefined_because"] = DEPENDENT_EXAMS
            frames.append(
                compare_pairs(tested_part(question.sample)).assign(**question.key, **of_test)
            )
    names = [*KEY, "group_a", "group_b", "z", "p", "p_adjusted", "correction"]
    names += ["test_p", "test_p_fdr", "significant", "undefined_because"]
    return _key_first(pd.concat(frames)) if frames else pd.DataFrame(columns=names)


def _measure_power(
    questions: list[Question], tests: pd.DataFrame, families: pd.DataFrame, settings: Audit
) -> pd.DataFrame:
    """Measure the power of tests that found nothing, of macro scores where there are any."""
    rows = []
    size = families.set_index("family")["size"]
    any_macro = (tests["structure"] == MACRO).any()
    for question, test in zip(questions, list_rows(tests), strict=True):
        wanted = question.structure == MACRO or not any_macro
        wanted &= (
            not np.isnan(test["p_verdict"]) and not test["significant"] and test["family"] != EXTRA
        )
        if wanted and settings.power_draws > 0:
            rows += measure_power(question, settings, int(size[test["family"]]))
    names = [*KEY, "correction", "alpha", "power", "detectable_gap", "observed_gap"]
    names += ["power_at_observed", "draws", "undefined_because"]
    return pd.DataFrame(rows, columns=names)


def _fit_linear(
    table: pd.DataFrame, groups: pd.DataFrame, covariates: pd.DataFrame | None, settings: Audit
) -> pd.DataFrame:
    """Fit the macro score of the first metric on the stated groupings and numbers."""
    metric = table.columns[0][1]
    structure = MACRO if (MACRO, metric) in table else table.columns[0][0]
    score = table[structure, metric]
    terms: dict[str, pd.Series] = {}
    absent = []
    for name in settings.linear_terms if settings.linear else ():
        if name in groups:
            terms[name] = groups[name]
        elif covariates is not None and name in covariates:
            terms[name] = pd.to_numeric(covariates[name]).reindex(table.index)
        else:
            absent.append(name)
    if not settings.linear:
        reason = "not asked for"
    elif absent:
        reason = f"neither a grouping nor a numeric column: {', '.join(absent)}"
    else:
        frame = pd.DataFrame(terms, index=table.index)
        model = fit_joint_model(score, frame, settings.covariance, 1 - settings.alpha)
        return tabulate_model(model).assign(structure=structure, metric=metric)
    model = JointModel(0, len(score), settings.covariance, undefined_because=reason)
    return tabulate_model(model).assign(structure=structure, metric=metric)


def _key_first(frame: pd.DataFrame) -> pd.DataFrame:
    """Put the columns that identify a row first and number the rows."""
    return frame[[*KEY, *(c for c in frame.columns if c not in KEY)]].reset_index(drop=True)


def _hold_to(
    model: "type[Groups | Rates | Tests | Disparities]", frame: pd.DataFrame
) -> pd.DataFrame:
    """Order a table's columns as its contract does, and hold it to it."""
    names = list(model.to_schema().columns)
    if frame.empty:
        frame = pd.DataFrame({name: pd.Series(dtype="object") for name in names})
    return check_table(frame[names].reset_index(drop=True), model, model.__name__.lower())
