"""The end of a sweep: its table shown and kept, empty folders taken away."""

from pathlib import Path

from tworulers.io.sweeps import holds_results, tidy_sweep
from tworulers.progress import say
from tworulers.runner.console import tell
from tworulers.runner.sweeps.asked import Asked
from tworulers.runner.sweeps.ended import DONE, KEPT, NOT_ENDED, SHOWN, UNSHOWN, read_ended
from tworulers.schema.atomic import written_beside

TABLE = "summary.csv"


def end_sweep(folder: Path, asked: Asked, root: Path) -> bool:
    """Show what every run of a sweep came to, keep it beside them as a table, and tidy the folder.

    Returns
    -------
    Whether every run is done; True where none began.
    """
    from tworulers.runner.sweeps.table import list_places, list_rows, tabulate, write_csv

    began = (folder / KEPT).is_dir()
    runs = read_ended(folder, len(asked.runs)) if began else []
    shown, unshown = ((folder / KEPT / name).is_file() for name in (SHOWN, UNSHOWN))
    rows = list_rows(asked, runs, root)
    done = sum(one.status == DONE for one in runs)
    # A run that has not ended may still be at work on a cluster.
    if all(one.status != NOT_ENDED for one in runs):
        tidy_sweep(folder, KEPT)
    if not began:
        return True
    place = folder.relative_to(root).as_posix()
    tell(tabulate(rows, place), *list_places(rows, place))
    if folder.is_dir() and holds_results(folder):
        with written_beside(folder / TABLE) as temporary:
            write_csv(rows, temporary)
        say(f"written to {place}/{TABLE}")
        if shown:
            say(f"in MLflow (./scripts/ui) search for: tags.sweep LIKE '{place}/%'")
    if unshown:
        say(
            "MLflow did not answer; show the results later with: python -m tworulers.stages.publish"
        )
    return done == len(runs)
