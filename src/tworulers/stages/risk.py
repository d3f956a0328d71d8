"""Whether a risk score serves all groups equally: the AUC audit of a table made elsewhere."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from tworulers.cohort.grouping import assign_groups
from tworulers.cohort.ungrouped import require_groups
from tworulers.file_names import name_file
from tworulers.ingest.risk_table import CLUSTER, OUTCOME, SCORE, UNIT, read_risk_table
from tworulers.io.console import say, show_table
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, write_json, write_table, write_text
from tworulers.report.risk_figures import (
    draw_calibration,
    draw_densities,
    draw_distributions,
    draw_matrix,
    draw_paradox,
    draw_roc_across,
    draw_roc_within,
    draw_sampling,
    make_figure,
)
from tworulers.report.risk_page import write_risk_page
from tworulers.report.rows import iterate_rows
from tworulers.schema import Settings
from tworulers.schema_sources import RiskTable
from tworulers.stages._keyed import (
    digest_named,
    digest_settings,
    place_result,
    write_stamp,
)
from tworulers.stages._resume import list_settings
from tworulers.stages._run import run_stage
from tworulers.stats.auc_audit import RiskAudit, RiskQuestion, audit_risk
from tworulers.stats.auc_uses import Use
from tworulers.stats.scenarios import (
    SCENARIOS,
    describe_change,
    find_implausible_size,
    integrate_matrix,
    predict_sampling,
    sample_patients,
    tabulate_densities,
    tabulate_scenarios,
)
from tworulers.summary import name_parts
from tworulers.tracking import RunRecord

MOST_PANELS = 12
"""Most groups whose events get a panel of ROC curves each; with more nothing could be read."""

LARGEST_SIDE = 30.0
"""Longest side of a figure of a matrix, in inches; more groups make smaller cells."""


def risk(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Audit a table of risk scores by every grouping, or simulate the published scenarios."""
    if settings.report.shared:
        raise ValueError(
            "report.shared=true asks for results that withhold small groups, which the audit of risk scores cannot "
            "do yet; leave it out, and pass on no cell of few people"
        )
    question = frame_question(settings)
    name = settings.risk.name or Path(settings.risk.file).stem or "table"
    root = layout.root / (settings.risk.root or ".")
    tables = (settings.risk.file, *(join.file for join in settings.risk.joins))
    made_from = {
        **digest_settings(settings, "risk", "name", "root", "file"),
        **digest_named("risk.file", [root / table for table in tables if table]),
        **list_settings(settings, "use"),
    }
    named = Layout.of_risk(settings, layout.root, name).use(str(question.use))
    result = place_result(named, made_from, layout)
    if settings.risk.simulate_patients:
        metrics, tags = simulate_scenarios(settings, question, result)
    else:
        metrics, tags = audit_table(settings, question, layout, result)
    write_stamp(made_from, result)
    say(f"written to {layout.relative(result)}")
    title = settings.risk.title or name
    record = RunRecord(
        stage="risk",
        name=f"risk · {name} for {question.use}",
        description=f"{title}: AUC matrix and its fairness metrics, use {question.use}.",
        tags={"dataset": name, "use": str(question.use), **tags},
        metrics=metrics,
        sibling_tag="use",
    )
    return result, record


def frame_question(settings: Settings) -> RiskQuestion:
    """Turn the configured use into what is asked of the score."""
    use = settings.use
    if use.name not in list(Use):
        raise ValueError(f"use {use.name!r} is unknown; choose one of {[str(u) for u in Use]}")
    return RiskQuestion(
        use=Use(use.name),
        all_metrics=use.all_metrics,
        probability=settings.risk.probability,
        threshold=use.threshold,
        sensitivity=use.sensitivity,
        bins=use.bins,
        level=use.level,
        draws=use.bootstrap_draws,
        seed=use.seed,
    )


def audit_table(
    settings: Settings, question: RiskQuestion, layout: Layout, result: Path
) -> tuple[dict[str, float], dict[str, str]]:
    """Read the table, audit it, write tables, page and figures; return what MLflow shows."""
    spec = settings.risk
    records = read_risk_table(replace(spec, root=str(layout.root / (spec.root or "."))))
    cohort = records.frame.rename(columns={UNIT: "exam_id", CLUSTER: "patient_id"})
    notes = [*records.notes, *require_groups(cohort, spec.groupings)]
    groups = group_rows(records.frame, spec)
    audit = audit_risk(records.frame, groups, question)
    notes += [
        f"{name} has {len(matrix.groups)} groups, more than {MOST_PANELS}: the ROC curves across groups are not drawn"
        for name, matrix in audit.matrices.items()
        if len(matrix.groups) > MOST_PANELS
    ]
    with folder_written_beside(result) as folder:
        figures = _draw_audit(audit, records.frame, groups, folder, spec)
        _write_tables(audit, folder)
        write_table(records.excluded.astype("str"), folder / "excluded.parquet")
        title = spec.title or spec.name
        page = write_risk_page(audit, title=title, notes=notes, figures=figures)
        write_text(page, folder / "risk.md")
        write_json(_summarise(audit, notes), folder / "summary.json")
    for note in notes:
        say(note)
    _show(audit, spec)
    people = records.frame[CLUSTER].nunique()
    metrics = {"rows": float(len(records.frame)), "people": float(people)}
    return metrics | _collect_metrics(audit), {"unit": spec.unit or "row"}


def group_rows(frame: pd.DataFrame, spec: RiskTable) -> dict[str, pd.Series]:
    """Give every grouping's group of each row: columns as they are, then groupings made of them."""
    groups: dict[str, pd.Series] = {name: frame[name] for name in spec.groups}
    cohort = frame.rename(columns={UNIT: "exam_id", CLUSTER: "patient_id"})
    for name, grouping in spec.groupings.items():
        assigned = assign_groups(cohort, grouping, spec.groupings)
        groups[name] = assigned.set_axis(frame.index)
    return groups


def simulate_scenarios(
    settings: Settings, question: RiskQuestion, result: Path
) -> tuple[dict[str, float], dict[str, str]]:
    """Set exact, printed and simulated AUC values of the published scenarios beside each other."""
    patients = settings.risk.simulate_patients
    exact = tabulate_scenarios()
    sampling = pd.concat(
        [predict_sampling(s, patients=patients, level=question.level) for s in SCENARIOS],
        ignore_index=True,
    )
    simulated = []
    for scenario in SCENARIOS:
        drawn = sample_patients(scenario, patients=patients, seed=question.seed)
        drawn["cluster_id"] = range(len(drawn))
        group = drawn["group"].astype(pd.CategoricalDtype(["m", "f"], ordered=True))
        table = audit_risk(drawn, {"sex": group}, replace(question, draws=0)).cells
        table.insert(0, "scenario", scenario.name)
        simulated.append(table)
    sizes = {
        scenario.name: {
            str(rounding): find_implausible_size(scenario, level=question.level, rounding=rounding)
            for rounding in (0.0, 0.005)
        }
        for scenario in SCENARIOS
    }
    matrices = [integrate_matrix(scenario) for scenario in SCENARIOS]
    sentences = [
        "The printed table holds the values of one finite simulation, not the exact values of the "
        f"populations: {int(exact['printed_agrees'].sum())} of {len(exact)} entries agree to "
        f"rounding, the largest difference is {exact['exact_minus_printed'].abs().max():.3f}.",
        *(
            f"Scenario {name}: the printed cells would be implausible (outside the "
            f"{question.level:.0%} sampling interval) from {size['0.0']:,.0f} patients on, or from "
            f"{size['0.005']:,.0f} if each may be off by its rounding."
            for name, size in sizes.items()
        ),
        *(
            f"From {a.name} to {b.name}: {describe_change(before, after)}"
            for (a, before), (b, after) in zip(
                zip(SCENARIOS, matrices, strict=True),
                list(zip(SCENARIOS, matrices, strict=True))[1:],
                strict=False,
            )
        ),
    ]
    with folder_written_beside(result) as folder:
        write_table(exact, folder / "scenarios.parquet")
        write_table(sampling, folder / "sampling.parquet")
        write_table(pd.concat(simulated, ignore_index=True), folder / "simulated_cells.parquet")
        draws = [
            *(
                partial(draw_densities, tabulate_densities(s), title=f"Scenario {s.name}")
                for s in SCENARIOS
            ),
            partial(draw_paradox, exact),
            partial(draw_sampling, sampling, level=question.level),
        ]
        _save(make_figure(draws), folder, "scenarios")
        page = [f"# {settings.risk.title}", *sentences, "![scenarios](figures/scenarios.svg)"]
        write_text("\n\n".join(page) + "\n", folder / "risk.md")
        summary = {"patients": patients, "sentences": sentences, "implausible_from": sizes}
        write_json(summary | {"values": exact.to_dict("records")}, folder / "summary.json")
    for sentence in sentences:
        say(sentence)
    show_table(
        f"{settings.risk.title}, {patients:,} patients each",
        ("scenario", "events | non-events", "exact", "interval of a simulation", "printed"),
        [
            (r.scenario, f"{r.events_of} | {r.non_events_of}", f"{r.exact:.4f}",
             f"{r.low:.3f} to {r.high:.3f}", f"{r.printed:.2f}")
            for r in iterate_rows(sampling)
        ],
    )  # fmt: skip
    metrics = {f"auc/{r.scenario}/{r.column}": float(r.exact) for r in iterate_rows(exact)}
    return metrics, {"unit": "simulated patient"}


def _write_tables(audit: RiskAudit, folder: Path) -> None:
    tables = {
        "cells": audit.cells,
        "metrics": audit.metrics,
        "tests": audit.tests,
        "mean_scores": audit.mean_scores,
        "calibration": audit.calibration,
        "rates": audit.rates,
    }
    for name, table in tables.items():
        if len(table):
            write_table(table, folder / f"{name}.parquet")


def _draw_audit(
    audit: RiskAudit,
    frame: pd.DataFrame,
    groups: Mapping[str, pd.Series],
    folder: Path,
    spec: RiskTable,
) -> list[str]:
    """Draw every grouping's figures; return their paths as seen from the folder."""
    paths = []
    axis = (
        f"{spec.score} (predicted probability)"
        if spec.probability
        else f"{spec.score} (units of the score)"
    )
    for name, group in groups.items():
        cells = audit.cells[audit.cells["grouping"] == name]
        scores = frame[[SCORE, OUTCOME]].assign(group=group)
        side = min(max(5.0, 1.35 * len(audit.matrices[name].groups)), LARGEST_SIDE)
        matrix = make_figure([partial(draw_matrix, cells)], width=side + 1, height=side)
        paths.append(_save(matrix, folder, f"{name_file(name)}_matrix"))
        draws = [
            partial(draw_distributions, scores, score_name=axis),
            partial(draw_roc_within, scores),
        ]
        if len(audit.calibration):
            table = audit.calibration[audit.calibration["grouping"] == name]
            draws.append(partial(draw_calibration, table))
        paths.append(_save(make_figure(draws), folder, f"{name_file(name)}_scores"))
        if len(audit.matrices[name].groups) > MOST_PANELS:
            continue
        across = [
            partial(draw_roc_across, scores, events_of=label)
            for label, n in zip(
                audit.matrices[name].groups, audit.matrices[name].n_events, strict=True
            )
            if n > 0
        ]
        paths.append(_save(make_figure(across), folder, f"{name_file(name)}_roc_across"))
    return paths


def _save(figure: object, folder: Path, name: str) -> str:
    """Save as SVG and PNG without a date, so that equal results are equal files."""
    place = folder / "figures"
    place.mkdir(exist_ok=True)
    figure.savefig(place / f"{name}.svg", metadata={"Date": None})  # type: ignore[attr-defined]
    figure.savefig(place / f"{name}.png", metadata={"Software": None})  # type: ignore[attr-defined]
    return f"figures/{name}.svg"


def _collect_metrics(audit: RiskAudit) -> dict[str, float]:
    """Name the numbers that runs are compared by."""
    metrics = {
        "auc/overall": audit.overall.value,
        "auc/overall/low": audit.overall.low,
        "auc/overall/high": audit.overall.high,
    }
    called = {name: name_parts(matrix.groups) for name, matrix in audit.matrices.items()}
    for cell in iterate_rows(audit.cells):
        of = called[cell.grouping]
        name = f"auc/{cell.grouping}/{of[cell.events_of]}/{of[cell.non_events_of]}"
        metrics[name] = float(cell.auc)
    for row in iterate_rows(audit.metrics):
        of = called[row.grouping]
        groups = [of.get(g, g) for g in (row.group_a, row.group_b) if g not in ("", "all")]
        metrics["/".join([row.metric, row.grouping, *groups])] = float(row.value)
    for test in iterate_rows(audit.tests[audit.tests["family"] == "groupings"]):
        metrics[f"within_parity/{test.grouping}/p"] = float(test.p)
        metrics[f"within_parity/{test.grouping}/p_fdr"] = float(test.p_fdr)
    return metrics


def _summarise(audit: RiskAudit, notes: list[str]) -> dict[str, object]:
    """The audit as strict JSON: every null stands beside its reason."""
    by_grouping = {
        name: {
            "overall_of_grouped_rows": matrix.overall,
            "rows_without_group": matrix.n_without_group,
            "cells": _rows(audit.cells, name),
            "metrics": _rows(audit.metrics.drop(columns=["why"]), name),
        }
        for name, matrix in audit.matrices.items()
    }
    appraisals = audit.metrics.drop_duplicates("metric")[["metric", "appraisal", "why"]]
    return {
        "use": str(audit.question.use),
        "overall": asdict(audit.overall),
        "sentences": audit.sentences,
        "groupings": by_grouping,
        "tests": audit.tests.to_dict("records"),
        "appraisals": appraisals.to_dict("records"),
        "notes": notes,
    }


def _rows(table: pd.DataFrame, grouping: str) -> list[dict[str, object]]:
    own = table[table["grouping"] == grouping].drop(columns=["grouping"])
    return [{str(k): v for k, v in row.items()} for row in own.to_dict("records")]


def _show(audit: RiskAudit, spec: RiskTable) -> None:
    """Print the few lines a person reads first."""
    overall = audit.overall
    rows = [
        ("all rows", "overall AUC", f"{overall.value:.4f}", _bounds(overall, overall.value), "", "")
    ]
    for name in audit.matrices:
        cells = audit.cells[audit.cells["grouping"] == name]
        for cell in iterate_rows(cells[cells["events_of"] == cells["non_events_of"]]):
            value = f"{cell.auc:.4f}" if cell.auc == cell.auc else cell.undefined_because
            rows.append((name, f"AUC within {cell.events_of}", value, _bounds(cell, cell.auc),
                         f"{cell.n_events} × {cell.n_non_events}", ""))  # fmt: skip
        tests = audit.tests[(audit.tests["grouping"] == name) & (audit.tests["group_a"] == "all")]
        p, adjusted = tests[["p", "p_fdr"]].iloc[0]
        words = f"p = {p:.3f}, FDR {adjusted:.3f}" if p == p else tests["undefined_because"].iloc[0]
        words = "; ".join(part for part in (words, tests["remarks"].iloc[0]) if part)
        rows.append((name, "within-group parity, all groups", "", "", "", words))
    columns = ("grouping", "quantity", "value", "interval", "events × non-events", "test")
    show_table(f"{spec.title or spec.name}, {audit.question.use}", columns, rows)
    for sentence in audit.sentences:
        say(sentence)


def _bounds(estimate: Any, value: float) -> str:
    """Write an interval, or why a value that is defined has none."""
    if estimate.low == estimate.low:
        return f"{estimate.low:.3f} to {estimate.high:.3f}"
    return f"none: {estimate.undefined_because}" if value == value else ""


if __name__ == "__main__":
    run_stage(risk, ("risk", "use"))
