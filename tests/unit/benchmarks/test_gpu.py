"""The benchmark for a GPU runs to its end on a CPU, and plans what the paper trained."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
import gpu
from _aims import ROWS
from _arena import load_recipe

from tworulers.schema.settings import PlanOverrides, Trainer

TRAINER = Trainer("cpu", checkpoint_every=1)


def test_the_plan_is_the_paper_s_and_every_row_is_on_the_page() -> None:
    plans, facts = gpu.plan_paper(PlanOverrides())
    plan = plans.configuration(gpu.CONFIGURATION)
    assert (plan.patch_size, plan.batch_size, facts.n_classes) == ((16, 512, 512), 2, 3)
    jobs = gpu.list_jobs(Path("work"), load_recipe("resenc_l"), replace(TRAINER, accelerator="gpu"))
    assert list(jobs)[:3] == ["gpu_step", "gpu_predict", "gpu_predict_fast"]
    assert set(jobs) == {name for name in ROWS if name.startswith("gpu_")}
    assert {job["task"]["trainer"]["compile"] for job in jobs.values()} == {True, False}


def test_without_a_gpu_it_says_what_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["gpu"])
    assert gpu.main() == 2
    assert "--trainer cpu" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["gpu", "--trainer", "cpu", "--keep", str(tmp_path / "rows")])
    with pytest.raises(SystemExit):
        gpu.main()
    assert "are not kept" in capsys.readouterr().err


def test_steps_are_summed_up_without_the_first() -> None:
    times = [
        {"asked": 10.0 * x, "arrived": 10 * x + 1, "begun": 10 * x + 3, "ended": 10.0 * x + 10}
        for x in range(10)
    ]
    told = gpu.sum_up([*times, {"asked": 100.0, "arrived": 101.0}], 5.0)
    assert told["seconds"] == [10.0] * 8
    assert (told["waited"], told["augmented"], told["first"]) == (0.1, 0.2, 7.0)


@pytest.mark.slow
@pytest.mark.parametrize("job", ["gpu_step_bf16", "gpu_predict_fast"])
def test_a_job_is_done_on_a_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str) -> None:
    small = replace(gpu.SMALL, patch_size={gpu.CONFIGURATION: [8, 32, 32]})
    recipe = load_recipe("resenc_l", epochs=1, iterations=2, validation_iterations=1, plan=small)
    gpu.prepare(tmp_path, recipe, 64)
    path = tmp_path / "job.json"
    path.write_text(json.dumps(gpu.list_jobs(tmp_path, recipe, TRAINER)[job]))
    gpu.do_job(path)
    told = json.loads(path.with_suffix(".told").read_text())
    row = gpu.make_row(job, told, TRAINER)
    assert row.ours[0] > 0
    assert row.peak_mb is not None
    assert row.peak_mb > 50
    assert ("waiting for the loader" in row.agreed) == (job == "gpu_step_bf16")
