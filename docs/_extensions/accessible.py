"""What the theme leaves out for those who listen to a page, or read it with the keyboard alone."""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

MENDED = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    '<div class="math-wrapper': '<div tabindex="0" class="math-wrapper',
    "<pre><span></span>": '<pre tabindex="0"><span></span>',
    '<th class="head"><p></p></th>': "<td></td>",
}
"""Names for landmarks, levels for headings, and the keyboard for what scrolls sideways."""


def mend_pages(app: Sphinx, error: Exception | None) -> None:
    """Mend every page that was built."""
    if error or app.builder.format != "html":
        return
    for path in Path(app.outdir).glob("*.html"):
        text = path.read_text(encoding="utf-8")
        mended = text
        for theirs, ours in MENDED.items():
            mended = mended.replace(theirs, ours)
        if mended != text:
            path.write_text(mended, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at what was built, at the end."""
    app.connect("build-finished", mend_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
