"""Every command of the page about sweeps runs, those of a cluster on programs that stand for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from documents import ROOT, list_commands
from scored import QUICK, make_scored

SBATCH = """#!/usr/bin/env bash
cp "$1" asked.sh
last=$(grep -oP '(?<=--array=0-)\\d+' "$1")
cp "$1" array.sh
(
  for n in $(seq 0 "$last"); do
    SLURM_JOB_ID="7_$n" SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=$n SLURM_NTASKS=1 SLURM_JOB_NUM_NODES=1 \
      SLURM_NODEID=0 SLURM_PROCID=0 SLURM_LOCALID=0 bash array.sh
    touch "ended_$n"
  done
) > sbatch.log 2>&1 &
echo "Submitted batch job 7"
"""
SRUN = """#!/usr/bin/env bash
while [[ "$1" == --* ]]; do
  if [[ "$1" == *=* || "$1" == --unbuffered ]]; then shift; else shift 2; fi
done
exec "$@"
"""
SACCT = """#!/usr/bin/env bash
echo "JobID|State|NodeList"
for n in 0 1; do [ -f "ended_$n" ] && echo "7_$n|COMPLETED|here" || echo "7_$n|RUNNING|here"; done
"""


@pytest.mark.slow
@pytest.mark.parametrize("told", list_commands("sweeps"), ids=lambda told: told.line[:60])
def test_a_command_of_the_page_runs(told: object, tmp_path: Path) -> None:
    make_scored(tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("sbatch", SBATCH), ("srun", SRUN), ("sacct", SACCT)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    words = told.words  # type: ignore[attr-defined]
    given = {word.partition("=")[0] for word in words}
    quick = [one for one in QUICK if one.partition("=")[0] not in given]
    done = subprocess.run(
        [sys.executable, "-m", *words, *quick, "grid.regimes=[mix]", "tracking=off"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "Traceback" not in said
    (table,) = (tmp_path / "sweeps").glob("*/*/summary.csv")
    assert "failed" not in table.read_text()
    if "hydra/launcher=slurm" in words:
        asked = (tmp_path / "asked.sh").read_text()
        assert "--partition=cpu" in asked
        assert "--mem=32GB" in asked
        assert "--array=0-1%2" in asked
