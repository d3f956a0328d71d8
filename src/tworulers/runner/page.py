"""The page that is made of findings, by `report` and by `judge`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from tworulers.diagnosis.comparison import Comparison, RegimeComparison
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, write_json
from tworulers.io.resume import digest
from tworulers.report.card import gather_card
from tworulers.report.findings import Findings, WorstExam
from tworulers.report.from_study import gather_findings
from tworulers.report.lay_out import lay_out
from tworulers.report.page import Page, render_page
from tworulers.report.plotted import count_answers, tabulate_scores
from tworulers.report.view import make_view
from tworulers.report.withhold import hide_lone_exams, withhold_small_groups
from tworulers.report.words.headline import Headline
from tworulers.report.words.model_card import write_card
from tworulers.runner.figures import write_figures
from tworulers.schema.result_files import CARD, COUNTED, CURVES, GROUP_SCORES, SUMMARY
from tworulers.schema.settings import Report, Settings
from tworulers.sides import Side
from tworulers.study import Study

AGAIN = "this page again; config.yaml of the result holds what it read"

COMPUTING = ("tworulers", "numpy", "pandas", "scipy", "statsmodels", "matplotlib")
"""The packages whose versions decide a page."""

NO_FILES = digest([])

OF_FILES = (
    *("label maps", "predictions.cohort", "scores.file", "scores.cohort"),
    *("against.file", "against.cohort", "risk.file"),
)
"""What in a stamp is the digest of files."""


def write_page(
    findings: Findings, report: Report | None, layout: Layout, curves: pd.DataFrame | None = None
) -> Headline:
    """Write the page, its figures and its answer; small groups are not described in a shared one.

    Beside them go the few numbers that `dvc metrics` and `dvc plots` show.

    Parameters
    ----------
    findings : what it tells of.
    report : what it may show; None where it is not asked, and all may be shown.
    layout : where it goes.
    curves : how folds learnt, one row an epoch; None where nothing was trained.
    """
    findings = hide_lone_exams(findings)
    if report is not None and report.shared:
        findings = replace(findings, suppress_below=report.suppress_below)
        findings = withhold_small_groups(findings)
    headline, page = lay_out(findings)
    with folder_written_beside(layout.report) as folder:
        write_files(page, folder)
        card = write_card(gather_card(make_view(findings), headline))
        (folder / CARD).write_text(card, encoding="utf-8")
        write_json(summarise(headline), folder / SUMMARY)
        write_json(count_answers(findings), folder / COUNTED)
        tabulate_scores(findings).to_csv(folder / GROUP_SCORES, index=False)
        if curves is not None:
            curves.to_csv(folder / CURVES, index=False)
    return headline


def write_study_page(
    study: Study,
    dataset: str,
    command: tuple[str, str],
    made_from: Mapping[str, object],
    layout: Layout,
    report: Report | None = None,
    read_worst: Callable[[Findings], Sequence[WorstExam]] | None = None,
) -> Findings | None:
    """Write the page of a study from outside the pipeline; return what it tells of, None where there is no verdict.

    Parameters
    ----------
    study : with its answers.
    dataset : what the page calls its exams.
    command : that makes it again, and what it makes.
    made_from : what the result depends on: of it the digests of files are shown.
    layout : where results go.
    report : as of `write_page`.
    read_worst : reads the worst exams that are shown; None where no label maps are at hand.
    """
    findings = gather_findings(study, dataset)
    if not findings.audits:
        return None
    if read_worst is not None and not (report is not None and report.shared):
        findings = replace(findings, worst=read_worst(findings))
    facts = list_facts(pick_digests(made_from))
    write_page(replace(findings, commands=[command], facts=facts), report, layout)
    return findings


def add_page(
    study: Study,
    stage: str,
    made_from: Mapping[str, object],
    settings: Settings,
    result: Path,
    layout: Layout,
) -> str:
    """Add the page of a ready table to its result; return where it lies, nothing where no verdict may be given."""
    own, file = Layout(layout.root, result, result), Path(str(settings.scores.file))
    again = f"python -m tworulers.stages.{stage} scores.file={file.name} ..."
    made = write_study_page(study, file.stem, (again, AGAIN), made_from, own)
    return tell_page(own) if made is not None else ""


def keep_answer(
    study: Study, found: Comparison | RegimeComparison, first: Side, second: Side
) -> Study:
    """Audit both sides over what they have in common, and let the study know what was found between them."""
    for model, name in (first, second):
        study.audit(name, model)
    if isinstance(found, Comparison):
        study.known.rulers[first[0], first[1], second[1]] = found
    else:
        study.known.models[first[1], first[0], second[0]] = found
    return study


def pick_digests(made_from: Mapping[str, object]) -> dict[str, str]:
    """Pick of all that a result depends on the digests of files, those that were not given left out."""
    return {
        name: str(made_from[name]) for name in OF_FILES if made_from.get(name, NO_FILES) != NO_FILES
    }


def list_facts(digests: Mapping[str, str]) -> list[tuple[str, str]]:
    """List the versions of what computes the results, and the digests of the files that they are made from."""
    versions = ", ".join(f"{name} {version(name)}" for name in COMPUTING)
    return [
        ("Versions", versions),
        *((f"Digest of {name}", told) for name, told in digests.items()),
    ]


def write_files(page: Page, folder: Path) -> None:
    """Write a page with its figures, and beside it every table that it lets one download."""
    (folder / "index.html").write_text(render_page(page), encoding="utf-8")
    write_figures(page.pictures, folder / "figures")
    for name, table in page.data.items():
        (folder / "tables").mkdir(exist_ok=True)
        (folder / "tables" / f"{name}.csv").write_text(table, encoding="utf-8")


def tell_page(layout: Layout) -> str:
    """Say where the page lies."""
    page = layout.report / "index.html"
    return f"report: {layout.show(page)}" if page.is_file() else "report: not made yet"


def summarise(headline: Headline) -> dict[str, object]:
    """Return the answer for other programs."""
    return {
        "question": headline.question,
        "answer": headline.sentence,
        "patients": headline.patients,
        "ruler": headline.ruler,
        "remarks": list(headline.remarks),
        "base": headline.base,
        "other": headline.other,
        "groupings": [
            {"grouping": row.grouping, "base": row.base, "other": row.other, "verdict": row.verdict}
            for row in headline.rows
        ],
    }
