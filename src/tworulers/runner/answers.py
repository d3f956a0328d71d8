"""How a stage leaves the answers of a study behind: tables, sentences, figures, and what MLflow shows of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tworulers.battery.audit import AuditResult
from tworulers.battery.overview import count_answers
from tworulers.battery.summary import OF_TEST, summarise
from tworulers.diagnosis.comparison import Comparison, RegimeComparison
from tworulers.io.answers import write_common_audits, write_comparison, write_warned
from tworulers.io.audits import write_audit
from tworulers.io.paths import Layout
from tworulers.io.primary import note_earlier
from tworulers.io.records import folder_written_beside, write_json, write_table
from tworulers.io.resume import Stamp
from tworulers.progress import following, say
from tworulers.report.briefs import note_audit, note_comparison
from tworulers.report.endings import Ending, end_audit, tabulate_comparisons
from tworulers.report.findings import ShownAudit
from tworulers.report.view import view_audit
from tworulers.report.words.groupings import verdict_sentences
from tworulers.report.words.primary import tag_lock
from tworulers.report.words.read_facts import tell_best, tell_change
from tworulers.report.words.risk import explain_metrics
from tworulers.report.words.rulers import put_into_words
from tworulers.report.words.warning import say_failures
from tworulers.runner.console import conclude
from tworulers.runner.figures import write_figures
from tworulers.runner.keyed import write_stamp
from tworulers.runner.tracking import RunRecord, write_record
from tworulers.schema.origin import tell_predicted
from tworulers.schema.settings import MACRO, Provenance, Ruler
from tworulers.schema.tables import SCHEMA_VERSION, list_rows
from tworulers.sides import Side
from tworulers.study import Reference, Study

OF_VERDICT = ("vcr_mad", "gap_ratio", "gap_part", "noise_part", "swap_p", "swap_p_fdr")
OF_GAP = ("gap_base", "gap_other", "gap_change")
OF_SCORE = ("mean", "forgiven_share", "pearson", "spearman")
TAGS = (
    *("regime", "base_ruler", "other_ruler", "base_provenance", "other_provenance"),
    *("provenance", "base_regime", "other_regime", "ruler", "status"),
)


def write_audited(
    study: Study,
    side: Side,
    ruler: Ruler,
    result: Path,
    layout: Layout,
    *,
    dataset: str,
    notes: Sequence[str] = (),
    made_from: Stamp | None = None,
    places: Sequence[Path] = (),
    page: Callable[[], str] = str,
    alone: bool = True,
) -> RunRecord:
    """Audit a side, write the tables, the sentences and the figures, and print the answer.

    Parameters
    ----------
    study, side, layout : what is audited, and the project's places.
    ruler : its reference as it is configured, which stays beside the result.
    result : the folder that is written.
    dataset : what the exams are called in a list of runs.
    notes : what had to be said, which stays beside the result.
    made_from : what the result of a ready table depends on; None where the pipeline made the scores.
    places : further folders where an audit of the same scores may stand that was made before.
    page : makes the page of the result, and says where it lies.
    alone : whether the command ends with it; else nothing is printed but why no verdict may rest on it.
    """
    locked = note_earlier(study.settings.locked, [result, *places])
    study = study.keep(settings=replace(study.settings, locked=locked))
    model, name = side
    reference = study.references[name]
    no_verdict = reference.tell_no_verdict(model)
    with following(f"auditing {model} by {name}", len(study.attributes.groupings)) as tell:
        found = study.audit(name, model, tell)
    title, made = reference.title or name, reference.corrected_from
    labels = title, found.provenance, made
    said = pd.DataFrame() if no_verdict else verdict_sentences(found, *labels)
    groups, left_out = study.group(side)
    metrics = collect_metrics(found)
    with folder_written_beside(result) as folder:
        write_audit(found, folder)
        write_table(left_out, folder / "left_out.parquet", SCHEMA_VERSION)
        write_table(said, folder / "sentences.parquet", SCHEMA_VERSION)
        write_json(list(notes), folder / "notes.json")
        write_json(asdict(ruler), folder / "ruler.json")
        write_stamp(made_from or {}, folder)
        warned = None if no_verdict else study.warn(name, model)
        if warned is not None:
            explained = replace(warned, metrics=explain_metrics(warned.metrics))
            write_warned(explained, say_failures(warned), found.provenance, folder)
            metrics |= warned.numbers
        if not no_verdict and len(groups.columns):
            draw_audited(ShownAudit(found, title, study.scores_of(side), "", made), folder)
    if alone:
        ending = end_audit(found, no_verdict, said, origin=list_origins(reference, found))
        conclude(ending, "; ".join(filter(None, [f"written to {layout.show(result)}", page()])))
    elif no_verdict:
        say(f"no verdict: {no_verdict}")
    return record_audit(study, side, dataset, metrics)


def list_origins(reference: Reference, found: AuditResult) -> list[str]:
    """Say how the labels and the predictions of an audit came about."""
    predicted = tell_predicted(found.regime, found.inference)
    return [*reference.origin, *filter(None, [predicted])]


def draw_audited(shown: ShownAudit, folder: Path) -> None:
    """Draw an audit beside its tables; matplotlib is imported by what draws alone."""
    from tworulers.report.gallery import audit_figures

    write_figures(audit_figures(view_audit(shown)), folder / "figures")


def record_audit(study: Study, side: Side, dataset: str, metrics: Mapping[str, float]) -> RunRecord:
    """Say of an audit what MLflow shows of it; its verdicts only where one may rest on the reference."""
    model, name = side
    reference, attributes, found = (
        study.references[name],
        study.attributes,
        study.audit(name, model),
    )
    no_verdict, provenance = reference.tell_no_verdict(model), reference.provenance
    origin = " ".join(["", *list_origins(reference, found)])
    identical = {"identical": "yes"} if reference.model == model else {}
    asked = f"Groupings of {attributes.title or attributes.name}, judged by {reference.title} "
    return RunRecord(
        stage="audit",
        name=f"audit · {model} by {name}",
        description=note_audit(found, f"{asked}(provenance: {provenance}).{origin}", no_verdict),
        tags={"regime": model, "ruler": name, "provenance": provenance}
        | {"attributes": attributes.name, **identical, "dataset": dataset}
        | ({"inference": found.inference} if found.inference else {})
        | tag_lock(found.settings.locked),
        metrics={x: value for x, value in metrics.items() if not (no_verdict and is_verdict(x))},
        sibling_tag="ruler",
    )


def write_rulers(
    study: Study, key: tuple[str, str, str], folder: Path, name: str
) -> dict[str, float]:
    """Compare two references over a model, write the comparison, and the audits that it took anew."""
    model, base, other = key
    anew = study.audit_common(base, other, model)
    found, best = study.compare(base, other, model), tell_best(list_judging(study, key))
    counts = write_compared(found, folder, name, best)
    write_common_audits(anew.values(), folder)
    return counts


def end_comparisons(study: Study) -> Ending:
    """Say what all comparisons of a study found, and the answer of the first whose other ruler judges the model."""
    found = [one.summary for one in study.known.rulers.values()]
    found += [one.summary for one in study.known.models.values()]
    table = tabulate_comparisons(found) if found else None
    lines: list[str] = []
    for key, one in study.known.rulers.items():
        if one.summary["status"] != "identical":
            lines = [tell_best(list_judging(study, key)), tell_change(one.summary)]
            break
    return Ending(tuple(study.origins), table, tuple(filter(None, lines)))


def list_judging(study: Study, key: tuple[str, str, str]) -> list[AuditResult]:
    """List the audits that may speak of a model's patients: those compared, and one by a noise-free truth."""
    model, base, other = key
    anew = study.audit_common(base, other, model)
    truths = [
        name
        for name, one in study.references.items()
        if one.provenance == Provenance.TRUTH and (model, name) in study.sides
    ]
    names = dict.fromkeys((base, other, *truths))
    return [anew.get(name) or study.audit(name, model) for name in names]


def write_compared(
    found: Comparison | RegimeComparison, folder: Path, name: str, best: str = ""
) -> dict[str, float]:
    """Write a comparison and what MLflow shows of it; return its main counts under its name.

    `best` is what the best labels say of the patients.
    """
    write_comparison(put_into_words(found) if isinstance(found, Comparison) else found, folder)
    counts = count_outcomes(found.summary)
    tags = {word: str(found.summary[word]) for word in TAGS if word in found.summary}
    *whose, sides = name.split("/")
    title = name_run(found.summary, "".join(whose), sides)
    metrics = counts | collect_figures(found)
    note = note_comparison(found.summary, best)
    write_record(RunRecord("compare", title, note, tags, metrics=metrics), folder)
    return {f"{name}/{key}": value for key, value in counts.items()}


def name_run(summary: Mapping[str, Any], whose: str, sides: str) -> str:
    """Name a comparison in a list of runs: `rulers · mix: gold, silver`, `regimes · gold, mix by gold`."""
    if "base_regime" in summary:
        sides = f"{summary['base_regime']}, {summary['other_regime']}"
        return f"regimes · {sides} by {summary['ruler']}"
    if "base_ruler" in summary:
        sides = f"{summary['base_ruler']}, {summary['other_ruler']}"
    return f"rulers · {whose}: {sides}" if whose else f"rulers · {sides}"


def is_verdict(metric: str) -> bool:
    """Tell whether a metric says that groups differ, which a model judged by itself cannot be asked."""
    return metric.startswith(("answers/", "family/")) or metric.rsplit("/", 1)[-1] in OF_TEST


def collect_metrics(found: AuditResult) -> dict[str, float]:
    """Name the numbers that a run shows; undefined ones are NaN, which a tag names."""
    # MLflow lists metrics as they come, and draws the first of them where two runs are compared.
    metrics = {f"answers/{name}": float(n) for name, n in count_answers(found.tests).items()}
    for row in list_rows(found.families):
        for name in ("significant", "size", "configured", "smallest_p", "smallest_p_fdr"):
            metrics[f"family/{row['family']}/{name}"] = float(row[name])
    metrics |= {"exams": float(found.n_exams), "patients": float(found.n_patients)}
    numbers = summarise(found)["metrics"]
    named = sorted(numbers, key=lambda name: f"/{MACRO}/" not in name)
    return metrics | {
        name: float("nan") if numbers[name] is None else numbers[name] for name in named
    }


def count_outcomes(summary: Mapping[str, Any]) -> dict[str, float]:
    """Name the counts of a comparison: flips, verdicts, changed gaps, by family."""
    kinds = (
        *("flips", "flips_unadjusted", "tests_changed"),
        *("verdicts", "mechanisms", "gap_changes", "four_fifths_flips"),
    )
    return {
        f"{kind}/{family}/{outcome}": float(n)
        for kind in kinds
        for family, outcomes in summary.get(kind, {}).items()
        for outcome, n in outcomes.items()
    }


def collect_figures(found: Comparison | RegimeComparison) -> dict[str, float]:
    """Name the figures of a comparison, `dice/macro/age_3bin/gap_ratio`; undefined ones are NaN."""
    names: tuple[str, ...] = OF_GAP
    if isinstance(found, Comparison):
        rows, names, scores = found.verdicts, OF_VERDICT, found.inflation
    else:
        rows, scores = found.gaps, found.differences
    metrics = {}
    for row in scores.to_dict("records"):
        for name in (name for name in OF_SCORE if name in row):
            word = "difference" if name == "mean" else name
            metrics[f"{row['metric']}/{row['structure']}/{word}"] = float(row[name])
    for row in rows.to_dict("records"):
        stem = f"{row['metric']}/{row['structure']}/{row['grouping']}"
        metrics |= {f"{stem}/{name}": float(row.get(name, np.nan)) for name in names}
    return metrics
