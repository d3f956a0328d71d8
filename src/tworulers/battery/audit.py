"""Whether a model scores patient groups equally by one ruler: the whole battery, as tables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tworulers.battery.adjusted import look_beside
from tworulers.battery.answers import answer_all
from tworulers.battery.linear import fit_stated_terms
from tworulers.battery.overview import (
    describe_overall,
    summarise_families,
    summarise_groupings,
)
from tworulers.battery.questions import KEY, PRIMARY, Question, tested_part
from tworulers.battery.repeats import count_repeats
from tworulers.battery.unfound import measure_power
from tworulers.battery.within import hold_to_margins
from tworulers.metrics.asked import list_unknown, list_unknown_questions
from tworulers.metrics.macro import count_partial
from tworulers.metrics.registry import METRICS
from tworulers.schema.metric import Metric
from tworulers.schema.settings import MACRO, Audit, Provenance
from tworulers.schema.sources import Attributes
from tworulers.schema.tables import list_rows
from tworulers.stats.families import adjust_p, adjust_within
from tworulers.stats.permute import compare_pairs_by_patient
from tworulers.stats.ranks import compare_pairs
from tworulers.stats.types import IntArray


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
    groups, rates, tests, disparities : see `tworulers.schema.tables`.
    differences : one row a pair of groups and score, second minus first.
    equivalence : the same, held to the margins that were given (`within.OF_PAIR`).
    posthoc : Dunn's comparison of pairs where the p of the verdict is below alpha; where patients
        have several exams by permutation, labels moving over patients.
    linear : the joint regression, one row a term.
    power : of tests that found nothing, the smallest gap found with 80 % power, at alpha and at alpha / family size;
        of primary questions also at alpha / all stated tests.
    repeats : exams a patient in every group, and whether groups differ in them; empty where every
        patient has one exam.
    adjusted : every test within strata of what is given, one row a test and column.
    mixed : one row a term of each score's mixed model in each grouping.
    trends : one row a test of an ordered grouping.
    shifts : one row a pair of groups and score, with intervals that hold together.
    label_shares : by group, how many exams a machine's labels judged; empty where labels are of one
        provenance.
    groupings : one row a grouping and family: sizes, who is left out, tests, smallest p.
    families : one row a family: tests configured, computed, missing, significant.
    inference : how the model predicted, where not as its recipe says; empty where it did, or nothing is known of it.
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
    equivalence: pd.DataFrame
    posthoc: pd.DataFrame
    linear: pd.DataFrame
    power: pd.DataFrame
    repeats: pd.DataFrame
    adjusted: pd.DataFrame
    mixed: pd.DataFrame
    trends: pd.DataFrame
    shifts: pd.DataFrame
    label_shares: pd.DataFrame
    groupings: pd.DataFrame
    families: pd.DataFrame
    inference: str = ""

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
    metrics: Mapping[str, Metric] = METRICS,
    progress: Callable[[str], None] | None = None,
    exams: pd.DataFrame | None = None,
) -> AuditResult:
    """Run the battery over every score and grouping; without a grouping scores are described only.

    Parameters
    ----------
    scores : a scores table of one regime and one ruler.
    groups : indexed by exam_id, one ordered categorical column a grouping; missing is in no group.
    patients : patient_id, indexed by exam_id.
    settings : the battery.
    attributes : names, titles and kinds of the groupings, and the resampling unit.
    covariates : indexed by exam_id, numeric columns that `settings.linear_terms` may name.
    metrics : what is known of every metric, by name.
    progress : told the name of each grouping as its turn comes.
    exams : indexed by exam_id, the table of exams, of whose columns `settings.given` names some.

    Raises
    ------
    AuditError : listing all that makes the tables unfit: several regimes or rulers, no provenance,
        repeated rows, metrics that nothing knows, scored exams without groups or patient.
    """
    _check_inputs(scores, groups, patients, settings, attributes, metrics)
    table = _spread_scores(scores, settings)
    groups = groups.loc[table.index]
    people, units = _number_people(patients.loc[table.index], attributes)
    asked = answer_all(table, groups, (people, units), metrics, settings, attributes, progress)
    judge = _name_judge(scores)
    tests = _correct(pd.DataFrame(asked.tests), people, settings).assign(**judge)
    tests, equivalence = hold_to_margins(asked.questions, tests, judge["provenance"], settings)
    families = summarise_families(tests, settings.alpha)
    return AuditResult(
        **judge,
        **_describe(scores, people, units, attributes),
        settings=settings,
        metrics={name: metrics[name] for name in dict.fromkeys(scores["metric"])},
        overall=describe_overall(table, count_partial(scores)),
        groups=_hold_to("Groups", pd.DataFrame(asked.groups)),
        rates=_hold_to("Rates", pd.DataFrame(asked.rates)),
        tests=_hold_to("Tests", tests),
        disparities=_hold_to("Disparities", pd.DataFrame(asked.disparities).assign(**judge)),
        differences=pd.DataFrame(asked.differences),
        equivalence=equivalence,
        posthoc=_compare_further(asked.questions, tests, settings),
        linear=fit_stated_terms(table, groups, covariates, settings, patients),
        power=measure_power(asked.questions, tests, families, settings),
        repeats=count_repeats(groups, people, settings),
        groupings=summarise_groupings(groups, tests, settings, attributes),
        families=families,
        **look_beside(asked.questions, tests, table, groups, exams, scores, settings, attributes),
    )


def _describe(
    scores: pd.DataFrame, people: IntArray, units: IntArray, attributes: Attributes
) -> dict[str, Any]:
    """Say what was audited, from the patient and the unit of resampling of each exam."""
    return {
        "regime": str(scores["regime"].iloc[0]),
        "attributes": attributes.name,
        "resampling_unit": "patient" if len(np.unique(units)) < len(units) else "exam",
        "n_exams": len(people),
        "n_patients": len(np.unique(people)),
    }


def _number_people(patients: pd.Series, attributes: Attributes) -> tuple[IntArray, IntArray]:
    """Give the patient and the unit of resampling of each exam as numbers."""
    people = pd.factorize(patients)[0].astype(np.int64)
    by_patient = attributes.resampling_unit == "patient"
    return people, people if by_patient else np.arange(len(people), dtype=np.int64)


def _name_judge(scores: pd.DataFrame) -> dict[str, Any]:
    """Name the ruler and the provenance of its labels, `mixed` where there are several."""
    found = scores["provenance"].unique()
    provenance = str(found[0] if len(found) == 1 else Provenance.MIXED)
    return {"ruler": str(scores["ruler"].iloc[0]), "provenance": provenance}


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
    faults += _list_faults_of_primary(scores, groups, settings)
    scored = sorted(set(scores["metric"]))
    if not set(settings.metrics) & set(scored):
        wanted = ", ".join(settings.metrics)
        faults.append(f"none of the metrics {wanted} is scored; found {', '.join(scored)}")
    if faults:
        raise AuditError("scores and groups do not fit together:\n  " + "\n  ".join(faults))


def _list_faults_of_primary(
    scores: pd.DataFrame, groups: pd.DataFrame, settings: Audit
) -> list[str]:
    """Say why the primary questions cannot be asked: they are not locked, or of what is not there."""
    locked = settings.locked
    if settings.family != PRIMARY:
        return []
    if not locked.questions:
        return [f"audit.family is {PRIMARY!r}, and audit.primary states no question"]
    scored = set(zip(scores["metric"], scores["structure"], strict=True))
    names = (list(dict.fromkeys(scores[column])) for column in ("metric", "structure"))
    metrics, structures = names
    unknown = list_unknown_questions(
        locked.questions, metrics, list(map(str, groups)), structures
    ) or [
        f"audit.primary: {metric} of {structure} is not scored"
        for metric, structure, _ in locked.questions
        if (metric, structure) not in scored
    ]
    return [*unknown, *filter(None, [locked.lacking])]


def _some(names: "pd.Index | list[str]") -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(str, names[:5])) + more


def _spread_scores(scores: pd.DataFrame, settings: Audit) -> pd.DataFrame:
    """One row an exam, sorted by name, one column a (structure, metric) in the order configured."""
    table = scores.set_index(["exam_id", "structure", "metric"])["value"].astype(float)
    wide = table.unstack(["structure", "metric"]).sort_index()  # noqa: PD010
    structures = list(dict.fromkeys([*settings.structures, *scores["structure"]]))
    lone = [structure for structure in structures if structure != MACRO]
    if MACRO in structures and len(lone) == 1 and settings.structures == lone:
        # The macro of a single structure is that structure once more.
        structures.remove(MACRO)
    metrics = list(dict.fromkeys([*settings.metrics, *settings.extra_metrics, *scores["metric"]]))
    return wide[[(s, m) for m in metrics for s in structures if (s, m) in wide]]


def _correct(tests: pd.DataFrame, patients: IntArray, settings: Audit) -> pd.DataFrame:
    """Adjust p within families, raw and permuted, and say which of the two the verdict rests on.

    It is the permuted one where one of the `patients` (of each exam) has several exams.
    """
    repeated = len(np.unique(patients)) < len(patients)
    if tests.empty:
        return _hold_to("Tests", tests)
    for raw in ("p", "p_permutation"):
        tests[f"{raw}_fdr"] = adjust_within(tests[raw], tests["family"])
    source = "p_permutation" if repeated else "p"
    reason = "permutation_undefined_because" if repeated else "undefined_because"
    return tests.assign(
        verdict_by="patient" if repeated else "exam",
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
            sample = tested_part(question.sample)
            pairs = compare_pairs(sample)
            if test["verdict_by"] == "patient":
                stream = question.stream(settings.seed, "permute pairs")
                z, p = compare_pairs_by_patient(sample, settings.permutations, stream)
                pairs = pairs.assign(z=z, p=p, p_adjusted=adjust_p(p, "bonferroni"))
            of_test = {"test_p": test["p_verdict"], "test_p_fdr": test["p_verdict_fdr"]}
            of_test |= {"significant": test["significant"], "verdict_by": test["verdict_by"]}
            of_test |= {"undefined_because": None}
            frames.append(pairs.assign(**question.key, **of_test))
    names = [*KEY, "group_a", "group_b", "z", "p", "p_adjusted", "correction"]
    names += ["test_p", "test_p_fdr", "significant", "verdict_by", "undefined_because"]
    return _key_first(pd.concat(frames)) if frames else pd.DataFrame(columns=names)


def _key_first(frame: pd.DataFrame) -> pd.DataFrame:
    """Put the columns that identify a row first and number the rows."""
    return frame[[*KEY, *(c for c in frame.columns if c not in KEY)]].reset_index(drop=True)


def _hold_to(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Order a table's columns as its contract does, and hold it to it."""
    from tworulers.schema import table_models  # with it comes pandera

    model = getattr(table_models, name)
    names = list(model.to_schema().columns)
    if frame.empty:
        frame = pd.DataFrame({name: pd.Series(dtype="object") for name in names})
    return table_models.check_table(frame[names].reset_index(drop=True), model, name.lower())
