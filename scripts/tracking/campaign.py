"""Six processes publish the same results at once, and publishing is killed early: nothing is lost, twice or unlinked.

Each trial is of a project of its own, whose store nobody has made yet.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tworulers.runner.tracking import RunRecord, write_record
from tworulers.runner.tracking.siblings import list_runs
from tworulers.runner.tracking.store import REQUEST_LIMITS, connect
from tworulers.schema.settings import Tracking

ROOT = Path(__file__).parents[2]
SETTINGS = Tracking(name="local", experiment="tworulers-phantom")
RULERS = ("dataset", "gold", "silver", "truth")
LATEST_KILL_S = 10.0


def make_results(project: Path, results: int) -> None:
    """Make a project with so many audits, each four of which are of one regime under four rulers."""
    shutil.copytree(ROOT / "conf", project / "conf")
    shutil.copy(ROOT / "dvc.yaml", project)
    for place in range(results):
        regime, ruler = f"regime_{place // len(RULERS)}", RULERS[place % len(RULERS)]
        folder = project / "artifacts" / "phantom" / "audits" / regime / ruler
        folder.mkdir(parents=True)
        (folder / "summary.json").write_text(f'{{"place": {place}}}\n')
        metrics = {f"dice/macro/grouping_{n}/p": place + n / 100 for n in range(40)}
        tags = {"dataset": "phantom", "regime": regime, "ruler": ruler, "attributes": "paper"}
        name = f"audit · {regime} by {ruler}"
        record = RunRecord("audit", name, "What.", tags, {}, metrics, sibling_tag="ruler")
        write_record(record, folder)


def begin_publishing(project: Path, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
    """Begin the command that shows every result of a project, or another one of Python's."""
    # Looking into a store leaves the short limits of a stage behind, which the command would take for asked for.
    own = {name: value for name, value in os.environ.items() if name not in REQUEST_LIMITS}
    own["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), own.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, *(arguments or ("-m", "tworulers.stages.publish"))],
        cwd=project,
        env={**own, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def publish_at_once(project: Path, writers: int, **environment: str) -> list[str]:
    """Publish from several processes at once; return what each that failed said."""
    running = [begin_publishing(project, **environment) for _ in range(writers)]
    said = [process.communicate()[0] for process in running]
    return [
        text
        for text, process in zip(said, running, strict=True)
        if process.returncode or "Traceback" in text or "warning" in text
    ]


def kill_publishing(project: Path, after: float, **environment: str) -> bool:
    """Kill publishing after so many seconds; tell whether it was still at work."""
    process = begin_publishing(project, **environment)
    try:
        process.communicate(timeout=after)
        return False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return True


def find_faults(project: Path, results: int, settings: Tracking = SETTINGS) -> list[str]:
    """List what is wrong with a store that every result of a project was published to."""
    client, experiment = connect(project, settings)
    runs = list_runs(client, experiment, "audit")
    known = {run.info.run_id: run for run in runs}
    faults = []
    if len({run.data.tags["key"] for run in runs}) != results:
        faults.append(
            f"{len({run.data.tags['key'] for run in runs})} of {results} results are shown"
        )
    finished = Counter(run.data.tags["key"] for run in runs if run.info.status == "FINISHED")
    faults += [f"result {key} is shown {n} times" for key, n in finished.items() if n > 1]
    faults += [f"{run.info.run_name} is {run.info.status}" for run in runs if is_open(run)]
    for run in runs:
        tags = run.data.tags
        for ruler in (one for one in RULERS if one != tags["ruler"]):
            other = known.get(tags.get(f"ruler_{ruler}", ""))
            if other is None or other.data.tags["regime"] != tags["regime"]:
                faults.append(f"{run.info.run_name} is not linked to {ruler}")
    return faults


def is_open(run: object) -> bool:
    """Tell whether a run says that it is still at work."""
    return run.info.status in ("RUNNING", "SCHEDULED")  # type: ignore[attr-defined]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/campaign tracking", description=__doc__)
    parser.add_argument("--trials", type=int, default=10, help="of several writers")
    parser.add_argument("--writers", type=int, default=6)
    parser.add_argument("--results", type=int, default=32)
    parser.add_argument(
        "--kills", type=int, default=20, help="of a first publish, in its first 10 s"
    )
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    draw, broken = random.Random(asked.seed), 0
    trials = [("writers", 0.0)] * asked.trials
    trials += [("kill", draw.uniform(0, LATEST_KILL_S)) for _ in range(asked.kills)]
    for kind, after in trials:
        began = time.monotonic()
        with TemporaryDirectory() as place:
            project = Path(place) / "project"
            make_results(project, asked.results)
            what = f"{asked.writers} writers"
            if kind == "kill":
                at_work = kill_publishing(project, after)
                what = f"killed after {after:.1f} s{'' if at_work else ', when it had ended'}"
            faults = publish_at_once(project, asked.writers if kind == "writers" else 1)
            faults += find_faults(project, asked.results)
        broken += bool(faults)
        told = "; ".join(faults) or "nothing lost, twice or unlinked"
        print(
            f"{what}, {asked.results} results, {time.monotonic() - began:.0f} s: {told}", flush=True
        )
    print(f"{broken} of {len(trials)} trials with a fault")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
