"""Whether a data source can be used: everything is read once, and one list says what is wrong."""

from dataclasses import asdict
from pathlib import Path

from tworulers.ingest.check import check_source
from tworulers.ingest.faults import format_faults
from tworulers.io.paths import Layout
from tworulers.io.records import write_json
from tworulers.progress import say
from tworulers.runner.run import run_stage
from tworulers.runner.tracking import RunRecord
from tworulers.schema.settings import Settings

DEPTHS = ("headers", "full")


def check(settings: Settings, layout: Layout) -> tuple[Path, RunRecord] | None:
    """Read a source once and list all faults and notes, by kind, with the way to mend each.

    The list is printed and written to ``check.json``. Faults end the command with a non-zero
    status; notes do not.
    """
    if settings.check.depth not in DEPTHS:
        raise ValueError(f"check.depth must be one of {DEPTHS}, found {settings.check.depth!r}")
    cohort, faults = check_source(settings, layout.root)
    wrong = [fault for fault in faults if not fault.note]
    if faults:
        say(format_faults(faults))
    say(f"{len(cohort)} exams can be used; {len(wrong)} faults, {len(faults) - len(wrong)} notes")
    write_json(
        {
            "depth": settings.check.depth,
            "usable_exams": len(cohort),
            "faults": [asdict(fault) for fault in wrong],
            "notes": [asdict(fault) for fault in faults if fault.note],
        },
        layout.check / "check.json",
    )
    if wrong:
        where = settings.dataset.root or "dataset.root, which is not set"
        raise ValueError(
            f"{len(wrong)} {'problem' if len(wrong) == 1 else 'problems'} in {where}; see {layout.check}"
        )
    return None


if __name__ == "__main__":
    run_stage(check)
