"""How a figure becomes a file or part of a page: the same bytes for the same figure."""

import io
import json
import re
from dataclasses import dataclass

from matplotlib.figure import Figure

from tworulers.file_names import is_plain, name_file


@dataclass(frozen=True)
class Picture:
    """A finished figure with the sentence that goes under it.

    Attributes
    ----------
    name : of its files, without ending.
    caption : what it shows and what judged, in a sentence or two.
    svg, png : as files; `inline` is the drawing as part of a page.
    """

    name: str
    caption: str
    svg: str
    png: bytes

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
    return Picture(name, caption[:1].upper() + caption[1:], drawing.getvalue(), image.getvalue())


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
    for reference in (' id="', 'href="#', "url(#"):
        body = body.replace(reference, f"{reference}{own}-")
    width = re.search(r'<svg[^>]*\swidth="([\d.]+)pt"', body)
    points = float(width.group(1)) if width else 600.0
    body = re.sub(r'(<svg[^>]*?)\s(?:width|height)="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?)\s(?:width|height)="[^"]*"', r"\1", body, count=1)
    return body.replace("<svg", f'<svg style="max-width:{points * 1.4:.0f}px"', 1).strip()
