"""What every test may lean on: the folder of real data where there is one, and a store of MLflow runs of its own."""

import os
from pathlib import Path

import pytest

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
