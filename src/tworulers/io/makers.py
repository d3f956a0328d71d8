"""Which stage made a file of the pipeline, for the message about one that cannot be read."""

import gzip
import re
import zlib
from pathlib import Path

from tworulers.io.image_error import ImageError
from tworulers.io.paths import Layout
from tworulers.schema.damage import made_by

MAKERS = {"source": "cohort", "annotations": "annotate", "predictions": "predict"}
"""Stage by the folder of its images or label maps."""

COPY = "; copy it again"


def name_maker(error: ImageError, layout: Layout) -> ImageError:
    """Say of an image of the pipeline's own which command makes it again, in place of copying it.

    Parameters
    ----------
    error : what was raised; one about anything else is returned as it is.
    layout : where the pipeline's files lie.
    """
    text = str(error)
    for home in dict.fromkeys((layout.inputs, layout.outputs)):
        found = re.search(rf"{re.escape(str(home))}/(\w+)/\S*", text)
        if error.kind == "unreadable" and found and found[1] in MAKERS:
            told = f"{text.removesuffix(COPY)}; make it again with {made_by(MAKERS[found[1]])}"
            return ImageError(told, error.kind, error.found)
    return error


def find_gzip_damage(path: Path) -> str:
    """Read a compressed file to its end and say what is wrong with it; nothing where it is whole."""
    try:
        with gzip.open(path) as stream:
            while stream.read(1 << 20):
                pass
    except EOFError:
        return "the gzip stream ends early (a truncated copy); copy the file again"
    except (OSError, zlib.error) as damage:
        return f"the gzip stream is damaged ({damage}); copy the file again"
    return ""
