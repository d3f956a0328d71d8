"""The report and show stages on folders as the pipeline leaves them, demographics or not."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tworulers.diagnosis.comparison import Comparison
from tworulers.io.audits import write_audit
from tworulers.io.paths import Layout
from tworulers.io.records import MissingInputError, write_json, write_table
from tworulers.report import gallery
from tworulers.report.findings import CohortTables, ShownAudit
from tworulers.report.render import Picture
from tworulers.runner.cost import Spent, keep_spent
from tworulers.schema.settings import Grid, Paths, Ruler, Settings
from tworulers.schema.sources import Attributes, Dataset
from tworulers.schema.tables import SCHEMA_VERSION
from tworulers.stages.report import report
from tworulers.stages.show import show

Draw = Callable[..., Picture]


@pytest.fixture
def settings(attributes: Attributes) -> Settings:
    return Settings(
        dataset=Dataset(name="made", title="Simulated exams"),
        attributes=attributes,
        ruler=Ruler("gold", "expert labels", "gold"),
        grid=Grid("made", ["gold", "mix"], rulers=["gold", "silver"]),
        paths=Paths("repro"),
    )


@pytest.fixture
def layout(
    settings: Settings,
    tmp_path: Path,
    audits: dict[str, ShownAudit],
    comparison: Comparison,
    e2_table: pd.DataFrame,
    cohort_tables: CohortTables,
    monkeypatch: pytest.MonkeyPatch,
) -> Layout:
    """A project with two audits, an audit of the model by itself, one of nothing, a comparison."""

    def leave_empty(figure: object, name: str, caption: str) -> Picture:
        return Picture(name, caption, "<svg></svg>", b"")

    monkeypatch.setattr(gallery, "take_picture", leave_empty)
    place = Layout.of(settings, tmp_path)
    conf = tmp_path / "conf" / "ruler"
    conf.mkdir(parents=True)
    (conf / "silver.yaml").write_text(
        "name: silver\ntitle: the gold model's predictions\nkind: predictions\n"
        "provenance: silver\nregime: gold\n"
    )
    for (regime, ruler), one in {
        ("mix", "gold"): audits["gold"],
        ("mix", "silver"): audits["silver"],
        ("gold", "silver"): audits["silver"],
    }.items():
        place.audit(regime, ruler).mkdir(parents=True)
        write_audit(replace(one.result, regime=regime), place.audit(regime, ruler))
        scores = one.scores.assign(regime=regime)
        write_table(scores, place.scores(regime, ruler) / "scores.parquet")
    nothing = {"n_exams": 0, "not_audited_because": "ruler truth scored no exam"}
    write_json(nothing, place.audit("mix", "truth") / "summary.json")
    folder = place.comparison("rulers", "mix") / "gold_silver"
    for name, table in vars(comparison).items():
        if isinstance(table, pd.DataFrame):
            write_table(table, folder / f"{name}.parquet", SCHEMA_VERSION)
    write_json(comparison.summary, folder / "summary.json")
    cohort = e2_table.assign(
        image="i", label="l", provenance="gold", spacing="1x1x1", shape="2x2x2"
    )
    cohort = cohort.assign(manufacturer="GE", field_strength_t=1.5)
    write_table(cohort, place.cohort / "cohort.parquet")
    write_table(cohort_tables.counts, place.cohort / "table1.parquet")
    write_table(cohort_tables.ages, place.cohort / "ages.parquet")
    return place


def test_report_writes_page_figures_and_summary(settings: Settings, layout: Layout) -> None:
    folder, record = report(settings, layout)
    page = (folder / "index.html").read_text()
    assert "judged by gold: expert labels (provenance gold)" in page
    assert "the gold model&#39;s predictions" in page
    assert "scored by its own predictions: no verdict" in page
    assert "ruler truth scored no exam" in page
    assert 'id="two-rulers"' in page
    figures = {path.name for path in (folder / "figures").iterdir()}
    assert {"verdict_grid.svg", "verdict_grid.png", "captions.txt"} <= figures
    assert "two_rulers_age_3bin_dice_macro.svg" in figures
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["answer"] == record.description
    assert [row["grouping"] for row in summary["groupings"]] == ["sex", "age_3bin"]


def test_show_prints_the_verdict_the_inflation_and_the_page(
    settings: Settings, layout: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    show(settings, layout)
    assert "report: not made yet" in capsys.readouterr().out
    report(settings, layout)
    capsys.readouterr()
    show(settings, layout)
    printed = capsys.readouterr().out
    assert "Age" in printed
    assert "forgiving 74 %" in printed
    assert printed.splitlines()[-1].endswith("artifacts/made/report/index.html")


def test_show_tells_what_it_cost_and_dates_a_copy_of_the_page_alone(
    settings: Settings, layout: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    report(settings, layout)
    page = layout.report / "index.html"
    before = page.read_bytes()
    spent = Spent("train", "artifacts/made/models/mix/2d", 1e9, 7200.0, 2.0, 3.5, 0.79, 0.0782)
    keep_spent(layout.root, spent)
    capsys.readouterr()
    show(settings, layout)
    printed = capsys.readouterr().out
    assert "120.0" in printed
    assert "in sum" in printed
    assert printed.splitlines()[-1].endswith("mlruns/reports/made.html")
    copy = (layout.root / "mlruns/reports/made.html").read_text()
    assert "2001-09-0" in copy
    assert copy.index("What it cost") < copy.index('id="reproduce"')
    assert page.read_bytes() == before


def test_data_without_demographics_or_cohort_make_a_page_too(
    settings: Settings, layout: Layout
) -> None:
    (layout.cohort / "cohort.parquet").unlink()
    (layout.cohort / "table1.parquet").unlink()
    page = (report(settings, layout)[0] / "index.html").read_text()
    assert 'id="glance"' in page
    assert 'id="two-rulers"' not in page
    assert 'id="cohort"' not in page


def test_volumes_come_from_the_scores_by_gold_labels(settings: Settings, layout: Layout) -> None:
    path = layout.scores("mix", "gold") / "scores.parquet"
    scores = pd.read_parquet(path)
    exams = scores["exam_id"].unique()
    volumes = scores.head(len(exams)).assign(
        exam_id=exams, structure="disc", metric="reference_mm3", value=np.arange(76.0) + 5e3
    )
    write_table(pd.concat([scores, volumes], ignore_index=True), path)
    figures = report(settings, layout)[0] / "figures"
    assert (figures / "volumes.svg").is_file()


def test_without_audits_the_error_names_the_stage(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no audit with a verdict.*stages\.audit"):
        report(settings, Layout.of(settings, tmp_path))


def test_a_missing_table_of_a_comparison_is_named(settings: Settings, layout: Layout) -> None:
    (layout.comparison("rulers", "mix") / "gold_silver" / "verdicts.parquet").unlink()
    with pytest.raises(MissingInputError, match=r"verdicts\.parquet.*stages\.compare"):
        report(settings, layout)
