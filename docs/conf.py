"""How the documents are built: from Markdown, with nothing fetched, neither now nor by the reader."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent / "src")]

project = "Two Rulers"
author = "the authors of tworulers"
copyright = "the authors of tworulers, Apache-2.0"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "accessible",
    "docstrings",
    "drawing",
    "mathml",
    "settings_reference",
]
exclude_patterns = ["_extensions"]
default_role = "code"
smartquotes = False

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["own.css"]
html_title = "Two Rulers"
html_math_renderer = "mathml"
html_show_sphinx = False
html_copy_source = False
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
