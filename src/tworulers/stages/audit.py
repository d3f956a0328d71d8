"""Whether a regime serves all groups equally by one ruler: verdict tables of our scores, or of a
ready table.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import pandas as pd

from tworulers.audit import AuditResult, audit_scores
from tworulers.cohort.grouping import GroupingError, assign_groups, list_left_out
from tworulers.cohort.numbers import pick_numbers
from tworulers.cohort.ungrouped import require_groups
from tworulers.ingest.completeness import find_lacking, tell_lacking
from tworulers.ingest.score_table import read_score_table
from tworulers.io.audits import write_audit
from tworulers.io.console import say, show_table
from tworulers.io.paths import Layout, place_within
from tworulers.io.records import folder_written_beside, read_table, write_json, write_table
from tworulers.metrics.asked import list_asked, require_metrics, require_structures
from tworulers.report.gallery import ShownAudit, audit_figures
from tworulers.report.tables import write_score
from tworulers.schema import MACRO, METRICS, Metric, Ruler, Settings
from tworulers.schema_sources import Attributes
from tworulers.sentences import verdict_sentences
from tworulers.stages._figures import write_figures
from tworulers.stages._keyed import describe_tables, place_result, write_stamp
from tworulers.stages._resume import Stamp
from tworulers.stages._run import run_stage
from tworulers.stages._warning import write_warning
from tworulers.summary import OF_SCORE, OF_TEST, summarise
from tworulers.tables import Cohort, Scores, list_rows, unpack_names
from tworulers.tracking import RunRecord


@dataclass(frozen=True)
class Judged:
    """What is audited: scores, their exams, what judged them, and where the result goes."""

    scores: pd.DataFrame
    cohort: pd.DataFrame
    measures: Mapping[str, Metric]
    regime: str
    ruler: Ruler
    result: Path
    structures: list[str]
    dataset: str
    notes: tuple[str, ...] = ()
    no_verdict: str = ""
    """Why no verdict may rest on this ruler; empty where one may."""
    made_from: Stamp = field(default_factory=dict)
    """What the result of a ready table depends on."""
    confidences: bool = False
    """Whether the pipeline made the predictions, and so wrote how sure it was of them."""


def audit(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Audit a regime's scores by a ruler, or a ready table where `scores.file` names one."""
    judged = gather(settings, layout)
    notes = tell_groups(judged.cohort, settings.attributes)
    return audit_judged(replace(judged, notes=(*judged.notes, *notes)), settings, layout)


def audit_judged(judged: Judged, settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Audit scores, write the tables, the sentences and the figures, and print the verdicts."""
    ruler, result = judged.ruler, judged.result
    identical = ruler.regime is not None and ruler.regime == judged.regime
    no_verdict = judged.no_verdict
    if identical and not no_verdict:
        no_verdict = "this ruler is the model's own predictions"
    tags = {"regime": judged.regime, "ruler": ruler.name, "provenance": str(ruler.provenance)}
    tags |= {"attributes": settings.attributes.name} | ({"identical": "yes"} if identical else {})
    tags |= {"dataset": judged.dataset}
    for note in judged.notes:
        say(note)
    record = RunRecord(
        stage="audit",
        name=f"audit · {judged.regime} by {ruler.name}",
        description=(
            f"Groupings of {settings.attributes.title or settings.attributes.name}, judged by "
            f"{ruler.title} (provenance: {ruler.provenance})."
        ),
        tags=tags,
        sibling_tag="ruler",
    )
    if judged.scores.empty:
        reason = f"ruler {ruler.name} scored no exam"
        say(f"{reason}: nothing to audit")
        with folder_written_beside(result) as folder:
            write_json({"n_exams": 0, "not_audited_because": reason}, folder / "summary.json")
            write_stamp(judged.made_from, folder)
        return result, record
    require_structures(settings.audit.structures, list(dict.fromkeys(judged.scores["structure"])))
    groups, left_out = form_groups(judged.cohort, settings.attributes)
    exams = judged.cohort.set_index("exam_id")
    found = audit_scores(
        judged.scores,
        groups,
        exams["patient_id"],
        replace(settings.audit, structures=settings.audit.structures or judged.structures),
        settings.attributes,
        pick_numbers(exams, settings.audit.linear_terms),
        judged.measures,
    )
    said = pd.DataFrame()
    if not no_verdict:
        said = verdict_sentences(found, ruler.title or ruler.name, found.provenance)
    with folder_written_beside(result) as folder:
        write_audit(found, folder)
        write_table(left_out, folder / "left_out.parquet")
        write_table(said, folder / "sentences.parquet")
        write_json(list(judged.notes), folder / "notes.json")
        write_json(asdict(ruler), folder / "ruler.json")
        write_stamp(judged.made_from, folder)
        warning: dict[str, float] = {}
        if not no_verdict and judged.confidences:
            warning = write_warning(
                judged.scores,
                groups,
                exams["patient_id"],
                found.provenance,
                settings.audit,
                layout,
                folder,
            )
        if not no_verdict and len(groups.columns):
            shown = ShownAudit(found, ruler.title or ruler.name, judged.scores)
            write_figures(audit_figures(shown), folder / "figures")
    if found.groupings.empty and settings.scores.file is not None:
        show_overall(found)
    show(found, said, no_verdict)
    say(f"written to {layout.relative(result)}")
    metrics = collect_metrics(found) | warning
    if no_verdict:
        metrics = {name: value for name, value in metrics.items() if not is_verdict(name)}
    note = write_note(found, record.description, no_verdict)
    return result, replace(record, metrics=metrics, description=note)


def write_note(found: AuditResult, start: str, no_verdict: str) -> str:
    """Say in Markdown what was audited and what each grouping showed, for the page of a run."""
    parts = [f"{start} {found.n_exams} exams of {found.n_patients} patients."]
    if no_verdict:
        return f"{parts[0]} No verdict: {no_verdict}."
    for family in list_rows(found.families):
        parts.append(
            f"**{family['significant']} of {family['size']} tests** of the family {family['family']} "
            f"find a difference at {family['alpha']:g} after correction"
            f"{', the exams of a patient kept together' * found.by_patient}."
        )
    rows = [
        f"| {row['title']} | {', '.join(unpack_names(row['groups']))} "
        f"| {row['significant']} of {row['tests_computed']} | {row['smallest_p']:.3g} | {row['smallest_p_fdr']:.3g} |"
        for row in list_rows(found.groupings)
    ]
    if rows:
        heads = "| grouping | groups | differences | smallest p | adjusted |\n|---|---|---|---|---|"
        parts.append("\n".join([heads, *rows]))
        parts.append(
            "A difference that was not found may be there; `power.parquet` says how large."
        )
    return "\n\n".join(parts)


def is_verdict(metric: str) -> bool:
    """Tell whether a metric says that groups differ, which a model judged by itself cannot be asked."""
    return metric.startswith("family/") or metric.rsplit("/", 1)[-1] in OF_TEST


def gather(settings: Settings, layout: Layout) -> Judged:
    """Read the pipeline's scores and cohort, or a ready table."""
    ruler = settings.ruler
    if settings.scores.file is None:
        folder = layout.scores(settings.regime.name, ruler.name)
        scores = read_table(folder / "scores.parquet", "score", Scores)
        # Counts and volumes stand beside the scores of an exam; they are not judged.
        held = [name for name in METRICS if (scores["metric"] == name).any()]
        require_metrics(settings.audit, METRICS, held if len(scores) else None)
        scores = scores[scores["metric"].isin(list_asked(settings.audit))]
        scores = scores[scores["metric"].isin(METRICS)]
        cohort = read_table(layout.cohort / "cohort.parquet", "cohort", Cohort)
        lacking = tell_lacking(find_lacking(scores), scores["exam_id"].nunique())
        return Judged(
            scores=scores,
            cohort=cohort[cohort["exam_id"].isin(scores["exam_id"])],
            measures={},
            regime=settings.regime.name,
            ruler=ruler,
            result=layout.audit(settings.regime.name, ruler.name),
            structures=[*settings.dataset.structures, MACRO],
            dataset=settings.dataset.name,
            confidences=True,
            notes=tuple(lacking),
        )
    spec = settings.scores
    name = spec.provenance or "unnamed"
    records = read_score_table(spec, name, macro=settings.audit.macro)
    scored = set(records.scores["metric"])
    absent = [metric for metric in list_asked(settings.audit) if metric not in scored]
    note = f"the table holds no {', '.join(absent)}: asked for, not audited"
    title = f"the labels of {Path(settings.scores.file).name}"
    made_from = describe_tables(settings, "scores")
    named = place_within(Layout.of_table(settings, layout.root).outputs, ruler=name)
    return Judged(
        scores=records.scores,
        cohort=records.cohort,
        measures=records.measures,
        regime=str(records.scores["regime"].iloc[0]),
        ruler=Ruler(name, title, "table", provenance=spec.provenance),
        result=place_result(named, made_from, layout),
        made_from=made_from,
        structures=[],
        dataset=Path(settings.scores.file).stem,
        notes=(*records.notes, *([note] if absent else [])),
    )


def form_groups(cohort: pd.DataFrame, attributes: Attributes) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Put the audited exams into the groups of every grouping, and list who is in none and why.

    Raises
    ------
    GroupingError : a grouping cannot be made, or nobody is in any of its groups.
    """
    tell_groups(cohort, attributes)
    columns, left_out = {}, []
    for name, grouping in attributes.groupings.items():
        columns[name] = assign_groups(cohort, grouping, attributes.groupings)
        left_out.append(list_left_out(cohort, grouping, attributes.groupings).assign(grouping=name))
    listed = pd.concat(left_out, ignore_index=True) if left_out else pd.DataFrame()
    exams = pd.Index(cohort["exam_id"], name="exam_id")
    return pd.DataFrame(columns, index=exams), listed


def tell_groups(cohort: pd.DataFrame, attributes: Attributes) -> list[str]:
    """Say which values of the audited exams are in no group, a sentence a grouping.

    Raises
    ------
    GroupingError : a grouping cannot be made, or nobody is in any of its groups.
    """
    try:
        return require_groups(cohort, attributes.groupings)
    except GroupingError as error:
        raise GroupingError(
            f"{error}; join a table that describes the exams (scores.cohort, predictions.cohort, "
            "dataset.reading.table), choose other attributes, or attributes=none to look at scores and rulers alone"
        ) from error


def show(found: AuditResult, said: pd.DataFrame, no_verdict: str) -> None:
    """Print families, groupings and sentences."""
    for family in list_rows(found.families):
        missing = f"; missing: {family['missing']}" if family["missing"] else ""
        say(
            f"family {family['family']}: {family['size']} of {family['configured']} tests "
            f"computed, {family['significant']} significant at {family['alpha']:g} after "
            f"correction{', patients kept together' * found.by_patient}{missing}"
        )
    if len(found.groupings):
        show_groupings(found)
    if no_verdict:
        say(f"no verdict: {no_verdict}")
    for sentence in said["sentence"] if len(said) else ():
        say(sentence)


def show_overall(found: AuditResult) -> None:
    """Print the scores over all exams."""
    show_table(
        f"{_title(found)}, no groupings",
        ("metric", "structure", "mean", "SD", "median", "infinite", "undefined", "partial"),
        [
            (
                f"{row['metric']} ({unit})" if unit else row["metric"],
                row["structure"],
                *(write_score(row[name], found.metrics[row["metric"]]) for name in OF_SCORE),
                row["n_infinite"],
                row["n_undefined"],
                row["n_partial"],
            )
            for row in list_rows(found.overall)
            for unit in [found.metrics[row["metric"]].unit]
        ],
    )


def show_groupings(found: AuditResult) -> None:
    """Print what the tests of every grouping found."""
    show_table(
        _title(found),
        ("grouping", "groups", "left out", "significant", "smallest p", "adjusted"),
        [
            (
                row["title"],
                ", ".join(unpack_names(row["groups"])),
                row["n_left_out"],
                f"{row['significant']} of {row['tests_computed']}",
                write_p(row["smallest_p"]),
                write_p(row["smallest_p_fdr"]),
            )
            for row in list_rows(found.groupings)
        ],
    )


def _title(found: AuditResult) -> str:
    return (
        f"{found.regime} by {found.ruler} ({found.provenance}), {found.n_exams} exams of "
        f"{found.n_patients} patients"
    )


def write_p(p: float) -> str:
    """Write a p, or a dash where no test could be computed."""
    return f"{p:.3g}" if p == p else "—"


def collect_metrics(found: AuditResult) -> dict[str, float]:
    """Name the numbers that a run shows; undefined ones are NaN, which a tag names."""
    # MLflow lists metrics as they come, and draws the first of them where two runs are compared.
    metrics: dict[str, float] = {}
    for row in list_rows(found.families):
        for name in ("significant", "size", "configured", "smallest_p", "smallest_p_fdr"):
            metrics[f"family/{row['family']}/{name}"] = float(row[name])
    metrics |= {"exams": float(found.n_exams), "patients": float(found.n_patients)}
    numbers = summarise(found)["metrics"]
    named = sorted(numbers, key=lambda name: f"/{MACRO}/" not in name)
    return metrics | {
        name: float("nan") if numbers[name] is None else numbers[name] for name in named
    }


if __name__ == "__main__":
    run_stage(
        audit,
        (
            "dataset.name",
            "dataset.structures",
            "regime.name",
            "ruler",
            "attributes",
            "audit",
            "scores",
        ),
    )
