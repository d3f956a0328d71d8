"""The verdict on a terminal: what each ruler says of every grouping, and where the page lies."""

import pandas as pd

from tworulers.io.console import say, show_table
from tworulers.io.paths import Layout
from tworulers.report.gallery import ShownAudit, pick_score
from tworulers.report.headline import join_sentences, tell_inflation, tell_mechanism
from tworulers.report.page import RulerChange
from tworulers.report.patient_words import tell_patients
from tworulers.report.sections import pick_change, pick_judged
from tworulers.report.style import name_score
from tworulers.report.tables import UNDEFINED, write_p
from tworulers.report.verdict_words import TITLES, pick_flip
from tworulers.schema import Settings
from tworulers.stages._run import run_stage
from tworulers.stages.report import read_findings
from tworulers.stats.battery import EXTRA


def show(settings: Settings, layout: Layout) -> None:
    """Print the verdict table, what changed and why, the inflation, and the path of the page."""
    findings = read_findings(settings, layout)
    change = pick_change(findings)
    if change is None:
        for one in findings.audits.values():
            _show_audit(one)
    else:
        first, second = pick_judged(findings, change)
        others = [
            one
            for (regime, ruler), one in findings.audits.items()
            if regime == change.regime and ruler not in (change.base, change.other)
        ]
        show_table(
            f"{first.result.regime} model, {first.result.n_exams} exams: judged by {first.name} "
            f"and by {second.name}",
            ("grouping", "score", f"p {first.ruler}", "adjusted", f"p {second.ruler}", "adjusted",
             "what changing the ruler did"),
            list_rows(first, change),
        )  # fmt: skip
        say(join_sentences(tell_patients([first, second], others), tell_mechanism(second, change)))
        say(tell_inflation(first, second, change))
    page = layout.report / "index.html"
    say(f"report: {layout.relative(page)}" if page.is_file() else "report: not made yet")


def list_rows(first: ShownAudit, change: RulerChange) -> list[tuple[str, ...]]:
    """List each grouping's clearest change of conclusion, or its first score where none changed."""
    metric, structure = pick_score(first.result)
    rows: list[tuple[str, ...]] = []
    verdicts = change.comparison.verdicts
    verdicts = verdicts[verdicts["family"] != EXTRA]
    for grouping in first.result.groupings.to_dict("records"):
        mine = verdicts[verdicts["grouping"] == grouping["grouping"]]
        row = _pick_row(mine, metric, structure)
        if row is None:
            rows.append((str(grouping["title"]), UNDEFINED, *[UNDEFINED] * 4, "not compared"))
            continue
        because = row["undefined_because"]
        verdict = TITLES.get(str(row["verdict"]), str(row["verdict"]))
        rows.append(
            (
                str(grouping["title"]),
                name_score(first.metric(str(row["metric"])), str(row["structure"])),
                *[
                    write_p(row[name])
                    for name in (
                        *("p_verdict_base", "p_verdict_fdr_base"),
                        *("p_verdict_other", "p_verdict_fdr_other"),
                    )
                ],
                f"{verdict}: {because}" if isinstance(because, str) and because else verdict,
            )
        )
    return rows


def _pick_row(verdicts: pd.DataFrame, metric: str, structure: str) -> "pd.Series | None":
    flip = pick_flip(verdicts, (metric, structure))
    if flip is not None:
        return flip
    rows = verdicts[(verdicts["metric"] == metric) & (verdicts["structure"] == structure)]
    return rows.iloc[0] if len(rows) else None


def _show_audit(one: ShownAudit) -> None:
    show_table(
        f"{one.result.regime} model, {one.result.n_exams} exams: judged by {one.name}",
        ("grouping", "significant", "smallest p", "adjusted"),
        [
            (
                str(row["title"]),
                f"{row['significant']} of {row['tests_computed']}",
                write_p(row["smallest_p"]),
                write_p(row["smallest_p_fdr"]),
            )
            for row in one.result.groupings.to_dict("records")
        ],
    )


if __name__ == "__main__":
    run_stage(show, ())
