"""What workers do in the tests of the pool: functions of a module, which fresh processes can import."""

import os
import stat
import time
from pathlib import Path

from tworulers.metrics.registry import METRICS


def square(number: int) -> int:
    return number * number


def fail_at_seven(number: int) -> int:
    if number == 7:
        raise ValueError("seven is broken")
    return number


def look(number: int) -> tuple[int, str, str, int, bool]:
    path = Path(f"written_{number}_{os.getpid()}")
    path.write_text("")
    rights = stat.S_IMODE(path.stat().st_mode)
    return os.getpid(), str(Path.cwd()), os.environ["TWORULERS_TEST"], rights, "own_one" in METRICS


def end_at_seven(number: int) -> int:
    if number == 7:
        os._exit(9)
    return number


def say_who(number: int) -> None:
    (Path.cwd() / f"worker_{os.getpid()}").write_text(str(number))
    time.sleep(0.2)


def square_once(number: int, folder: str, ending: int) -> int:
    """Square a number and say so; the first worker that comes to `ending` is killed on the way."""
    time.sleep(0.02)
    if number == ending and not Path(folder, "killed").exists():
        Path(folder, "killed").touch()
        os.kill(os.getpid(), 9)
    with Path(folder, f"{number}.txt").open("a") as stream:
        stream.write(f"{os.getpid()}\n")
    return number * number
