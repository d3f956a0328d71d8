"""The verdict on a terminal: what each ruler says of every grouping, and where the page lies."""

from tworulers.io.paths import Layout
from tworulers.report.endings import end_answer
from tworulers.report.view import make_view
from tworulers.runner.console import conclude, tell
from tworulers.runner.cost_page import list_costs, stamp_page, tabulate_costs
from tworulers.runner.page import tell_page
from tworulers.runner.reading import read_findings
from tworulers.runner.run import run_stage
from tworulers.schema.settings import Settings


def show(settings: Settings, layout: Layout) -> None:
    """Print the verdict table, the two sentences, the path of the page, and what it all cost."""
    conclude(end_answer(make_view(read_findings(settings, layout).findings)), tell_page(layout))
    costs = list_costs(layout)
    if costs:
        tell(tabulate_costs(costs, settings.cost))
        if (copy := stamp_page(layout, settings.cost)) is not None:
            tell(f"the report with date and costs: {layout.show(copy)}")


if __name__ == "__main__":
    run_stage(show)
