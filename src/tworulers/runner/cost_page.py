"""What the results on a page cost, stage by stage, for the terminal and for a copy of the page with a date."""

import time
from collections.abc import Sequence
from pathlib import Path

from markupsafe import escape

from tworulers.io.paths import Layout
from tworulers.io.records import write_text
from tworulers.report.tables import Table, make_table, write_number
from tworulers.runner.cost import Spent, read_spent, sum_spent
from tworulers.schema.cost_settings import Cost

BEFORE = '<section id="reproduce"'
"""The part of the page that the costs stand before."""

COLUMNS = ("stage", "runs", "minutes", "GPU-hours", "core-hours", "kWh", "kg CO2e")


def list_costs(layout: Layout) -> list[Spent]:
    """List what the runs below a dataset's folder cost, by stage in the order they first ran, and the sum."""
    home = layout.relative(layout.outputs)
    made = [one for one in read_spent(layout.root) if Path(one.folder).is_relative_to(home)]
    stages = dict.fromkeys(one.stage for one in made)
    by_stage = [sum_spent([one for one in made if one.stage == name], name) for name in stages]
    return [*by_stage, sum_spent(made, "in sum")] if made else []


def tabulate_costs(costs: Sequence[Spent], cost: Cost) -> Table:
    """Write costs as a table; the note says by what they are reckoned today."""
    rows = [
        (
            one.stage,
            str(one.runs),
            write_number(one.seconds / 60, 1),
            write_number(one.board_hours, 2),
            write_number(one.core_hours, 2),
            write_number(one.kwh, 3, "board power not set"),
            write_number(one.kg, 3, "board power not set"),
        )
        for one in costs
    ]
    board = "not set" if cost.board_watts is None else f"{cost.board_watts:g} W"
    note = (
        f"Power x hours x PUE x carbon intensity of the grid, as set when each ran; today {cost.title}: "
        f"a board {board}, a core {cost.core_watts:g} W, PUE {cost.pue:g}, {cost.grams_per_kwh:g} g/kWh. "
        "Every run counts, repeated ones and those that ended in an error too."
    )
    return make_table("What the runs cost", COLUMNS, rows, note)


def stamp_page(layout: Layout, cost: Cost) -> Path | None:
    """Write a copy of the report with its date and costs, which is no result; None without a report or costs."""
    page, costs = layout.report / "index.html", list_costs(layout)
    if not costs or not page.is_file():
        return None
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(max(one.began for one in costs)))
    section = (
        f'<section id="cost">\n<h2>What it cost</h2>\n<p>The last run began on {escape(made)}.</p>\n'
        f"{tabulate_costs(costs, cost).to_html()}\n</section>\n"
    )
    copy = layout.root / "mlruns" / "reports" / f"{layout.outputs.name}.html"
    write_text(page.read_text(encoding="utf-8").replace(BEFORE, section + BEFORE, 1), copy)
    return copy
