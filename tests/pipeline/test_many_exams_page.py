"""The page on many exams: its commands are run as they stand there, and give the same scores."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_line import BASE, NETWORK, ROOT, command, read_tree

pytest.importorskip("distributed")

PAGE = (ROOT / "docs" / "many_exams.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]


def test_the_page_is_short() -> None:
    assert len(PAGE.splitlines()) <= 60
    assert len(COMMANDS) == 5


@pytest.mark.slow
def test_the_commands_of_the_page_score_alike(small_line: Path) -> None:
    bin_folder = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "PYTHONPATH": f"{ROOT}/src"}
    assert command("predict", "regime=gold", *NETWORK) == 0
    results, servers = [], []
    try:
        for line in COMMANDS:
            words = shlex.split(line)
            if words[0] == "dask":
                servers.append(subprocess.Popen(words, env=env, stderr=subprocess.DEVNULL))
                time.sleep(2)
                continue
            stage = words[2].rpartition(".")[2]
            assert command(stage, *words[3:], "regime=gold", "ruler=gold") == 0
            results.append(read_tree(small_line / BASE / "scores"))
    finally:
        for server in reversed(servers):
            server.send_signal(signal.SIGTERM)
            server.wait()
    assert len(results) == 3
    assert results[0] == results[1] == results[2]
