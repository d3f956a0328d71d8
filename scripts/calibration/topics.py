"""Every topic of the calibration: each module beside this one that declares a `TOPIC`."""

from importlib import import_module
from pathlib import Path

from calibration.rows import Topic


def list_topics() -> dict[str, Topic]:
    """Return the topics by the name of their module, sorted."""
    topics = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem in ("__init__", "campaign"):
            continue
        module = import_module(f"calibration.{path.stem}")
        if isinstance(topic := getattr(module, "TOPIC", None), Topic):
            topics[path.stem] = topic
    return topics
