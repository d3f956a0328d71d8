"""Everything the pipeline found, as one page and its figures."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from tworulers.io.digests import digest_file
from tworulers.io.paths import Layout
from tworulers.io.records import read_table
from tworulers.progress import say
from tworulers.recipe.task import CURVE
from tworulers.report.findings import CohortTables, Findings, ShownAudit
from tworulers.report.view import make_view
from tworulers.runner.page import list_facts, tell_page, write_page
from tworulers.runner.reading import read_findings, tell_training
from tworulers.runner.run import run_stage
from tworulers.runner.tracking import RunRecord
from tworulers.runner.worst_exams import read_worst
from tworulers.schema.damage import reading
from tworulers.schema.settings import Provenance, Settings
from tworulers.schema.told_settings import tell_settings

REFERENCE_VOLUME = "reference_mm3"


def report(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Write the page and its figures from the cohort, the audits and the comparisons."""
    read = read_findings(settings, layout)
    findings = read.findings
    first = make_view(findings).first
    findings = replace(
        findings,
        cohort=read_cohort_tables(layout, findings.audits.values()),
        commands=list_commands(settings),
        facts=list_facts(digest_inputs(layout, findings)),
        worst=read_worst(read, settings, layout),
        configuration=read_configuration(first, layout),
        training=tell_training(first.result.regime, layout),
    )
    headline = write_page(findings, settings.report, layout, read_curves(settings, layout))
    say(tell_page(layout))
    tags = {"attributes": settings.attributes.name}
    return layout.report, RunRecord("report", "report", headline.sentence, tags)


def read_curves(settings: Settings, layout: Layout) -> pd.DataFrame:
    """Read how every fold of every trained regime learnt, one row an epoch."""
    tables = []
    for regime in settings.grid.regimes:
        for path in sorted(layout.models(regime).glob(f"*/*/{CURVE}")):
            with reading(path, "train"):
                curve = pd.read_parquet(path)
            model = f"{regime} {path.parent.parent.name}"
            tables.append(curve.assign(model=model, fold=path.parent.name))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def read_cohort_tables(layout: Layout, audits: Iterable[ShownAudit]) -> CohortTables:
    """Read the descriptions of the cohort, and the volumes measured in gold labels."""

    def read(name: str) -> pd.DataFrame | None:
        path = layout.cohort / f"{name}.parquet"
        return read_table(path, "cohort") if path.is_file() else None

    gold = [one for one in audits if one.result.provenance == Provenance.GOLD]
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


def digest_inputs(layout: Layout, findings: Findings) -> dict[str, str]:
    """Digest what the audits of the page were made from: the cohort, and the scores by each ruler."""
    files = {"cohort": layout.cohort_table}
    files |= {
        f"scores of {' by '.join(side)}": layout.score_table(*side) for side in findings.audits
    }
    return {name: digest_file(path) for name, path in files.items() if path.is_file()}


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
    folders = {
        **{layout.cohort: "cohort", layout.split: "split", layout.plan: "plan"},
        **dict.fromkeys(sorted(layout.models(regime).glob("*")), "train"),
        layout.audit(regime, judged.result.ruler): "audit",
    }
    content: dict[str, Any] = {}
    for folder, maker in folders.items():
        path = folder / "config.yaml"
        if path.is_file():
            with reading(path, maker):
                made_with = yaml.safe_load(path.read_text()).items()
            for name, value in made_with:
                content[name] = (
                    {**content.get(name, {}), **value} if isinstance(value, dict) else value
                )
    shown = ("dataset", "attributes", "split", "recipe", "audit", "grid", "seed")
    kept = {name: content[name] for name in shown if name in content}
    return yaml.safe_dump(tell_settings(kept), sort_keys=False, allow_unicode=True)


if __name__ == "__main__":
    run_stage(report)
