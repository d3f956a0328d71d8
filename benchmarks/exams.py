"""How long exams take side by side: small label maps scored, as the stage `score` does."""

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import nibabel
import numpy as np
from joblib.externals.loky import get_reusable_executor

from tworulers.ingest.scoring import ScoreTask, score_exams
from tworulers.schema.settings import Audit

STRUCTURES = {"vb": 1, "disc": 2}
METRICS = ["dice", "hd95", "ndsc"]


def write_exams(folder: Path, exams: int, shape: tuple[int, int, int]) -> list[ScoreTask]:
    """Write pairs of label maps: blocks of two structures, and the same with noise at their edges."""
    random = np.random.default_rng(0)
    label = np.zeros(shape, np.uint8)
    depth, height, width = (side // 4 for side in shape)
    label[depth:-depth, height : 2 * height, width:-width] = 1
    label[depth:-depth, 2 * height : 3 * height, width:-width] = 2
    tasks = []
    for number in range(exams):
        files = []
        for name in ("prediction", "reference"):
            noisy = np.where(random.random(shape) < 0.01, 0, label).astype(np.uint8)
            path = folder / name / f"e{number:05}.nii.gz"
            path.parent.mkdir(exist_ok=True)
            nibabel.save(nibabel.Nifti1Image(noisy, np.diag([4.0, 1.0, 1.0, 1.0])), path)
            files.append(path)
        audit = Audit(metrics=METRICS)
        tasks.append(ScoreTask(f"e{number:05}", "gold", *files, None, STRUCTURES, audit))
    return tasks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exams", type=int, default=228)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--shape", type=int, nargs=3, default=(32, 96, 96))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tasks = write_exams(Path(folder), asked.exams, tuple(asked.shape))
        started = time.monotonic()
        rows = score_exams(tasks, asked.processes)
        wall = time.monotonic() - started
        get_reusable_executor().shutdown()  # its workers are counted once they have ended
    scored = rows[rows["metric"] == "dice"].groupby("exam_id").size()
    assert len(scored) == asked.exams
    assert scored.nunique() == 1
    seconds, megabytes = [], []
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        seconds.append(used.ru_utime + used.ru_stime)
        megabytes.append(used.ru_maxrss / 1024)
    print(f"{asked.exams} exams, {asked.processes} processes: {wall:.1f} s wall", file=sys.stdout)
    print(f"CPU {seconds[0]:.1f} s here (files made, too), {seconds[1]:.1f} s in workers")
    print(f"memory at most {megabytes[0]:.0f} MB here, {megabytes[1]:.0f} MB a worker")


if __name__ == "__main__":
    main()
