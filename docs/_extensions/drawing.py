"""Drawings in Mermaid as tables: what draws them elsewhere is a script from the network."""

import re
from typing import Any

from sphinx.application import Sphinx

DRAWING = re.compile(r"```mermaid\n(.*?)```", re.DOTALL)
NODE = re.compile(r'(\w+)\["<b>(\w+)</b>(?:<br>(.*?))?"\]')
ARROW = re.compile(r"^ *(\w+) --> (\w+)$", re.MULTILINE)


def replace_drawings(text: str) -> str:
    """Replace each drawing by a table: of its steps where arrows lead from one to another, else of its layers."""
    return DRAWING.sub(lambda found: tabulate(found[1]), text)


def tabulate(drawing: str) -> str:
    """Write one drawing as a table."""
    nodes = {node: (name, what) for node, name, what in NODE.findall(drawing)}
    arrows = [arrow for arrow in ARROW.findall(drawing) if arrow[0] in nodes]
    return tabulate_steps(nodes, arrows) if arrows else tabulate_layers(drawing)


def tabulate_steps(nodes: dict[str, tuple[str, str]], arrows: list[tuple[str, str]]) -> str:
    """Write a row a step, with what it is made for and which steps come before it."""
    rows = ["| step | | after |", "|---|---|---|"]
    for node, (name, what) in nodes.items():
        before = ", ".join(nodes[first][0] for first, second in arrows if second == node)
        rows.append(f"| **{name}** | {what} | {before} |")
    return "\n".join(rows)


def tabulate_layers(drawing: str) -> str:
    """Write a row a layer from the top down; its rooms may import those below it."""
    rows = ["| layer | rooms |", "|---|---|"]
    layers = drawing.split("subgraph ")[1:]
    for place, layer in enumerate(layers):
        rooms = "<br>".join(f"**{name}**: {what}" for _, name, what in NODE.findall(layer))
        rows.append(f"| {len(layers) - place} | {rooms} |")
    return "\n".join(rows)


def read_source(_: Sphinx, __: str, content: list[str]) -> None:
    """Replace the drawings of a page before it is read."""
    content[0] = replace_drawings(content[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at every page that is read."""
    app.connect("source-read", read_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
