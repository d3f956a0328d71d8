"""How a figure becomes a file or part of a page: the same bytes for the same figure."""

import html
import io
import json
import re
from dataclasses import dataclass

from matplotlib.figure import Figure

from tworulers.schema.file_names import is_plain, name_file

LEAST = 1.06
"""Pixels a point is drawn with at least, so that the smallest letters (8.5 points) have nine; narrow screens scroll."""


@dataclass(frozen=True)
class Picture:
    """A finished figure with the sentence that goes under it.

    Attributes
    ----------
    name : of its files, without ending.
    caption : what it shows and what judged, in a sentence or two.
    photo : whether it is of exams, whose greys mean something.
    svg, png : as files; `inline` is the drawing as part of a page.
    """

    name: str
    caption: str
    svg: str
    png: bytes
    photo: bool = False

    @property
    def inline(self) -> str:
        """Return the drawing to be put into a page: no prolog, no metadata, ids of its own."""
        return inline_svg(self.svg, self.name)


def name_picture(kind: str, *texts: str) -> str:
    """Name a picture after what it shows: groupings, metrics and structures are any text, and no path.

    Plain texts are joined as they are where the name tells which is which; no other texts have the same name.
    """
    if all(map(is_plain, texts)) and not any("_" in text for text in texts[1:]):
        return "_".join([kind, *texts])
    return f"{kind}_{name_file(json.dumps(texts, ensure_ascii=False))}"


def take_picture(figure: Figure, name: str, caption: str) -> Picture:
    """Render a figure as SVG and PNG, without dates, so that equal figures are equal files."""
    # Laid out once: the layout is the slowest part of drawing and the same for both files.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    drawing, image = io.StringIO(), io.BytesIO()
    figure.savefig(drawing, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(image, format="png", metadata={"Software": None})
    caption = caption[:1].upper() + caption[1:]
    return Picture(name, caption, give_title(drawing.getvalue(), caption), image.getvalue())


def give_title(svg: str, title: str) -> str:
    """Give an SVG file a title, which is read out where the drawing cannot be seen."""
    told = f"\n <title>{html.escape(title)}</title>"
    return re.sub(r"<svg[^>]*>", lambda found: found[0] + told, svg, count=1)


def inline_svg(svg: str, prefix: str) -> str:
    """Make an SVG file part of an HTML page.

    Ids get a prefix, since two drawings of one page may not share any; the size is left to the
    page; namespaces and metadata go, since a page needs neither. Of the prefix what could end an
    attribute is taken out.
    """
    own = re.sub(r"[^\w.~-]", "_", prefix)
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", body)
    body = body.replace("xlink:href", "href")
    # An image is called by its content, so two that look alike would share an id, which nothing refers to.
    body = re.sub(r'(<image\b[^>]*?)\sid="[^"]*"', r"\1", body)
    for reference in (' id="', 'href="#', "url(#"):
        body = body.replace(reference, f"{reference}{own}-")
    width = re.search(r'<svg[^>]*\swidth="([\d.]+)pt"', body)
    points = float(width.group(1)) if width else 600.0
    body = re.sub(r'(<svg[^>]*?)\s(?:width|height)="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?)\s(?:width|height)="[^"]*"', r"\1", body, count=1)
    size = f"min-width:{points * LEAST:.0f}px;max-width:{points * 1.4:.0f}px"
    drawn = body.replace("<svg", f'<svg role="img" style="{size}"', 1).strip()
    return f'<div class="scroll" tabindex="0">{drawn}</div>'
