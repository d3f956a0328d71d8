"""What every test may lean on: the folder of real data where there is one, and a store of MLflow runs of its own."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import settings

# How long an example takes depends on what else the machine is doing; no test here is about time. CI tries the same
# examples each time, so that a change is judged by what it changed; people at work get new ones.
settings.register_profile("tworulers", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("tworulers")

ROOT = Path(__file__).parents[1]
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data and cases beside the checkout; tests that need it are skipped by name without it."""
    folder = Path(os.environ.get("TWORULERS_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"needs the shared folder, looked for at {folder}")
    return folder


@pytest.fixture(autouse=True)
def _no_outer_tracking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a tracking server of the person who runs the tests out of them."""
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_RUN_ID", "DVC_STAGE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _keep_small_numbers() -> Iterator[None]:
    """Undo what a training in this process sets for the whole thread: numbers near 0 flushed to 0."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)


@pytest.fixture
def unrendered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build every figure and write a blank for it: a third of a command's time, where a test looks at no figure."""
    from matplotlib.figure import Figure

    def write_blank(figure: Figure, target: IO[Any], **asked: Any) -> None:
        drawing = '<svg width="1pt" height="1pt"></svg>'
        target.write(drawing if asked["format"] == "svg" else drawing.encode())

    monkeypatch.setattr(Figure, "draw_without_rendering", lambda figure: None)
    monkeypatch.setattr(Figure, "savefig", write_blank)
