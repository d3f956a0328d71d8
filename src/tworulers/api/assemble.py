"""A study of scores that are held in memory: by one or several references, of one or several models."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

import pandas as pd

from tworulers.api import inputs
from tworulers.battery.overview import list_scores
from tworulers.ingest.score_cells import find_columns
from tworulers.ingest.table_macro import add_macro
from tworulers.metrics.registry import METRICS
from tworulers.schema.metric import Metric
from tworulers.schema.settings import FAILURES, Audit, Provenance
from tworulers.schema.sources import Attributes, Relation, read_relation
from tworulers.sides import Side
from tworulers.study import Reference, Study

LONG = {"metric", "value"}
"""Columns that a frame with one row a score has."""

WHOLE = "all"
"""The structure of scores that name none."""


class Asked(TypedDict, total=False):
    """What may be asked beside scores, features and provenance; see `scores.audit`."""

    data: pd.DataFrame | None
    metric: Metric | str | Sequence[Metric] | None
    bins: Any
    intersectional: bool | Sequence[Sequence[str]]
    success: float | Mapping[str, float] | None
    margin: Mapping[str, float] | None
    given: Any
    subject_id: Any
    alpha: float
    seed: int
    relation: Mapping[str, str]
    corrected_from: Mapping[str, str]


def make_study(
    sides: Mapping[Side, Any],
    sensitive_features: Any,
    provenance: Mapping[str, str],
    asked: Asked,
) -> Study:
    """Bring scores, groups and patients together.

    Parameters
    ----------
    sides : scores by model and reference, as `read_scores` takes them.
    provenance : who drew the labels, by reference.
    sensitive_features, asked : as of `scores.audit`.

    Raises
    ------
    ValueError : naming the parameter, what was expected, found, and how to mend it.
    """
    refuse_unknown_provenance(provenance)
    lone, known = _name_metrics(asked.get("metric"))
    data = asked.get("data")
    data = inputs.index_by_exam(data) if data is not None else _find_data(sides.values())
    notes: list[str] = []
    tables = []
    for (model, ruler), given in sides.items():
        scores = add_macro(read_scores(given, data, lone, known), "defined", notes)
        tables.append(scores.assign(regime=model, ruler=ruler, provenance=provenance[ruler]))
    scores = pd.concat(tables, ignore_index=True)
    exams = pd.Index(scores["exam_id"].unique(), name="exam_id")
    features = inputs.read_columns(sensitive_features, exams, data, "sensitive_features")
    beside = inputs.read_given(asked.get("given"), exams, data, features)
    owners = inputs.read_owners(asked.get("subject_id"), exams, data)
    crossed = asked.get("intersectional", False)
    groupings = inputs.read_groupings(features, asked.get("bins"), crossed)
    scored = list(dict.fromkeys(scores["metric"]))
    return Study(
        scores=scores,
        people=_describe_exams(features, beside, owners),
        attributes=Attributes("+".join(map(str, features)), groupings=groupings),
        settings=Audit(
            name="python",
            metrics=scored,
            thresholds=_read_success(asked.get("success"), scored),
            margin=_read_margin(asked.get("margin"), scored),
            alpha=asked.get("alpha", 0.05),
            linear=False,
            seed=asked.get("seed", 0),
            given=Audit("python").given if beside is None else list(map(str, beside)),
        ),
        references=_refer(provenance, asked),
        models={model: model for model, _ in sides},
        metrics={name: known[name] for name in scored},
        notes=tuple(dict.fromkeys(notes)),
    )


def _refer(provenance: Mapping[str, str], asked: Asked) -> dict[str, Reference]:
    """Describe each reference by who drew its labels, and by what was said of it."""
    return {
        name: Reference(
            name,
            name,
            word,
            relation=_read_relation(asked.get("relation"), name),
            corrected_from=_read_corrected(asked.get("corrected_from"), name, provenance),
        )
        for name, word in provenance.items()
    }


def _describe_exams(
    features: pd.DataFrame, beside: pd.DataFrame | None, owners: pd.Series
) -> pd.DataFrame:
    """Put side by side what is known of every exam: its groups, what tests are given, and its patient."""
    more = (
        features.iloc[:, :0]
        if beside is None
        else beside.drop(columns=list(features), errors="ignore")
    )
    people = pd.concat([features, more], axis=1).assign(patient_id=owners)
    return people.rename_axis("exam_id").reset_index()


def _read_relation(given: Mapping[str, str] | None, name: str) -> str:
    """Take what a reference has to do with the model; unknown where nobody says."""
    try:
        return str(read_relation((given or {}).get(name, Relation.UNKNOWN)))
    except ValueError as error:
        raise ValueError(f"relation of {name!r}: {error}") from None


def _read_corrected(
    given: Mapping[str, str] | None, name: str, provenance: Mapping[str, str]
) -> str:
    """Take which labels were corrected to make a reference's; none where nobody says."""
    strange = [one for one in given or {} if one not in provenance]
    if strange:
        raise ValueError(
            f"corrected_from: expected names of {list(provenance)}, found {strange}; write whose labels were corrected "
            "behind the name of the reference that they became, {'expert': 'machine'}"
        )
    return str((given or {}).get(name, ""))


def _name_metrics(
    given: Metric | str | Sequence[Metric] | None,
) -> tuple[str | None, dict[str, Metric]]:
    """Return what scores are whose columns do not say so, and all metrics by name."""
    if given is None or isinstance(given, str):
        return given, dict(METRICS)
    own = [given] if isinstance(given, Metric) else given
    lone = own[0].name if len(own) == 1 else None
    return lone, {**METRICS, **{one.name: one for one in own}}


def _find_data(given: Iterable[Any]) -> pd.DataFrame | None:
    """Take the first frame of scores as the frame that describes its exams: the first row of each."""
    for scores in given:
        if isinstance(scores, pd.DataFrame):
            frame = inputs.index_by_exam(scores, unique=False)
            return frame[~frame.index.duplicated()]
    return None


def refuse_unknown_provenance(provenance: Mapping[str, str]) -> None:
    """Refuse references of which nobody said who drew them.

    Raises
    ------
    ValueError : with the words there are.
    """
    for name, word in provenance.items():
        if word not in list(Provenance):
            raise ValueError(
                f"provenance of {name!r} is {word!r}; without it no verdict can be made: say who drew the labels that "
                f"the scores were made with: 'gold' (experts), 'silver' (a machine), of {[str(p) for p in Provenance]}"
            )


def read_scores(
    given: Any, data: pd.DataFrame | None, metric: str | None, known: Mapping[str, Metric]
) -> pd.DataFrame:
    """Read scores as one row an exam, structure and metric.

    Parameters
    ----------
    given : a Series, the name of a column of `data`, or a frame, wide (columns such as `dice_disc`) or long (`metric`,
        `value`, and `structure` where there are several), by the index or a column `exam_id`.
    data : the frame that names are looked up in, by exam.
    metric : what the scores are where their columns do not say so.
    known : metrics by name.

    Returns
    -------
    `exam_id`, `structure`, `metric`, `value`, `undefined_because`: every exam has every score.

    Raises
    ------
    ValueError : a metric that is not known, a score that is given twice, is no number or out of its range.
    """
    if isinstance(given, pd.DataFrame) and set(given) >= LONG:
        wide = _spread_long(inputs.index_by_exam(given, unique=False))
    else:
        wide = _name_scores(_read_wide(given, data), metric, known)
    columns = list_scores(wide)
    unknown = sorted({name for _, name in columns} - set(known))
    if unknown:
        raise ValueError(
            f"scores: no metric is called {inputs.list_some(unknown)}; there are {', '.join(known)}; declare your own: "
            "metric=tr.Metric(name, title, higher_is_better)"
        )
    for structure, name in columns:
        wide[structure, name] = _read_numbers(wide[structure, name], structure, known[name])
    wide.columns = wide.columns.set_names(["structure", "metric"])
    long = wide.rename_axis("exam_id").melt(ignore_index=False).reset_index()
    because = pd.Series("missing in the scores", index=long.index, dtype=object)
    return long.assign(undefined_because=because.where(long["value"].isna(), None))


def _read_wide(given: Any, data: pd.DataFrame | None) -> pd.DataFrame:
    """Take columns of scores as a frame by exam."""
    if isinstance(given, pd.Series):
        given = given.to_frame(given.name if given.name is not None else "")
    if isinstance(given, pd.DataFrame):
        return inputs.index_by_exam(given)
    if isinstance(given, (str, list)) and data is not None:
        return inputs.read_columns(given, data.index, data, "scores")
    if isinstance(given, str):
        raise ValueError(f"scores={given!r} names a column, and no data= was given")
    index = data.index if data is not None else pd.RangeIndex(len(given)).map(str)
    return inputs.read_columns(list(given), index, None, "scores")


def _name_scores(
    frame: pd.DataFrame, metric: str | None, known: Mapping[str, Metric]
) -> pd.DataFrame:
    """Give columns of scores the structure and metric that they are of."""
    if metric is not None and frame.shape[1] == 1:
        named = [(f"{WHOLE}/{metric}", str(frame.columns[0]))]
    else:
        named = find_columns([str(name) for name in frame], dict(known))
        if not named and metric is not None:
            named = [(f"{name}/{metric}", str(name)) for name in frame.select_dtypes("number")]
    if not named:
        raise ValueError(
            f"scores: no column of {list(frame.columns)} says what it holds; name it after a metric, as dice or "
            f"dice_disc ({', '.join(known)}), or say metric='dice', or declare your own: metric=tr.Metric(...)"
        )
    wide = frame[[column for _, column in named]].copy()
    wide.columns = pd.MultiIndex.from_tuples([tuple(ours.rsplit("/", 1)) for ours, _ in named])
    return wide


def _spread_long(frame: pd.DataFrame) -> pd.DataFrame:
    """Lay a long frame out, one column a structure and metric."""
    if "structure" not in frame:
        frame = frame.assign(structure=WHOLE)
    keyed = frame.set_index(["structure", "metric"], append=True)["value"]
    twice = keyed.index[keyed.index.duplicated()]
    if len(twice):
        exam, structure, metric = twice[0]
        raise ValueError(
            f"scores: {metric} of {structure} is given more than once for exam {exam!r}"
        )
    spread: pd.DataFrame = keyed.unstack([1, 2])  # noqa: PD010
    return spread


def _read_numbers(values: pd.Series, structure: str, metric: Metric) -> pd.Series:
    """Read one column of scores; what is no number, or out of the metric's range, is a fault that names the exam."""
    numbers = pd.to_numeric(values, errors="coerce").astype(float)
    strange = values[numbers.isna() & values.notna()]
    low = -float("inf") if metric.low is None else metric.low
    high = float("inf") if metric.high is None else metric.high
    outside = numbers[(numbers < low) | (numbers > high)]
    for fault, expected in ((strange, "numbers"), (outside, f"values from {low:g} to {high:g}")):
        if len(fault):
            raise ValueError(
                f"scores: {metric.name} of {structure}: expected {expected}, found {fault.iloc[0]!r} for exam "
                f"{fault.index[0]!r}{f' and {len(fault) - 1} more' if len(fault) > 1 else ''}"
            )
    return numbers


def _read_success(
    success: float | Mapping[str, float] | None, scored: Sequence[str]
) -> dict[str, float]:
    """Read above (or below) which value a score counts as a success, by metric."""
    if isinstance(success, Mapping):
        if unknown := sorted(set(success) - set(scored)):
            raise ValueError(
                f"success is given for {unknown}, which is not scored; scored: {scored}"
            )
        return dict(success)
    if success is not None and len(scored) > 1:
        raise ValueError(f"success={success}: say of which metric, as {{{scored[0]!r}: {success}}}")
    return {} if success is None else {scored[0]: float(success)}


def _read_margin(margin: Mapping[str, float] | None, scored: Sequence[str]) -> dict[str, float]:
    """Read up to which difference groups count as alike, by metric and of failures."""
    known = [*scored, FAILURES]
    if margin is not None and (not isinstance(margin, Mapping) or not set(margin) <= set(known)):
        raise ValueError(
            f"margin={margin!r}: expected points (or the metric's unit) by metric and per cent of failures, as "
            f"{{{scored[0]!r}: 2, {FAILURES!r}: 5}}, of {known}"
        )
    return {name: float(size) for name, size in (margin or {}).items()}
