"""Files of every kind, cut short, emptied or with a byte changed: the message names the file and what mends it."""

import contextlib
import io
import os
import re
from pathlib import Path

import numpy as np
import pytest
from small_line import BASE, NETWORK, command

TESTED = "predictions/gold/labels"
WAYS = ("cut", "emptied", "changed")


def damage(path: Path, way: str, seed: int = 0) -> None:
    """Cut a file to half, empty it, or change one of its bytes; the time of writing stays."""
    content, stat = path.read_bytes(), path.stat()
    if way == "cut":
        content = content[: len(content) // 2]
    elif way == "emptied":
        content = b""
    else:
        # In the middle, where the contents lie; the ends of archives hold names that nobody reads.
        low, high = len(content) // 4, max(len(content) // 4 + 1, 3 * len(content) // 4)
        place = int(np.random.default_rng(seed).integers(low, high))
        content = content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def say_of(stage: str, *overrides: str) -> tuple[int, str]:
    """Run a stage in this process: its exit status and all that it said."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        status = command(stage, *overrides)
    return status, said.getvalue()


READ_BY: dict[str, tuple[str, ...]] = {
    "arrays/3d_fullres/{exam}.npy": ("predict", "regime=gold"),
    "arrays/3d_fullres/{exam}.npz": ("predict", "regime=gold"),
    "models/gold/3d_fullres/fold_0/final.pt": ("predict", "regime=gold"),
    "models/gold/3d_fullres/fold_0/validation.parquet": ("select", "regime=gold"),
    "selection/gold/choice.json": ("predict", "regime=gold"),
    "plan/plans.json": ("preprocess",),
    "plan/dataset.json": ("preprocess",),
    "plan/recipe.json": ("preprocess",),
    "cohort/cohort.parquet": ("split", "split.folds=2", "split.test=0.3", "split.strata=[]"),
    "split/splits.parquet": ("predict", "regime=gold"),
    "source/images/{exam}.nii.gz": ("preprocess",),
}
"""A stage that reads each kind of file."""

NO_SUM = {"selection/gold/choice.json", "plan/plans.json", "plan/dataset.json", "plan/recipe.json"}
"""Text that people may edit carries no checksum: another digit is another setting, which the stamps see."""


@pytest.mark.slow
@pytest.mark.parametrize("name", READ_BY)
def test_a_damaged_file_is_named_with_what_mends_it(
    name: str,
    small_line: Path,
) -> None:
    exam = sorted(path.stem for path in (small_line / BASE / "arrays/3d_fullres").glob("*.npy"))
    tested = [one for one in exam if "{exam}" in name]
    path = small_line / BASE / name.format(exam=tested[-1] if tested else "")
    stage, *overrides = READ_BY[name]
    ways = [way for way in WAYS if way != "changed" or name not in NO_SUM]
    damage(path, ways[list(READ_BY).index(name) % len(ways)])
    status, said = say_of(stage, *overrides, *NETWORK)
    assert status == 1
    assert "Traceback" not in said
    assert str(path.relative_to(small_line)) in said
    assert re.search(r"make (it|them) again with `python -m tworulers\.stages\.\w+`", said)
    if tested:
        assert f"exam {tested[-1]}" in said or path.name.startswith(tested[-1])
