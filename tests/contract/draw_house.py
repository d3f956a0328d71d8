"""Draws the rooms of the package as its import contracts have them; run as a program it writes docs/house.md anew."""

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "house.md"
START, END = "<!-- drawn from pyproject.toml -->\n", "<!-- end of the drawing -->\n"


def read_layers() -> list[list[str]]:
    """List the layers of the import contracts from the top down, each with its rooms."""
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (contract,) = [one for one in tables["contracts"] if one["type"] == "layers"]
    layers = [layer.split("|") for layer in contract["layers"]]
    return [[room.strip().removeprefix("tworulers.") for room in layer] for layer in layers]


def list_rooms() -> list[str]:
    """List the rooms on disk: folders of the package, and its modules beside them."""
    package = ROOT / "src" / "tworulers"
    folders = [path.parent.name for path in package.glob("*/__init__.py")]
    return sorted([*folders, *(path.stem for path in package.glob("*.py") if path.stem[0] != "_")])


def describe_room(room: str) -> str:
    """Return the first sentence of a room, as its own file says it."""
    package = ROOT / "src" / "tworulers"
    file = package / room / "__init__.py"
    text = (file if file.is_file() else package / f"{room}.py").read_text()
    return (ast.get_docstring(ast.parse(text)) or "").splitlines()[0].rstrip(".")


def draw_house() -> str:
    """Draw a box a room, a frame a layer, and an arrow from each layer to the next, whose rooms it may import."""
    lines = ["```mermaid", "flowchart TB"]
    layers = read_layers()
    for place, layer in enumerate(layers):
        lines.append(f'  subgraph layer{place}[" "]')
        lines += [f'    {room}["<b>{room}</b><br>{describe_room(room)}"]' for room in layer]
        lines.append("  end")
    lines += [f"  layer{place} --> layer{place + 1}" for place in range(len(layers) - 1)]
    return "\n".join([*lines, "```", ""])


def write_page(text: str) -> str:
    """Put the drawing between its marks."""
    before, rest = text.split(START)
    return before + START + draw_house() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(write_page(PAGE.read_text()))
