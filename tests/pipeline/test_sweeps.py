"""Sweeps: every stage writes below a folder of its own, and nothing that was there before is touched."""

import hashlib
import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from small_line import BASE, COHORT, NETWORK, command, read_tree

from tworulers.io.sweeps import claim_sweep, list_sweeps, tidy_sweep

TRAINING = ("regime=gold", *NETWORK)
AUDIT = ("audit.bootstrap_draws=20", "audit.permutations=20", "audit.power_draws=0")


def digest_tree(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.md5(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_sweep_keeps_what_it_makes_below_a_folder_of_its_own(
    small_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = digest_tree(small_line / "artifacts")
    work = small_line / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    rates = "recipe.learning_rate=0.01,0.02"
    assert command("train", *TRAINING, rates) == 1
    assert command("train", "-m", "paths=repro", *TRAINING, rates) == 1
    assert command("train", "-m", *TRAINING, rates) == 0
    assert digest_tree(small_line / "artifacts") == before
    assert list(work.iterdir()) == []
    (sweep,) = (small_line / "sweeps" / "train").iterdir()
    model = BASE.relative_to("artifacts") / "models" / "gold" / "3d_fullres"
    first, second = (read_tree(sweep / number / model) for number in ("0", "1"))
    assert first["fold_0/final.pt"] != second["fold_0/final.pt"]
    made = [yaml.safe_load((sweep / n / model / "config.yaml").read_text()) for n in ("0", "1")]
    assert [one["recipe"]["learning_rate"] for one in made] == [0.01, 0.02]

    kept = digest_tree(sweep)
    assert command("train", "-m", "paths=sweep", *TRAINING, "recipe.learning_rate=0.03") == 0
    assert len(list((small_line / "sweeps" / "train").iterdir())) == 2
    assert digest_tree(sweep) == kept

    # A later stage goes on where the sweep ended: its own models, the pipeline's arrays and choice.
    places = f"paths.outputs={','.join(str(sweep / number) for number in ('0', '1'))}"
    assert command("predict", "-m", "paths=sweep", places, *TRAINING) == 0
    predicted = [sweep / n / "phantom" / "predictions" / "gold" for n in ("0", "1")]
    assert read_tree(predicted[0]) != read_tree(predicted[1])
    assert digest_tree(small_line / "artifacts") == before
    assert [path.name for path in (small_line / "sweeps").iterdir()] == ["train"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "made", "overrides"),
    [
        ("cohort", "cohort", COHORT),
        ("split", "split", ("split.folds=2", "split.test=0.3", "split.strata=[]", "split.seed=5")),
        ("plan", "plan", NETWORK),
        ("preprocess", "arrays/3d_fullres", NETWORK),
        ("annotate", "annotations", TRAINING),
        ("select", "selection/gold", TRAINING),
        ("predict", "predictions/gold", TRAINING),
    ],
)
def test_a_run_beside_the_pipeline_leaves_it_as_it_is(
    stage: str, made: str, overrides: tuple[str, ...], small_line: Path
) -> None:
    before = digest_tree(small_line / "artifacts")
    assert command(stage, "paths=sweep", *overrides) == 0
    assert digest_tree(small_line / "artifacts") == before
    (folder,) = (small_line / "sweeps" / stage).iterdir()
    assert (folder / "0" / "phantom" / made / "config.yaml").is_file()


@pytest.mark.slow
def test_audits_of_a_named_folder_are_compared(
    small_line: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("attributes=sex", *AUDIT)
    assert command("compare", "-m", "audit.alpha=0.05,0.1", *asked) == 1
    assert "no scores below artifacts/phantom/scores" in capsys.readouterr().err
    assert not (small_line / "sweeps").exists()
    rulers = "ruler=gold,truth"
    assert command("predict", *TRAINING) == 0
    assert command("score", "-m", rulers, *TRAINING) == 0
    strict = ("paths=sweep", "paths.outputs=sweeps/strict", *asked)
    assert command("audit", "-m", rulers, "regime=gold", "audit.alpha=0.05,0.1", *strict) == 1
    assert "paths=sweep without paths.outputs" in capsys.readouterr().err
    assert command("audit", "-m", rulers, "regime=gold", "audit.alpha=0.1", *strict) == 0
    assert command("compare", "audit.alpha=0.1", *strict) == 0
    compared = "comparisons/rulers/gold/gold_truth/summary.json"
    assert (small_line / "sweeps" / "strict" / "phantom" / compared).is_file()
    assert not (small_line / BASE / "audits").exists()
    assert list_sweeps(small_line, "phantom") == [small_line / "sweeps" / "strict" / "phantom"]


def test_results_kept_elsewhere_are_read_and_written_there(
    small_line: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = digest_tree(small_line / "artifacts")
    assert command("split", "paths.artifacts=elsewhere") == 1
    assert "stages.cohort" in capsys.readouterr().err
    shutil.copytree(small_line / "artifacts", tmp_path / "moved")
    place = f"paths.artifacts={tmp_path / 'moved'}"
    assert command("plan", place, *NETWORK) == 0
    assert digest_tree(small_line / "artifacts") == before
    assert (tmp_path / "moved" / "phantom" / "plan" / "run.json").stat().st_mtime_ns > (
        small_line / BASE / "plan" / "run.json"
    ).stat().st_mtime_ns


def test_no_two_sweeps_of_a_second_share_a_folder(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        claimed = list(pool.map(lambda _: claim_sweep(tmp_path, "audit"), range(40)))
    assert set(Counter(claimed).values()) == {1}
    assert all(folder.parent == tmp_path / "sweeps" / "audit" for folder in claimed)
    (claimed[0] / "0" / "phantom").mkdir(parents=True)
    (claimed[0] / "1").mkdir()
    for folder in claimed:
        (folder / "multirun.yaml").touch()
        (folder / ".runs").mkdir()
        tidy_sweep(folder, ".runs")
    (left,) = (tmp_path / "sweeps" / "audit").iterdir()
    assert sorted(path.name for path in left.iterdir()) == ["0", "multirun.yaml"]
    assert list_sweeps(tmp_path, "phantom") == [claimed[0] / "0" / "phantom"]
