"""The audit stage on a ready table and on the pipeline's own scores, and an audit read back from
disk.
"""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tworulers.battery.within import ANSWERS
from tworulers.io.audits import FRAMES, read_audit
from tworulers.io.paths import Layout
from tworulers.io.records import OldTablesError, write_table
from tworulers.schema.settings import Audit, Paths, Regime, Ruler, Settings
from tworulers.schema.sources import Attributes, Dataset, Grouping, ScoreTable
from tworulers.schema.table_models import Scores
from tworulers.schema.tables import SCHEMA_VERSION
from tworulers.stages.audit import audit

pytestmark = pytest.mark.usefixtures("unrendered")

COLUMNS = {
    f"{structure}/{metric}": f"gold_{metric}_{structure}"
    for metric in ("dice", "hd95", "ndsc")
    for structure in ("vb", "disc")
}

EMPTY = ("posthoc", "repeats", "label_shares", "equivalence")
"""Tables that have rows only where something is found, patients repeat, labels are of two kinds, or margins asked."""


@pytest.fixture
def settings(root: Path, paper_audit: Audit, paper_groupings: dict[str, Grouping]) -> Settings:
    names = ("sex", "race_wb", "age_3bin", "age_median")
    groupings = {name: paper_groupings[name] for name in names}
    return Settings(
        dataset=Dataset(name="made", structures={"vb": 1, "disc": 2}),
        regime=Regime(name="mix"),
        ruler=Ruler("gold", "expert labels", "gold"),
        attributes=Attributes("some", "Some groupings", "exam", groupings),
        audit=replace(paper_audit, bootstrap_draws=100, permutations=50, power_draws=50),
        scores=ScoreTable(
            str(root / "tests/golden/e2_scores.csv"), columns=COLUMNS, provenance="gold"
        ),
        paths=Paths("repro"),
    )


def layout_of(settings: Settings, folder: Path) -> Layout:
    return Layout.of(settings, folder)


def test_ready_table(settings: Settings, tmp_path: Path) -> None:
    folder, record = audit(settings, layout_of(settings, tmp_path))
    assert folder == tmp_path / "artifacts/tables/e2_scores/some/gold"
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["provenance"], summary["n_exams"]) == ("gold", 76)
    # the macro score is made by the reader; four groupings make 36 tests
    assert summary["families"][0]["size"] == 36
    assert record.metrics["dice/macro/age_3bin/p"] == pytest.approx(0.0300192910949, abs=1e-9)
    assert record.tags["provenance"] == "gold"
    said = pd.read_parquet(folder / "sentences.parquet")
    assert said["sentence"].str.contains("gold: drawn by experts").all()
    left_out = pd.read_parquet(folder / "left_out.parquet")
    assert left_out.loc[left_out["grouping"] == "race_wb", "exams"].sum() == 7
    again = read_audit(folder)
    assert again.settings == replace(settings.audit, structures=[])
    assert again.metrics["hd95"].unit == "mm"
    for name in FRAMES:
        assert len(getattr(again, name)) > 0 or name in EMPTY


def test_tables_of_an_older_schema_are_refused(settings: Settings, tmp_path: Path) -> None:
    folder, _ = audit(settings, layout_of(settings, tmp_path))
    assert pd.read_parquet(folder / "disparities.parquet").attrs == {
        "schema_version": SCHEMA_VERSION
    }
    about = json.loads((folder / "audit.json").read_text())
    del about["schema_version"]
    (folder / "audit.json").write_text(json.dumps(about))
    with pytest.raises(
        OldTablesError, match=r"expected tables of schema version 3, found 1.*make them again"
    ):
        read_audit(folder)


def test_two_runs_with_one_seed_write_the_same(settings: Settings, tmp_path: Path) -> None:
    texts = []
    for place in ("a", "b"):
        folder, _ = audit(settings, layout_of(settings, tmp_path / place))
        frames = {path.name: pd.read_parquet(path) for path in folder.glob("*.parquet")}
        texts.append(((folder / "summary.json").read_text(), frames))
    assert texts[0][0] == texts[1][0]
    for name, frame in texts[0][1].items():
        pd.testing.assert_frame_equal(frame, texts[1][1][name])


def test_margins_of_the_data_hold_for_its_own_scores_alone(
    settings: Settings, tmp_path: Path, e2_table: pd.DataFrame
) -> None:
    """A ready table is of other data, whatever data set the configuration begins with."""
    settings.dataset.margin = {"dice": 2.0, "failures": 10.0}
    folder, _ = audit(settings, layout_of(settings, tmp_path))
    assert read_audit(folder).settings.margin == {}
    settings.scores = ScoreTable()
    layout = pipeline_scores(settings, tmp_path, e2_table)
    settings.audit = replace(settings.audit, margin={"failures": 20.0})
    folder, record = audit(settings, layout)
    found = read_audit(folder)
    assert found.settings.margin == {"dice": 2.0, "failures": 20.0}
    assert set(found.equivalence["failure_margin"]) == {0.2}
    assert sum(record.metrics[f"answers/{name}"] for name in ANSWERS) == len(found.tests)


def pipeline_scores(settings: Settings, folder: Path, table: pd.DataFrame) -> Layout:
    """Write the cohort and scores that the stages before would have written, and ask for no others."""
    settings.audit = replace(settings.audit, metrics=["dice"])
    layout = layout_of(settings, folder)
    cohort = table.assign(
        image="i.nii.gz",
        label="l.nii.gz",
        provenance="gold",
        manufacturer="GE",
        field_strength_t=1.5,
        spacing="1x1x1",
        shape="8x8x8",
    )
    write_table(cohort, layout.cohort / "cohort.parquet")
    scores = pd.DataFrame(
        {
            "exam_id": table["exam_id"],
            "regime": "mix",
            "ruler": settings.ruler.name,
            "provenance": str(settings.ruler.provenance),
            "structure": "macro",
            "metric": "dice",
            "value": table["gold_dice_macro"],
            "undefined_because": None,
        }
    )[list(Scores.to_schema().columns)]
    write_table(scores, layout.scores("mix", settings.ruler.name) / "scores.parquet")
    return layout


def test_scores_of_the_pipeline(settings: Settings, tmp_path: Path, e2_table: pd.DataFrame) -> None:
    settings.scores.file = None
    layout = pipeline_scores(settings, tmp_path, e2_table)
    folder, record = audit(settings, layout)
    assert folder == layout.audit("mix", "gold")
    assert record.metrics["family/main/size"] == 4
    assert record.sibling_tag == "ruler"


def test_a_models_own_predictions_give_no_verdict(
    settings: Settings, tmp_path: Path, e2_table: pd.DataFrame
) -> None:
    settings.scores.file = None
    settings.ruler = Ruler("silver", "machine labels", "predictions", "silver", regime="mix")  # type: ignore[arg-type]
    layout = pipeline_scores(settings, tmp_path, e2_table)
    folder, record = audit(settings, layout)
    assert record.tags["identical"] == "yes"
    assert pd.read_parquet(folder / "sentences.parquet").empty


def test_a_ruler_without_exams_audits_nothing(
    settings: Settings, tmp_path: Path, e2_table: pd.DataFrame
) -> None:
    settings.scores.file = None
    layout = pipeline_scores(settings, tmp_path, e2_table)
    path = layout.scores("mix", "gold") / "scores.parquet"
    write_table(pd.read_parquet(path).head(0), path)
    folder, _ = audit(settings, layout)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["not_audited_because"] == "ruler gold scored no exam"


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        (
            ["dic"],
            "no metric is called 'dic' (did you mean 'dice'?); known: absolute_volume_error, dice",
        ),
        (["dice", "hd95"], "'hd95' is asked for and not scored; the scores hold dice"),
    ],
)
def test_a_metric_that_is_misspelt_or_not_scored_leaves_the_old_audit(
    settings: Settings, tmp_path: Path, e2_table: pd.DataFrame, metrics: list[str], said: str
) -> None:
    settings.scores.file = None
    layout = pipeline_scores(settings, tmp_path, e2_table)
    folder, _ = audit(settings, layout)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    settings.audit = replace(settings.audit, metrics=metrics)
    with pytest.raises(ValueError, match=r"metrics that cannot be audited") as error:
        audit(settings, layout)
    assert said in str(error.value)
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_other_misspelt_names_are_faults_too(settings: Settings, tmp_path: Path) -> None:
    """A threshold that nothing is held against, and a structure that was not scored."""
    layout, asked = layout_of(settings, tmp_path), settings.audit
    settings.audit = replace(asked, thresholds={"dise": 0.8}, extra_metrics=["hd59"])
    with pytest.raises(ValueError, match="audit.thresholds: no metric is called 'dise'") as error:
        audit(settings, layout)
    assert "audit.extra_metrics: no metric is called 'hd59' (did you mean 'hd95'?)" in str(
        error.value
    )
    settings.audit = replace(asked, structures=["dics"])
    with pytest.raises(ValueError, match=r"of 'dics' \(did you mean 'disc'\?\); scored: vb, disc"):
        audit(settings, layout)


def test_metrics_that_a_ready_table_does_not_hold_are_told(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.scores.columns = {
        name: column for name, column in COLUMNS.items() if "hd95" not in name
    }
    audit(settings, layout_of(settings, tmp_path))
    assert "the table holds no hd95: asked for, not audited" in capsys.readouterr().out
