"""Risk scores: whether they rank the events of every group alike, from arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, ClassVar, TypedDict, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from tworulers.api import inputs
from tworulers.api.results import Result, warn
from tworulers.auc.audit import RiskAudit
from tworulers.auc.audit import audit_risk as run_audit
from tworulers.auc.detectable import tabulate_detectable
from tworulers.auc.matrix import HALF, AucMatrix, measure_auc_matrix
from tworulers.auc.odds import compare_odds
from tworulers.auc.uses import AucMetric, Use
from tworulers.cohort.grouping import assign_groups
from tworulers.report.words.model_card import CardFacts
from tworulers.report.words.risk import describe_risk
from tworulers.schema.risk_settings import RiskUse


@dataclass(frozen=True, eq=False, repr=False)
class RiskResult(Result):
    """An audit of a risk score.

    Attributes
    ----------
    matrix : by grouping the AUC matrix: rows are events of a group, columns non-events of a group; a cell is the chance
        that such an event scores above such a non-event.
    calibration, rates : of a declared probability, and at a threshold; without rows where not asked for.
    odds : one row a pair of groups and difference at a threshold (`equal_opportunity_difference` of sensitivities,
        `false_positive_rate_difference`, both `group` less `against`, and `equalized_odds_difference`, the larger of
        the two without its sign), with its interval; without rows where no threshold was asked for.

    Examples
    --------
    >>> import numpy as np, tworulers as tr
    >>> rng = np.random.default_rng(0)
    >>> died, sex = rng.random(400) < 0.4, rng.choice(["F", "M"], 400)
    >>> score = died + rng.normal(size=400)
    >>> r = tr.audit_risk(died, score, {"sex": sex}, use="single_threshold", threshold=0.5)
    >>> odds = r.odds.set_index("metric")
    >>> odds.loc["equal_opportunity_difference", ["group", "against"]].tolist()
    ['F', 'M']
    >>> bool(odds.loc["equalized_odds_difference", "low"] == 0)  # neither rate is shown to differ
    True
    """

    matrix: dict[str, pd.DataFrame]
    calibration: pd.DataFrame
    rates: pd.DataFrame
    odds: pd.DataFrame

    VALUE: ClassVar[str] = "auc"


def auc_matrix(y_true: ArrayLike, y_score: ArrayLike, group: ArrayLike) -> pd.DataFrame:
    """Return the AUC of the events of every group against the non-events of every group.

    Parameters
    ----------
    y_true : shape (n,), 1 or True for an event, 0 or False for none, missing where unknown.
    y_score : shape (n,), any unit; higher means more suspect. NaN where there is none.
    group : shape (n,), names; a blank one is in no row and no column.

    Returns
    -------
    Shape (K, K), rows the group of the events, columns that of the non-events; NaN where a group has none of either,
    with a warning that names it, as there is for an AUC below one half. `.attrs["overall"]` is the AUC of all rows that
    name a group: the cells, weighted by their pairs.

    Raises
    ------
    ValueError : lengths differ, or an outcome is not 0 or 1.

    Source: Kallus and Zhou (2019), the xAUC; ties count one half.

    Examples
    --------
    >>> import tworulers as tr
    >>> tr.auc_matrix([1, 0, 1, 0], [0.9, 0.2, 0.6, 0.7], ["a", "a", "b", "b"])
    non_events_of    a    b
    events_of
    a              1.0  1.0
    b              1.0  0.0
    """
    matrix = measure_auc_matrix(y_true, y_score, group)
    warn([*_tell_undefined(matrix), *_tell_below_half(matrix)])
    return _tabulate_matrix(matrix)


class RiskAsked(TypedDict, total=False):
    """What may be asked beside outcomes, scores and features; see `audit_risk`."""

    data: pd.DataFrame | None
    pos_label: Any
    sentinels: Sequence[float]
    bins: Any
    intersectional: bool | Sequence[Sequence[str]]
    subject_id: Any
    use: str
    threshold: float | None
    sensitivity: float
    probability: bool
    level: float
    seed: int


def audit_risk(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    *,
    reference: Mapping[str, str] | None = None,
    **asked: Unpack[RiskAsked],
) -> RiskResult:
    """Audit a risk score: does it rank the events of every group above the non-events of every group alike?

    Parameters
    ----------
    y_true : shape (n,), outcomes: an array, a Series, or a column of `data`; missing where unknown.
    y_score : shape (n,), scores in any unit, higher means more suspect; likewise.
    sensitive_features : n rows: a Series, a frame, a mapping, an array, or names of columns of `data`.
    reference : by feature, the group that the others are contrasted with in `difference()` and `ratio()`.
    asked : any of the following.
    data : n rows that names are looked up in.
    pos_label : the value of `y_true` that is the event; needed unless outcomes are 0 and 1, or truth values.
    sentinels : values of `y_score` that are codes for "not computed" and no scores.
    bins, intersectional : as of `audit`.
    subject_id : n rows: whose each row is; rows of one person are kept together.
    use : what the score is for: "risk_estimation", "single_threshold", "group_thresholds" or "ranking".
    threshold : in units of the score: at or above it people are selected (for "single_threshold"); see `odds`.
    sensitivity : from 0 to 1: the share of events that each group's threshold reaches (for "group_thresholds").
    probability : the score is a probability from 0 to 1, so that calibration can be judged; never guessed.
    level : from 0 to 1, of the intervals.
    seed : of the bootstrap beside the intervals.

    Raises
    ------
    ValueError : lengths differ, the event is not named or not there, no numbers, no bins, an unknown use.

    Examples
    --------
    >>> import numpy as np, tworulers as tr
    >>> rng = np.random.default_rng(0)
    >>> died = rng.random(400) < 0.4
    >>> r = tr.audit_risk(died, died + rng.normal(size=400), {"sex": rng.choice(["F", "M"], 400)})
    >>> r.difference()[["group", "against"]].iloc[0].tolist()
    ['M', 'F']
    """
    use = asked.get("use", "risk_estimation")
    if use not in list(Use):
        raise ValueError(f"use={use!r} is unknown; choose one of {[str(known) for known in Use]}")
    question = RiskUse(
        use,
        threshold=asked.get("threshold"),
        sensitivity=asked.get("sensitivity", 0.9),
        level=asked.get("level", 0.95),
        seed=asked.get("seed", 0),
    )
    frame, groups, notes = _gather(y_true, y_score, sensitive_features, asked)
    audit = run_audit(
        frame["outcome"], frame["score"], groups, question,
        probability=asked.get("probability", False), cluster=frame["owner"],
    )  # fmt: skip
    about = {"rows": len(frame), "events": int(frame["outcome"].sum())} | asdict(question)
    odds = _compare_odds(audit, frame, groups)
    return _tell(audit, odds, notes, about | {"reference": dict(reference or {})})


def _compare_odds(
    audit: RiskAudit, frame: pd.DataFrame, groups: Mapping[str, pd.Series]
) -> pd.DataFrame:
    """Compare who is selected, in every grouping whose groups have thresholds."""
    units = pd.factorize(frame["owner"])[0]
    parts = []
    for grouping, rates in audit.rates.groupby("grouping", sort=False) if len(audit.rates) else ():
        thresholds = dict(zip(rates["group"], rates["threshold"], strict=True))
        named = groups[str(grouping)].cat.set_categories(list(thresholds))
        part = compare_odds(
            frame["score"].to_numpy(), frame["outcome"].to_numpy() == 1, named, thresholds, units,
            level=audit.use.level,
        )  # fmt: skip
        part.insert(0, "grouping", grouping)
        parts.append(part)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _gather(
    y_true: Any, y_score: Any, sensitive_features: Any, asked: RiskAsked
) -> tuple[pd.DataFrame, dict[str, pd.Series], list[str]]:
    """Read the rows that have a score and an outcome, their groups, and what was left out."""
    data = asked.get("data")
    frame, notes = _read_outcomes(y_true, y_score, asked)
    people = inputs.read_columns(sensitive_features, frame.index, data, "sensitive_features")
    frame["owner"] = inputs.read_owners(asked.get("subject_id"), frame.index, data)
    known = frame[["score", "outcome"]].notna().all(axis=1)
    frame, people = frame[known], people[known]
    crossed = asked.get("intersectional", False)
    groupings = inputs.read_groupings(people, asked.get("bins"), crossed)
    exams = people.assign(exam_id=frame.index, patient_id=frame["owner"])
    groups = {name: assign_groups(exams, one, groupings) for name, one in groupings.items()}
    return frame, groups, notes


def _tell(
    audit: RiskAudit, odds: pd.DataFrame, notes: list[str], about: dict[str, Any]
) -> RiskResult:
    matrices = audit.matrices.items()
    undefined = [text for name, one in matrices for text in _tell_undefined(one, name)]
    use = about["name"].replace("_", " ")
    return RiskResult(
        title=f"Risk score for {use}: {about['rows']} rows, {about['events']} events",
        summary=audit.metrics,
        by_group=_tabulate_groups(audit),
        overall=pd.DataFrame([{"metric": "auc"} | asdict(audit.overall)]),
        tests=audit.tests,
        intervals=_tabulate_intervals(audit),
        power=tabulate_detectable(audit),
        sentences=describe_risk(audit),
        warnings=warn([*notes, *undefined]),
        metadata=about,
        figure=partial(_draw, audit),
        card=partial(_card, audit, about, notes),
        matrix={name: _tabulate_matrix(one) for name, one in matrices},
        calibration=audit.calibration,
        rates=audit.rates,
        odds=odds,
    )


def _read_outcomes(y_true: Any, y_score: Any, asked: RiskAsked) -> tuple[pd.DataFrame, list[str]]:
    """Read scores and outcomes: one row each, NaN where there is none, and what was left out."""
    data, pos_label = asked.get("data"), asked.get("pos_label")
    holder = y_score if isinstance(y_score, pd.Series) else data
    index = inputs.name_exams(pd.RangeIndex(len(y_score)) if holder is None else holder.index)
    score = inputs.read_columns(y_score, index, data, "y_score").iloc[:, 0]
    numbers = pd.to_numeric(score, errors="coerce").astype(float)
    strange = score[(numbers.isna() & score.notna()) | np.isinf(numbers)]
    if len(strange):
        raise ValueError(
            f"y_score: expected numbers, found {inputs.list_some(list(strange.unique()))}"
        )
    coded = numbers.isin(list(asked.get("sentinels", ())))
    label = inputs.read_columns(y_true, index, data, "y_true").iloc[:, 0]
    levels = list(label.dropna().unique())
    if pos_label is None and not set(levels) <= {0, 1}:
        raise ValueError(
            f"y_true: expected 0 and 1 or truth values, found {inputs.list_some(levels)}; name the event by pos_label="
        )
    event = 1 if pos_label is None else pos_label
    if len(levels) != 2 or event not in levels:
        raise ValueError(
            f"y_true: expected {event!r} and one other level, found {inputs.list_some(levels)}"
        )
    outcome = (label == event).astype(float).mask(label.isna())
    frame = pd.DataFrame({"score": numbers.mask(coded), "outcome": outcome}, index=index)
    n = {"no score": frame["score"].isna() & ~coded, "a code for no score": coded}
    n["no outcome"] = frame["outcome"].isna()
    return frame, [
        f"{int(m.sum())} rows have {what} and are left out" for what, m in n.items() if m.any()
    ]


def _tabulate_matrix(matrix: AucMatrix) -> pd.DataFrame:
    rows, columns = (pd.Index(matrix.groups, name=n) for n in ("events_of", "non_events_of"))
    frame = pd.DataFrame(matrix.cells, rows, columns)
    frame.attrs["overall"] = matrix.overall
    return frame


def _tell_undefined(matrix: AucMatrix, grouping: str = "group") -> list[str]:
    counts = zip(matrix.groups, matrix.n_events, matrix.n_non_events, strict=True)
    return [
        f"{grouping}: {group} has {events} events and {others} non-events, so its AUC is undefined"
        for group, events, others in counts
        if not events or not others
    ]


def _tell_below_half(matrix: AucMatrix) -> list[str]:
    values = {"all rows": matrix.overall} | dict(zip(matrix.groups, matrix.within, strict=True))
    return [
        f"the AUC of {name} is {value:.4f}, below one half: events rank below non-events"
        for name, value in values.items()
        if value < HALF
    ]


def _tabulate_groups(audit: RiskAudit) -> pd.DataFrame:
    """One row a group: how many, how often the event, the mean score, and its own AUC."""
    means = audit.mean_scores[audit.mean_scores["outcome"] == "all"]
    means = means[["grouping", "group", "n", "prevalence", "mean"]]
    means = means.rename(columns={"prevalence": "event_rate", "mean": "mean_score"})
    own = audit.cells[audit.cells["events_of"] == audit.cells["non_events_of"]]
    own = own.rename(columns={"events_of": "group"})
    columns = ["n_events", "n_non_events", "auc", "low", "high", "method", "below_half", "remarks"]
    columns.append("undefined_because")
    return means.merge(own[["grouping", "group", *columns]]).assign(metric="auc")


def _tabulate_intervals(audit: RiskAudit) -> pd.DataFrame:
    """One row a signed difference or ratio of the within-group AUCs of two groups, with its score-type bounds."""
    pairs = audit.metrics[audit.metrics["group_b"] != ""].drop(columns="value")
    kinds = {AucMetric.WITHIN_DIFFERENCE: "difference", AucMetric.WITHIN_RATIO: "ratio"}
    pairs = pairs.assign(contrast=pairs["metric"].map({str(k): v for k, v in kinds.items()}))
    pairs = pairs[pairs["contrast"].notna()].assign(
        metric="auc", of="auc", interval=pairs["method"]
    )
    names = {"group_a": "group", "group_b": "against", "signed": "value"}
    columns = ["grouping", "metric", "of", "contrast", *names.values(), "low", "high", "p"]
    return pairs.rename(columns=names)[[*columns, "interval", "undefined_because"]]


def _card(audit: RiskAudit, about: dict[str, Any], notes: list[str]) -> CardFacts:
    """Gather what a card says of the audit."""
    from tworulers.report.card import card_risk

    return card_risk(audit, "", about["rows"], about["events"], notes)


def _draw(audit: RiskAudit) -> Any:
    """Draw the AUC matrix of every grouping."""
    from tworulers.report.risk_figures import draw_matrix, make_figure

    cells = audit.cells.groupby("grouping", sort=False)
    return make_figure([partial(draw_matrix, part) for _, part in cells])
