"""Which settings a stage reads, as it declares them to `run_stage`."""

import ast
from pathlib import Path

from tworulers.graph.imports import find_module


def list_settings(stage: str, root: Path) -> tuple[str, ...]:
    """List the settings that a stage declares, as dotted names: a whole group, or one value of it.

    Parameters
    ----------
    stage : name of a module in `stages`.
    root : the folder that holds the package.

    Raises
    ------
    ValueError : the stage does not hand literal names to `run_stage`.
    """
    path = find_module(f"tworulers.stages.{stage}", root)
    if path is None:
        raise FileNotFoundError(f"no stage {stage} below {root}")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "run_stage":
            declared = ast.literal_eval(node.args[1])
            return tuple(str(name) for name in declared)
    raise ValueError(f"{path} does not call run_stage(stage, (names of settings, ...))")
