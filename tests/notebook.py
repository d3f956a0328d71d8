"""The notebook, run from its first cell to its last and held to what its text says; alone, in any environment."""

import json
import warnings
from pathlib import Path
from typing import Any

import tworulers as tr

NOTEBOOK = Path(__file__).parents[1] / "examples" / "five_lines.ipynb"


def run_notebook() -> None:
    """Run every cell, and look at what they made."""
    content = json.loads(NOTEBOOK.read_text())
    assert content["nbformat"] == 4
    named: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tr.AuditWarning)
        for cell in content["cells"]:
            assert cell.get("outputs", []) == []
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), cell["id"], "exec"), named)
    rulers, result = named["rulers"], named["result"]
    assert rulers.verdicts["sentence"].str.len().gt(0).all()
    assert rulers.verdicts.query("grouping == 'age'")["significant_other"].any()
    assert result.metadata["patients"] == 60
    assert named["risks"].matrix["sex"].shape == (2, 2)
    assert named["page"].startswith("<!doctype html>")


if __name__ == "__main__":
    run_notebook()
    print(f"ran with {tr.__file__}")
