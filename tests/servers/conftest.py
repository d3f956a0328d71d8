"""PostgreSQL from Debian's packages, started for the tests; the campaign that they repeat lies beside the scripts."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import find_port

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))


def find_program(name: str) -> str:
    """Find a program of PostgreSQL's server, which Debian keeps off the path."""
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(kept[-1]) if kept else shutil.which(name) or ""


def as_other(*command: str) -> list[str]:
    """Write a command so that root runs it as the user of PostgreSQL, which refuses root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else [*command]


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an empty PostgreSQL server, without the name of a database."""
    programs = {name: find_program(name) for name in ("initdb", "pg_ctl")}
    if not all(programs.values()):
        pytest.skip("needs PostgreSQL's server: apt-get install postgresql")
    pytest.importorskip("psycopg", reason="needs the extra server: pip install 'tworulers[server]'")
    # A socket's path may have a hundred characters.
    home = Path(f"/tmp/tworulers-{os.getpid()}-postgres")
    home.mkdir(mode=0o777)
    home.chmod(0o777)
    data, port = str(home / "data"), find_port()
    try:
        made = as_other(programs["initdb"], "-D", data, "-U", "me", "--auth=trust", "-N")
        subprocess.run(made, check=True, capture_output=True)
        options = f"-p {port} -k {home} -c fsync=off -c listen_addresses=127.0.0.1"
        begun = as_other(
            programs["pg_ctl"], "-D", data, "-o", options, "-l", str(home / "log"), "-w", "start"
        )
        subprocess.run(begun, check=True, stdout=subprocess.DEVNULL)
        yield f"postgresql://me@127.0.0.1:{port}"
        ended = as_other(programs["pg_ctl"], "-D", data, "-m", "immediate", "stop")
        subprocess.run(ended, check=True, stdout=subprocess.DEVNULL)
    finally:
        shutil.rmtree(home, ignore_errors=True)
