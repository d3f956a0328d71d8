"""How every figure looks: one colour-blind-safe palette, a colour a ruler by its provenance, n in every label."""

import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tworulers.report.tables import list_sizes
from tworulers.schema.settings import Provenance
from tworulers.schema.tables import unpack_names

PROVENANCE_COLOURS: Mapping[str, tuple[str, ...]] = {
    Provenance.GOLD: ("#B07D00", "#6E4E00"),
    Provenance.SILVER: ("#5B6F82", "#2F6DB5"),
    Provenance.TRUTH: ("#117A65", "#0B4F42"),
    Provenance.MIXED: ("#7B4B94", "#4E2A63"),
    Provenance.BIASED: ("#B0413E", "#7A2320"),
}
"""Colours of rulers by who drew their labels: the first of a provenance has the first, and so on."""

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

WIDEST = 13.2
"""Inches of the widest figure: drawn across a page, its smallest letters can still be read."""

CROWDED = 6
"""Groups from which on their names stand upright below an axis."""

MOST_LISTED = 8
"""Groups whose sizes an axis lists."""

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

VERY_LONG = re.compile(r"[^ \t\n]{49,}")
"""A word that leaves a figure no room for anything else; tables and captions have it whole."""


def start_figure(width_in: float, height_in: float) -> Figure:
    """Open a figure of the given size in inches, without pyplot's list of open figures."""
    return Figure(figsize=(width_in, height_in), layout="constrained")


def mark_legend(label: str, **look: Any) -> Line2D:
    """Make an entry of a legend that stands for no line of its own."""
    return Line2D([], [], label=label, **look)


def colour_rulers(provenances: Mapping[str, str]) -> dict[str, str]:
    """Give each ruler a colour by the provenance of its labels, whatever it is called; black where they run out.

    Parameters
    ----------
    provenances : by ruler, in the order that they are shown.
    """
    left = {name: list(colours) for name, colours in PROVENANCE_COLOURS.items()}
    return {
        ruler: left[provenance].pop(0) if left.get(provenance) else "#000000"
        for ruler, provenance in provenances.items()
    }


def with_counts(groups: Iterable[str], counts: Mapping[str, int]) -> list[str]:
    """Write group labels with their n: `<40\\nn = 21`."""
    return [f"{wrap(group, 16)}\nn = {counts.get(group, 0)}" for group in groups]


def wrap(text: str, width: int) -> str:
    """Break a text into lines of at most `width` characters, between words; of a very long word both ends are left."""
    text = VERY_LONG.sub(lambda word: f"{word[0][:28]}\N{HORIZONTAL ELLIPSIS}{word[0][-12:]}", text)
    lines = [
        line
        for part in text.split("\n")
        for line in textwrap.wrap(part, width, break_long_words=False, break_on_hyphens=False)
    ]
    return "\n".join(lines) or text


def label_grouping(title: str, sizes: str) -> str:
    """Write a grouping with its packed groups below it: `Sex`, then `Female (n 38), Male (n 38)`."""
    groups = unpack_names(sizes)
    listed = (
        ", ".join(group.replace(" ", "\u00a0") for group in groups)
        if len(groups) <= MOST_LISTED
        else list_sizes(", ".join(groups), MOST_LISTED)
    )
    return f"{title}\n{listed}"
