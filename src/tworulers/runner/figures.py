"""How a stage leaves its figures in its result folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tworulers.report.render import Picture


def write_figures(pictures: Iterable[Picture], folder: Path) -> None:
    """Write every figure as SVG and PNG, and their captions in one text file.

    Parameters
    ----------
    pictures : the figures.
    folder : is made if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    captions = []
    for picture in pictures:
        (folder / f"{picture.name}.svg").write_text(picture.svg, encoding="utf-8")
        (folder / f"{picture.name}.png").write_bytes(picture.png)
        captions.append(f"{picture.name}: {picture.caption}\n")
    (folder / "captions.txt").write_text("\n".join(captions), encoding="utf-8")
