"""What the embedded example has to show once `./scripts/reproduce` has run; skipped by name before that."""

import json
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from page_in_browser import NARROW, WIDE, check_print, look, open_browser
from tworulers.runner.tracking.store import connect
from tworulers.schema.settings import Tracking

ROOT = Path(__file__).parents[2]
BASE = ROOT / "artifacts" / "phantom"
pytestmark = pytest.mark.example


@pytest.fixture(scope="module", autouse=True)
def _reproduced() -> None:
    if not (BASE / "report" / "index.html").is_file():
        pytest.skip("./scripts/reproduce has not run in this checkout")


def scores(regime: str, ruler: str) -> pd.DataFrame:
    return pd.read_parquet(BASE / "scores" / regime / ruler / "scores.parquet")


def macro_dice(regime: str, ruler: str) -> pd.Series:
    table = scores(regime, ruler).query("structure == 'macro' and metric == 'dice'")
    return table.set_index("exam_id")["value"].sort_index()


def refuse(word: str) -> None:
    raise AssertionError(f"{word} in strict JSON")


def test_the_cohort_has_the_published_size() -> None:
    cohort = pd.read_parquet(BASE / "cohort" / "cohort.parquet")
    assert len(cohort) == 1254
    assert cohort["patient_id"].nunique() == 1231
    assert (cohort["provenance"] == "gold").sum() == 491
    assert len(macro_dice("mix", "gold")) == 76


def test_silver_scores_are_higher_and_tighter_than_gold() -> None:
    gold, silver = macro_dice("mix", "gold"), macro_dice("mix", "silver")
    assert gold.index.equals(silver.index)
    assert 0.85 <= gold.mean() <= 0.93
    assert 0.94 <= silver.mean() <= 0.985
    compared = BASE / "comparisons" / "rulers" / "mix" / "gold_silver"
    spread = pd.read_parquet(compared / "spread.parquet")
    chosen = "grouping == 'age_3bin' and structure == 'macro' and metric == 'dice'"
    age = spread.query(chosen).iloc[0]
    assert age["vcr_sd"] >= 3


def test_both_rulers_judge_the_same_predictions_and_truth_is_read_by_its_ruler_alone() -> None:
    for ruler in ("gold", "silver", "truth"):
        assert set(scores("mix", ruler)["exam_id"]) == set(macro_dice("mix", "gold").index)
    cohort = pd.read_parquet(BASE / "cohort" / "cohort.parquet")
    assert (
        not cohort.astype(str).apply(lambda column: column.str.contains("truth")).to_numpy().any()
    )


def test_every_test_of_the_family_has_its_p_and_every_json_is_strict() -> None:
    for ruler in ("gold", "silver"):
        tests = pd.read_parquet(BASE / "audits" / "mix" / ruler / "tests.parquet")
        main = tests[tests["family"] == "main"]
        assert len(main) == 63
        assert main["p"].between(0, 1).all()
        assert (main["p_fdr"] >= main["p"] - 1e-12).all()
    for path in BASE.rglob("*.json"):
        json.loads(path.read_text(), parse_constant=refuse)


def found_by(ruler: str) -> set[str]:
    """Return the groupings in which a ruler finds a difference."""
    tests = pd.read_parquet(BASE / "audits" / "mix" / ruler / "tests.parquet")
    return set(tests.loc[(tests["family"] == "main") & tests["significant"], "grouping"])


def test_the_first_lines_tell_what_the_truth_shows_and_who_could_tell() -> None:
    """What is expected follows from what was computed, whatever that is."""
    summary = json.loads((BASE / "report" / "summary.json").read_text())
    said = " ".join(summary["remarks"])
    gold, silver, truth = (found_by(ruler) for ruler in ("gold", "silver", "truth"))
    first = summary["patients"]
    assert first.startswith("By the noise-free truth (truth, 76 exams)")
    assert first.partition("exams) ")[2].startswith("groups differ") is bool(truth)
    assert ("the experts' labels (gold) show it by" in first) is bool(truth & gold)
    assert ("cannot tell it by" in first) is bool(truth - gold)
    assert ("that the truth does not show" in first) is bool(gold - truth)
    known = "that it is right there is known from the truth alone"
    assert (known in said) is bool(truth & silver)
    assert "changed beyond chance with the silver ruler in place of gold" in summary["ruler"]
    page = (BASE / "report" / "index.html").read_text()
    assert (
        page.index("By the noise-free truth")
        < page.index("changed beyond chance")
        < page.index("<table")
    )
    assert "not the patients" not in page


def test_no_mechanism_is_named_that_was_not_shown() -> None:
    compared = BASE / "comparisons" / "rulers" / "mix" / "gold_silver"
    verdicts = pd.read_parquet(compared / "verdicts.parquet")
    flips = verdicts[verdicts["flip"].isin(["base_only", "other_only"])]
    flips = flips[flips["verdict"] != "undefined"]
    crosses = (flips["p_fdr_own_exchanged"] < 0.05) == flips["significant_other"]
    shown = crosses & (flips["swap_p_fdr"] < 0.05)
    named = flips["mechanism"].str.endswith("_shown")
    assert not (named & ~shown).any()
    assert ((flips["mechanism"] == "made_by_correction") == ~crosses).all()
    # the silver ruler shares training data with the model, which is known, not measured
    summary = json.loads((compared / "summary.json").read_text())
    assert summary["known"]["relation"] == "shares_training"
    assert not (flips["verdict"].str.startswith("false") & flips["confirmed_by_truth"]).any()
    for ruler in ("gold", "silver", "truth"):
        tests = pd.read_parquet(BASE / "audits" / "mix" / ruler / "tests.parquet")
        assert (tests["significant"] == (tests["p_verdict_fdr"] < 0.05)).all()


def test_label_maps_lie_on_the_grid_of_their_images() -> None:
    exam = macro_dice("mix", "gold").index[0]
    image = nib.load(BASE / "source" / "images" / f"{exam}.nii.gz")
    label = nib.load(BASE / "predictions" / "mix" / "labels" / f"{exam}.nii.gz")
    assert label.get_data_dtype() == np.uint8
    assert label.shape == image.shape
    assert np.allclose(label.affine, image.affine)


def test_mlflow_shows_every_result_once_with_the_other_ruler_linked() -> None:
    client, experiment = connect(ROOT, Tracking(name="local", experiment="tworulers-phantom"))
    runs = client.search_runs([experiment], "tags.superseded = 'no'", max_results=500)
    names = [run.info.run_name for run in runs]
    assert len(names) == len(set(names))
    audits = {
        (r.data.tags["regime"], r.data.tags["ruler"]): r
        for r in runs
        if r.data.tags["stage"] == "audit"
    }
    assert len(audits) == 8
    assert audits["mix", "gold"].data.tags["ruler_silver"] == audits["mix", "silver"].info.run_id
    assert audits["gold", "silver"].data.tags["identical"] == "yes"
    assert {run.data.tags["stage"] for run in runs} >= {
        "cohort",
        "split",
        "train",
        "audit",
        "compare",
        "report",
    }


@pytest.mark.browser
@pytest.mark.slow
def test_the_page_answers_within_a_screen_and_a_half_and_prints_on_few_pages(
    tmp_path: Path,
) -> None:
    page = BASE / "report" / "index.html"
    with open_browser() as browser:
        wide, narrow = look(browser, page, WIDE), look(browser, page, NARROW)
        check_print(browser, page, tmp_path / "page.pdf", 12)
    assert max(wide.answers, wide.table, wide.figure) < 1200
    assert narrow.answers < 800
    assert wide.words <= 900
    assert narrow.sideways <= 0
    assert wide.faults == narrow.faults == []
