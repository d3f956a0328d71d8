"""Databases and MLflow servers that a test makes, kills and starts again."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from documents import list_commands

PATIENCE_S = 120


def find_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def make_database(postgres: str, name: str) -> str:
    """Make an empty database; return its address."""
    import psycopg

    with psycopg.connect(f"{postgres}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{postgres}/{name}"


@dataclass
class Server:
    """An MLflow server over a database, with files of its own, that can be killed and started again."""

    database: str
    files: Path
    port: int = field(default_factory=find_port)
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        (told,) = (one for one in list_commands("servers") if one.words[0] == "mlflow")
        given = {
            "5000": str(self.port),
            "postgresql://me@127.0.0.1:5432/runs": self.database,
            "./files": str(self.files),
        }
        mlflow = [sys.executable, "-m", *(given.get(word, word) for word in told.words)]
        env = {
            **os.environ,
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        }
        self.process = subprocess.Popen(
            [*mlflow, "--workers", "1"],
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and self.process.poll() is None:
            with suppress(OSError):
                if urllib.request.urlopen(f"{self.address}/health", timeout=5).status == 200:
                    return
            time.sleep(0.2)
        raise AssertionError(f"no MLflow server after {PATIENCE_S} s")

    def kill(self) -> None:
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None
