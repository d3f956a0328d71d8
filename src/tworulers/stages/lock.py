"""Lock the primary questions of an audit before any score is read: what they are, their hash and the day."""

from tworulers.io.paths import Layout
from tworulers.io.primary import lock_questions
from tworulers.progress import say
from tworulers.report.words.primary import LOCKED_IS_NO_PROOF, list_questions
from tworulers.runner.run import run_stage
from tworulers.schema.settings import Settings


def lock(settings: Settings, layout: Layout) -> None:
    """Write the lock beside the file that `audit.primary` names, to be committed with it."""
    place, locked = lock_questions(settings, layout.root)
    say(f"{list_questions(locked)}: locked on {locked.date}, SHA-256 {locked.sha256}")
    say(f"written to {layout.show(place)}: commit it. {LOCKED_IS_NO_PROOF}")


if __name__ == "__main__":
    run_stage(lock)
