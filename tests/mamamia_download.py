"""The script that invents a download of MAMA-MIA, as a module."""

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]


def load_script() -> ModuleType:
    path = ROOT / "scripts" / "make_mamamia_fixture.py"
    spec = importlib.util.spec_from_file_location("make_mamamia_fixture", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
