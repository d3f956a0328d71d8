"""How every figure looks: one colour-blind-safe palette, one colour a ruler, n in every label."""

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib.figure import Figure

from tworulers.report.tables import keep_digits
from tworulers.schema import Metric
from tworulers.tables import unpack_names

RULER_COLOURS: Mapping[str, str] = {
    "gold": "#B07D00",
    "silver": "#5B6F82",
    "truth": "#117A65",
    "dataset": "#7B4B94",
    "biased": "#B0413E",
    "silver_model": "#2F6DB5",
}
"""A fixed colour a ruler, so that no two figures of a report contradict each other."""

GROUP_COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#999999",
    "#000000",
)
"""Okabe and Ito's (2008) colours, told apart by people with any common colour blindness."""

GROUP_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""Markers repeat the colours' message, for print without colour."""

GAP_COLOUR = "#0072B2"
NOISE_COLOUR = "#E69F00"
"""The two things that can make a test significant, in every figure of mechanism."""

STYLE: Mapping[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "figure.dpi": 110,
    "savefig.dpi": 160,
    "svg.fonttype": "path",
    "svg.hashsalt": "tworulers",
    # Names of groups and structures are text: a dollar sign starts no formula.
    "text.parse_math": False,
}

mpl.rcParams.update(STYLE)


def start_figure(width_in: float, height_in: float) -> Figure:
    """Open a figure of the given size in inches, without pyplot's list of open figures."""
    return Figure(figsize=(width_in, height_in), layout="constrained")


def ruler_colour(ruler: str) -> str:
    """Return the colour of a ruler; rulers without one of their own are black."""
    return RULER_COLOURS.get(ruler, "#000000")


def with_counts(groups: Iterable[str], counts: Mapping[str, int]) -> list[str]:
    """Write group labels with their n: `<40\\nn = 21`."""
    return [f"{wrap(group, 16)}\nn = {counts.get(group, 0)}" for group in groups]


def wrap(text: str, width: int) -> str:
    """Break a text into lines of at most `width` characters, between words."""
    lines = [
        line
        for part in text.split("\n")
        for line in textwrap.wrap(part, width, break_long_words=False, break_on_hyphens=False)
    ]
    return "\n".join(lines) or text


def label_grouping(title: str, sizes: str) -> str:
    """Write a grouping with its packed groups below it: `Sex`, then `Female (n 38), Male (n 38)`."""
    groups = [group.replace(" ", "\u00a0") for group in unpack_names(sizes)]
    return f"{title}\n{', '.join(groups)}"


def name_ruler(ruler: str, title: str, provenance: str) -> str:
    """Name a ruler with who drew its labels: `gold: expert labels (provenance gold)`."""
    described = f"{ruler}: {title}" if title else ruler
    return f"{described} (provenance {provenance})"


def score_label(metric: Metric, structure: str) -> str:
    """Write a score as an axis label with its unit: `HD95, macro (mm)`."""
    unit = f" ({metric.unit})" if metric.unit else ""
    return f"{metric.title}, {structure}{unit}"


def name_score(metric: Metric, structure: str) -> str:
    """Name a score within a sentence, without its unit: `macro Dice`."""
    return f"{structure} {metric.title}"


def write_difference(value: float, metric: Metric) -> str:
    """Write a difference of scores in the metric's unit, or in points (hundredths) of a share."""
    if value != value:
        return "undefined"
    if metric.in_points:
        return f"{100 * value:.2f} points"
    return f"{keep_digits(value, 2)} {metric.unit}".strip()
