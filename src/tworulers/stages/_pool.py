"""Processes that work on exams side by side, and end when the command that started them does."""

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import connection


def open_pool(processes: int, fresh: bool = False) -> ProcessPoolExecutor:
    """Open a pool of at least one process.

    Parameters
    ----------
    processes : how many work side by side.
    fresh : start them from nothing instead of as copies of this process: a copy of a process in which torch has
        started threads may hang.
    """
    context = multiprocessing.get_context("spawn" if fresh else "fork")
    return ProcessPoolExecutor(max(1, processes), context, initializer=end_with_parent)


def end_with_parent() -> None:
    """End this process as soon as its parent is gone, however that ended."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
