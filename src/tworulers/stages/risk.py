"""Whether a risk score serves all groups equally: the AUC audit of a table made elsewhere."""

from dataclasses import replace
from pathlib import Path

from tworulers.auc.audit import RiskAudit, audit_risk
from tworulers.auc.summary import collect_metrics, summarise_risk
from tworulers.ingest.risk_table import CLUSTER, OUTCOME, SCORE, RiskRecords, read_risk_table
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, write_json, write_table, write_text
from tworulers.io.resume import Stamp, list_settings
from tworulers.progress import following
from tworulers.report.card import ON_PAGE, card_risk
from tworulers.report.endings import Ending
from tworulers.report.risk_figures import draw_risk, note_panels
from tworulers.report.risk_layout import TABLES, lay_out_risk, say_verdict
from tworulers.report.risk_page import brief_risk, write_risk_page
from tworulers.report.words.model_card import write_card
from tworulers.report.words.risk import WHY, describe_risk, explain_metrics, tell_turned
from tworulers.runner.console import conclude
from tworulers.runner.keyed import digest_named, digest_settings, place_result, write_stamp
from tworulers.runner.page import AGAIN, list_facts, pick_digests, write_files
from tworulers.runner.run import run_stage
from tworulers.runner.tracking import RunRecord
from tworulers.schema.result_files import CARD, SUMMARY
from tworulers.schema.settings import Settings
from tworulers.schema.sources import RiskTable
from tworulers.schema.tables import SCHEMA_VERSION


def risk(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Audit a table of risk scores by every grouping."""
    if settings.report.shared:
        raise ValueError(
            "report.shared=true asks for results that withhold small groups, which the audit of risk scores cannot "
            "do yet; leave it out, and pass on no cell of few people"
        )
    spec, use = settings.risk, settings.use
    name = spec.name or Path(spec.file).stem or "table"
    root = layout.root / (spec.root or ".")
    made_from = _describe_inputs(settings, root)
    result = place_result(
        Layout.of_risk(settings, layout.root, name).use(use.name), made_from, layout
    )
    records = read_risk_table(replace(spec, root=str(root)))
    frame = records.frame
    with following(f"auditing {name}", len(records.groups)) as tell_part:
        audit = audit_risk(
            frame[OUTCOME],
            frame[SCORE],
            records.groups,
            use,
            probability=spec.probability,
            cluster=frame[CLUSTER],
            progress=tell_part,
        )
    sentences, notes = describe_risk(audit), [*records.notes, *note_panels(audit)]
    with folder_written_beside(result) as folder:
        again = f"python -m tworulers.stages.risk risk={name} use={use.name}", AGAIN
        _write(audit, records, spec, sentences, notes, folder, pick_digests(made_from), again)
    write_stamp(made_from, result)
    title = spec.title or name
    page = f"report: {layout.show(result / 'index.html')}"
    ending = Ending((*notes, *tell_turned(audit)), brief_risk(audit, title), say_verdict(audit))
    conclude(ending, f"written to {layout.show(result)}; {page}")
    sizes = {"rows": float(len(frame)), "people": float(frame[CLUSTER].nunique())}
    record = RunRecord(
        stage="risk",
        name=f"risk · {name} for {use.name}",
        description=f"{title}: AUC matrix and its fairness metrics, use {use.name}.",
        tags={"dataset": name, "use": use.name, "unit": spec.unit or "row"},
        metrics=sizes | collect_metrics(audit),
        sibling_tag="use",
    )
    return result, record


def _describe_inputs(settings: Settings, root: Path) -> Stamp:
    spec = settings.risk
    tables = (spec.file, *(join.file for join in spec.joins))
    return {
        **digest_settings(settings, "risk", "name", "root", "file"),
        **digest_named("risk.file", [root / table for table in tables if table]),
        **list_settings(settings, "use"),
    }


def _write(
    audit: RiskAudit,
    records: RiskRecords,
    spec: RiskTable,
    sentences: list[str],
    notes: list[str],
    folder: Path,
    digests: dict[str, str],
    again: tuple[str, str],
) -> None:
    """Write figures, tables, page, text and summary."""
    unit = "predicted probability" if spec.probability else "units of the score"
    pictures = list(draw_risk(audit, records.frame, records.groups, f"{spec.score} ({unit})"))
    for name in TABLES:
        table = explain_metrics(audit.metrics) if name == "metrics" else getattr(audit, name)
        if len(table):
            write_table(table, folder / f"{name}.parquet", SCHEMA_VERSION)
    write_table(records.excluded.astype("str"), folder / "excluded.parquet", SCHEMA_VERSION)
    figures = [f"figures/{picture.name}.svg" for picture in pictures]
    title = spec.title or spec.name
    page = lay_out_risk(
        audit,
        title=title or "Risk score",
        rows=len(records.frame),
        sentences=sentences,
        notes=notes,
        pictures=pictures,
        facts=list_facts(digests),
        command=again,
    )
    write_files(page, folder)
    text = write_risk_page(audit, title=title, sentences=sentences, notes=notes, figures=figures)
    write_text(text, folder / "risk.md")
    events = int(records.frame[OUTCOME].sum())
    card = card_risk(audit, title, len(records.frame), events, notes, ON_PAGE)
    write_text(write_card(card), folder / CARD)
    write_json(summarise_risk(audit, sentences, notes, WHY), folder / SUMMARY)


if __name__ == "__main__":
    run_stage(risk)
