"""Everything the pipeline found, as one page and its figures."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from tworulers.cohort.grouping import assign_groups
from tworulers.io.audits import read_audit
from tworulers.io.console import say
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, made_by, read_json, read_table, write_json
from tworulers.report.gallery import ShownAudit
from tworulers.report.page import (
    OWN_PREDICTIONS,
    Anchored,
    CohortTables,
    Findings,
    Headline,
    RegimeChange,
    RulerChange,
    Unjudged,
    Warned,
    render_page,
)
from tworulers.report.sections import pick_change, pick_judged, write_report
from tworulers.report.withhold import hide_lone_exams, withhold_small_groups
from tworulers.rulers import Comparison, RegimeComparison
from tworulers.schema import Distortion, Provenance, Ruler, Settings
from tworulers.stages._common_exams import read_common_audits
from tworulers.stages._figures import write_figures
from tworulers.stages._run import load_choice, run_stage
from tworulers.tables import Cohort
from tworulers.told_settings import tell_settings
from tworulers.tracking import RunRecord

REFERENCE_VOLUME = "reference_mm3"


def report(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Write the page and its figures from the cohort, the audits and the comparisons."""
    findings = add_particulars(read_findings(settings, layout), settings, layout)
    headline = write_page(findings, settings, layout)
    say(f"report: {layout.relative(layout.report / 'index.html')}")
    tags = {"attributes": settings.attributes.name}
    return layout.report, RunRecord("report", "report", headline.sentence, tags)


def write_page(findings: Findings, settings: Settings, layout: Layout) -> Headline:
    """Write the page, its figures and its answer; small groups are not described in a shared one."""
    findings = hide_lone_exams(findings)
    if settings.report.shared:
        findings = replace(findings, suppress_below=settings.report.suppress_below)
        findings = withhold_small_groups(findings)
    headline, sections = write_report(findings)
    title = f"Two rulers: {findings.dataset}"
    page = render_page(title, headline, sections, findings.commands, findings.configuration)
    with folder_written_beside(layout.report) as folder:
        (folder / "index.html").write_text(page, encoding="utf-8")
        shown = [p for section in sections for p in (*section.pictures, *section.more_pictures)]
        write_figures(shown, folder / "figures")
        write_json(summarise(headline), folder / "summary.json")
    return headline


def read_findings(settings: Settings, layout: Layout) -> Findings:
    """Read every audit and comparison there is.

    Raises
    ------
    ValueError : there is no audit.
    """
    audits, unjudged = read_audits(settings, layout)
    if not audits:
        raise ValueError(
            f"no audit with a verdict below {layout.relative(layout.outputs / 'audits')}; "
            f"{made_by('audit')} makes one{layout.how_to_fill}"
        )
    changes, regimes = read_comparisons(layout)
    return Findings(
        dataset=settings.dataset.title or settings.dataset.name,
        attributes=settings.attributes.title or settings.attributes.name,
        audits=audits,
        unjudged=unjudged,
        changes=changes,
        regimes=regimes,
        warnings=read_warnings(audits, layout),
    )


def add_particulars(findings: Findings, settings: Settings, layout: Layout) -> Findings:
    """Add what the page shows beside audits: groups of exams, cohort, commands, configuration."""
    change = pick_change(findings)
    audits = findings.audits
    first = pick_judged(findings, change)[0] if change else next(iter(audits.values()))
    cohort = layout.cohort / "cohort.parquet"
    exams = read_table(cohort, "cohort", Cohort) if cohort.is_file() else None
    return replace(
        findings,
        groups=group_exams(exams, first, settings),
        patients=find_patients(exams),
        cohort=read_cohort_tables(layout, audits),
        commands=list_commands(settings),
        configuration=read_configuration(first, layout),
    )


def read_audits(
    settings: Settings, layout: Layout
) -> tuple[dict[tuple[str, str], ShownAudit], list[Unjudged]]:
    """Read the audits below the outputs, in the grid's order, and those without a verdict."""
    order = {name: place for place, name in enumerate(settings.grid.rulers)}
    root = layout.outputs / "audits"
    folders = [path.parent for path in root.glob("*/*/summary.json")]
    folders.sort(key=lambda f: (f.parent.name, order.get(f.name, len(order)), f.name))
    audits: dict[tuple[str, str], ShownAudit] = {}
    unjudged = []
    for folder in folders:
        regime, name = folder.parent.name, folder.name
        ruler = find_ruler(folder, settings, layout)
        summary = read_json(folder / "summary.json", "audit")
        reason = summary.get("not_audited_because")
        if ruler.regime == regime:
            reason = OWN_PREDICTIONS
        if reason is not None:
            provenance = str(summary.get("provenance") or ruler.provenance)
            unjudged.append(Unjudged(regime, name, ruler.title, provenance, str(reason)))
            continue
        scores = find_scores(folder, regime, name, layout)
        audits[regime, name] = ShownAudit(read_audit(folder), ruler.title, scores)
    return audits, unjudged


def read_comparisons(layout: Layout) -> tuple[list[RulerChange], list[RegimeChange]]:
    """Read the comparisons of rulers and of regimes."""
    changes, regimes = [], []
    for folder in _result_folders(layout.outputs / "comparisons" / "rulers"):
        summary = read_json(folder / "summary.json", "compare")
        tables = _read_tables(folder, Comparison)
        comparison = Comparison(**tables, summary=summary)
        names = (summary["regime"], summary["base_ruler"], summary["other_ruler"])
        traced = folder / "probability.parquet"
        probability = pd.read_parquet(traced) if traced.is_file() else None
        anchored, audits = read_anchored(folder), read_common_audits(folder)
        changes.append(RulerChange(*names, comparison, probability, anchored, audits))
    for folder in _result_folders(layout.outputs / "comparisons" / "regimes"):
        summary = read_json(folder / "summary.json", "compare")
        tables = _read_tables(folder, RegimeComparison)
        regimes.append(
            RegimeChange(
                summary["base_regime"],
                summary["other_regime"],
                summary["ruler"],
                RegimeComparison(**tables, summary=summary),
            )
        )
    return changes, regimes


def read_anchored(folder: Path) -> Anchored | None:
    """Read the gold-anchored estimates of a comparison; None where there are none."""
    if not (folder / "anchored.json").is_file():
        return None
    return Anchored(
        means=read_table(folder / "anchored_means.parquet", "compare"),
        gaps=read_table(folder / "anchored_gaps.parquet", "compare"),
        exchangeability=read_table(folder / "exchangeability.parquet", "compare"),
        sentences=read_json(folder / "anchored.json", "compare")["sentences"],
    )


def read_warnings(
    judged: Iterable[tuple[str, str]], layout: Layout
) -> dict[tuple[str, str], Warned]:
    """Read how well confidence warns of failures, for the audits that asked."""
    warnings = {}
    for regime, ruler in judged:
        folder = layout.audit(regime, ruler)
        if not (folder / "warning_cells.parquet").is_file():
            continue
        numbers = read_json(folder / "warning.json", "audit")["numbers"]
        overall = {
            name.split("/")[1]: float("nan") if value is None else float(value)
            for name, value in numbers.items()
            if name.endswith("/auc")
        }
        names = ("cells", "metrics", "tests", "concordance")
        tables = {name: read_table(folder / f"warning_{name}.parquet", "audit") for name in names}
        warnings[regime, ruler] = Warned(**tables, overall=overall)
    return warnings


def read_cohort_tables(
    layout: Layout, audits: Mapping[tuple[str, str], ShownAudit]
) -> CohortTables:
    """Read the descriptions of the cohort, and the volumes measured in gold labels."""

    def read(name: str) -> pd.DataFrame | None:
        path = layout.cohort / f"{name}.parquet"
        return pd.read_parquet(path) if path.is_file() else None

    gold = [
        one
        for one in audits.values()
        if one.result.provenance == Provenance.GOLD and one.scores is not None
    ]
    volumes, ruler = None, ""
    if gold and gold[0].scores is not None:
        rows = gold[0].scores[gold[0].scores["metric"] == REFERENCE_VOLUME]
        volumes = rows[["exam_id", "structure", "value"]].rename(columns={"value": "volume_mm3"})
        ruler = gold[0].name
    return CohortTables(
        counts=read("table1"),
        ages=read("ages"),
        relations=read("confounders"),
        left_out=read("left_out"),
        exclusions=read("exclusions"),
        volumes=volumes,
        volumes_ruler=ruler,
    )


def group_exams(exams: pd.DataFrame | None, judged: ShownAudit, settings: Settings) -> pd.DataFrame:
    """Put the audited exams into the groups of every grouping, as the audit did."""
    if exams is None or judged.scores is None:
        return pd.DataFrame()
    audited = exams[exams["exam_id"].isin(judged.scores["exam_id"])]
    groupings = settings.attributes.groupings
    wanted = [name for name in judged.result.groupings["grouping"] if name in groupings]
    return pd.DataFrame(
        {name: assign_groups(audited, groupings[name], groupings) for name in wanted}
    )


def find_patients(exams: pd.DataFrame | None) -> "pd.Series[str]":
    """Say whose each exam is; nothing where no cohort is at hand."""
    if exams is None:
        return pd.Series(dtype="str")
    return exams.set_index("exam_id")["patient_id"]


def find_scores(folder: Path, regime: str, ruler: str, layout: Layout) -> pd.DataFrame | None:
    """Read the scores that an audit judged, from beside its tables or from the pipeline."""
    places = (folder / "scores.parquet", layout.scores(regime, ruler) / "scores.parquet")
    return next((pd.read_parquet(path) for path in places if path.is_file()), None)


def find_ruler(folder: Path, settings: Settings, layout: Layout) -> Ruler:
    """Return the ruler of an audit as the audit wrote it, else what the configuration says of it."""
    path, name = folder / "ruler.json", folder.name
    if path.is_file():
        content = read_json(path, "audit")
        return Ruler(**{**content, "distortion": Distortion(**content["distortion"])})
    if name == settings.ruler.name:
        return settings.ruler
    try:
        return load_choice(layout.root, "ruler", name, Ruler)
    except ValueError:
        return Ruler(name, title="", kind="folder")


def list_commands(settings: Settings) -> list[tuple[str, str]]:
    """List what to run to get the page again."""
    python, dataset = "python -m tworulers.stages", f"dataset={settings.dataset.name}"
    grid = settings.grid
    regimes, rulers = ",".join(grid.regimes), ",".join(grid.rulers)
    return [
        ("dvc repro", "the whole line, as far as anything changed"),
        (
            f"{python}.audit {dataset} -m regime={regimes} ruler={rulers}",
            "every audit again, as runs to be compared side by side",
        ),
        (f"{python}.compare {dataset}", "the comparisons of rulers and of regimes"),
        (f"{python}.report {dataset}", "this page"),
        ("./scripts/ui", "all runs in MLflow"),
    ]


def read_configuration(judged: ShownAudit, layout: Layout) -> str:
    """Return what the results behind the page's first ruler were made with, as YAML: each stage kept what it read."""
    regime = judged.result.regime
    folders = [
        *(layout.cohort, layout.split, layout.plan),
        *sorted(layout.models(regime).glob("*")),
        layout.audit(regime, judged.result.ruler),
    ]
    content: dict[str, Any] = {}
    for folder in folders:
        path = folder / "config.yaml"
        if path.is_file():
            for name, value in yaml.safe_load(path.read_text()).items():
                content[name] = (
                    {**content.get(name, {}), **value} if isinstance(value, dict) else value
                )
    shown = ("dataset", "attributes", "split", "recipe", "audit", "grid", "seed")
    kept = {name: content[name] for name in shown if name in content}
    return yaml.safe_dump(tell_settings(kept), sort_keys=False, allow_unicode=True)


def summarise(headline: Headline) -> dict[str, object]:
    """Return the answer for other programs."""
    return {
        "question": headline.question,
        "answer": headline.sentence,
        "remarks": list(headline.remarks),
        "base": headline.base,
        "other": headline.other,
        "groupings": [
            {"grouping": row.grouping, "base": row.base, "other": row.other, "verdict": row.verdict}
            for row in headline.rows
        ],
    }


def _result_folders(root: Path) -> list[Path]:
    return sorted(path.parent for path in root.glob("*/*/summary.json"))


def _read_tables(folder: Path, kind: type) -> dict[str, pd.DataFrame]:
    names = [field.name for field in fields(kind) if field.name != "summary"]
    return {name: read_table(folder / f"{name}.parquet", "compare") for name in names}


if __name__ == "__main__":
    run_stage(
        report,
        ("dataset.name", "dataset.title", "attributes", "report", "grid.regimes", "grid.rulers"),
    )
