"""Which configurations of a regime predict, and whether small components go, and why."""

from pathlib import Path

from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, write_json
from tworulers.io.results import read_cohort
from tworulers.progress import say
from tworulers.runner.console import show_table
from tworulers.runner.run import run_stage
from tworulers.runner.tracking import RunRecord
from tworulers.schema.result_files import CHOICE
from tworulers.schema.settings import Settings
from tworulers.training.cross_validation import choose_cleanup, choose_members
from tworulers.training.folds import learns_from_all, require_folds
from tworulers.training.validation import HELD_OUT, LEARNT, read_validation, tell_judges


def select(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Compare the configurations and their pairs, decide the clean-up, and say why."""
    regime, names = settings.regime.name, settings.grid.configurations
    require_folds([layout.model(regime, name) for name in names], settings.grid.folds)
    choice, candidates = choose_members(settings, layout)
    cleanup = choose_cleanup(settings, layout, choice.members)
    result = layout.results.selection(regime)
    with folder_written_beside(result) as folder:
        write_json(
            {
                "members": list(choice.members),
                "dice": choice.dice,
                "reason": choice.reason,
                "candidates": candidates,
                "cleanup": [list(labels) for labels in cleanup.steps],
                "cleanup_reason": cleanup.reason,
            },
            folder / CHOICE,
        )
    rows = [(name, f"{dice:.4f}") for name, dice in candidates.items()]
    exams = read_validation(layout.model(regime, settings.grid.configurations[0]))["exam_id"]
    drawn = read_cohort(layout).set_index("exam_id")["provenance"]
    part, whose = HELD_OUT.part, "cross-validated Dice"
    if learns_from_all(settings):
        part, whose = LEARNT.part, LEARNT.dice
    judged = f"{whose} {tell_judges(drawn.loc[exams.unique()])}"
    show_table(f"{regime}: {judged}", ("candidate", "Dice"), rows)
    say(f"{regime} predicts with {' + '.join(choice.members)}: {choice.reason}")
    say(f"clean-up: {cleanup.reason}")
    record = RunRecord(
        "select",
        f"select · {regime}",
        f"{' + '.join(choice.members)}: {choice.reason}, {judged}. Clean-up: {cleanup.reason}.",
        {"regime": regime, "members": " + ".join(choice.members)},
        metrics={f"{part}/dice/{name}": dice for name, dice in candidates.items()},
        sibling_tag="regime",
    )
    return result, record


if __name__ == "__main__":
    run_stage(select)
