"""How each run of a sweep ended, kept beside its results until the sweep's table is made."""

import json
import os
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from tworulers.runner.faults import STOPPING, explain_error, say_error
from tworulers.schema.atomic import written_beside

KEPT = ".runs"
"""Where the runs of a sweep say how they ended, in the sweep's own folder; taken away with the table's making."""

SHOWN, UNSHOWN = "shown", "unshown"
"""Files there that say that MLflow shows a run, and that it did not answer one, so that no other waits for it."""

DONE, FAILED, NOT_ENDED = "done", "failed", "not ended"


@dataclass(frozen=True)
class Ended:
    """How a run ended, why where it failed, and from the project the folders of its result and of all its results."""

    number: int
    status: str = NOT_ENDED
    error: str = ""
    result: str = ""
    home: str = ""


def run_and_keep(run: Callable[[], tuple[str, str] | None], folder: Path, number: int) -> None:
    """Run one job of a sweep and keep how it ended; no error leaves it, since one would end the other jobs.

    Parameters
    ----------
    run : returns the folder of the result, and the one of all results of the job, seen from the project.
    folder : the sweep's.
    number : of the job.
    """
    keep_ended(Ended(number), folder)
    try:
        result, home = run() or ("", "")
        ended = Ended(number, DONE, "", result, home)
    except Exception as error:
        if not isinstance(error, STOPPING) or os.environ.get("HYDRA_FULL_ERROR") == "1":
            traceback.print_exc()
        say_error(error)
        said = " ".join(explain_error(error).split()) or type(error).__name__
        ended = Ended(number, FAILED, said)
    keep_ended(ended, folder)


def keep_ended(ended: Ended, folder: Path) -> None:
    """Write how a run stands."""
    (folder / KEPT).mkdir(exist_ok=True)
    with written_beside(folder / KEPT / f"{ended.number}.json") as temporary:
        temporary.write_text(json.dumps(asdict(ended)))


def read_ended(folder: Path, runs: int) -> list[Ended]:
    """Read how the runs of a sweep ended; those that said nothing have not ended."""
    found = []
    for number in range(runs):
        path = folder / KEPT / f"{number}.json"
        content = json.loads(path.read_text()) if path.is_file() else {"number": number}
        found.append(Ended(**content))
    return found
