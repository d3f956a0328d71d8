"""Which configurations of a regime predict, and whether small components go, and why."""

from pathlib import Path

from tworulers.io.console import say, show_table
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, write_json
from tworulers.schema import Settings
from tworulers.stages._cross_validation import choose_cleanup, choose_members
from tworulers.stages._run import run_stage
from tworulers.tracking import RunRecord


def select(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Compare the configurations and their pairs, decide the clean-up, and say why."""
    regime = settings.regime.name
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
            folder / "choice.json",
        )
    rows = [(name, f"{dice:.4f}") for name, dice in candidates.items()]
    show_table(f"{regime}: cross-validated Dice", ("candidate", "Dice"), rows)
    say(f"{regime} predicts with {' + '.join(choice.members)}: {choice.reason}")
    say(f"clean-up: {cleanup.reason}")
    record = RunRecord(
        "select",
        f"select · {regime}",
        f"{' + '.join(choice.members)}: {choice.reason}. Clean-up: {cleanup.reason}.",
        {"regime": regime, "members": " + ".join(choice.members)},
        metrics={f"validation/dice/{name}": dice for name, dice in candidates.items()},
        sibling_tag="regime",
    )
    return result, record


if __name__ == "__main__":
    run_stage(
        select,
        (
            "dataset.name",
            "dataset.structures",
            "regime.name",
            "recipe.cleanup",
            "recipe.select",
            "grid.configurations",
        ),
    )
