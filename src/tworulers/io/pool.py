"""Exams worked on side by side: in processes of this machine, or by the workers of a Dask cluster."""

import os
import pickle
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tworulers.progress import track
from tworulers.schema.own_files import load_own_files
from tworulers.schema.running import Workers

Item = TypeVar("Item")
Result = TypeVar("Result")

WORTH_S = 6.0
"""Work that takes less is done by this process itself: others would take as long to start."""

LARGEST_CHUNK = 8
PREFIX = "TWORULERS_"
LOOK_S = 0.5


@dataclass(frozen=True)
class Surroundings:
    """What a worker has to know of the process that asked it: fresh processes inherit nothing else.

    Attributes
    ----------
    process : its id; a worker that it started itself ends with it.
    folder : its working folder.
    root : the project, whose own files add to what there is; none outside a command.
    umask : what is taken from the rights of new files.
    variables : of the environment, ours alone.
    """

    process: int
    folder: str
    root: Path | None
    umask: int
    variables: Mapping[str, str]


@dataclass
class _Crew:
    """Who works for this command, and what has been opened for it."""

    workers: Workers
    root: Path | None = None
    stack: ExitStack = field(default_factory=ExitStack)
    backend: Any = None


_CREW: ContextVar[_Crew | None] = ContextVar("crew", default=None)


@contextmanager
def working_with(workers: Workers, root: Path) -> Iterator[None]:
    """Let all work within be done by these workers, which are let go at the end.

    Parameters
    ----------
    workers : of this machine, or of a cluster.
    root : the project; its own files are run by every worker first.
    """
    with ExitStack() as stack:
        token = _CREW.set(_Crew(workers, root, stack))
        try:
            yield
        finally:
            _CREW.reset(token)


def map_in_pool(
    work: Callable[[Item], Result], items: Sequence[Item], processes: int, described: str
) -> list[Result]:
    """Do the same work on every item, show how far it is, and return the results in the order of the items.

    Parameters
    ----------
    work : a function of a module, or a partial of one.
    items : what is worked on.
    processes : how many work side by side.
    described : what is going on, for the progress bar.
    """
    return list(track(iterate_in_pool(work, items, processes), len(items), described))


def iterate_in_pool(
    work: Callable[[Item], Result], items: Sequence[Item], processes: int
) -> Iterator[Result]:
    """Do the same work on every item and yield the results in the order of the items.

    An item that fails ends the work: what has been begun is finished, then the error is raised. The first items are
    done by this process, and so are all where the others would take longer to start than they would save.

    Parameters
    ----------
    work, items, processes : as in `map_in_pool`.

    Raises
    ------
    ClusterError : a cluster cannot be reached.
    """
    crew = _CREW.get() or _Crew(Workers(name="loky"))
    if crew.workers.backend == "loky":
        quickest = float("inf")
        done = 0
        while done < len(items):
            known = done > 1 or (done and quickest > WORTH_S)  # the first also loads what it needs
            if processes > 1 and known and quickest * (len(items) - done) > WORTH_S:
                break
            started = time.monotonic()
            yield work(items[done])
            quickest, done = min(quickest, time.monotonic() - started), done + 1
        items = items[done:]
    if items:
        yield from _share(work, items, processes, crew)


def _share(
    work: Callable[[Item], Result], items: Sequence[Item], processes: int, crew: _Crew
) -> Iterator[Result]:
    """Let workers do the items, a few at a time."""
    from joblib import Parallel, delayed

    around = _look_around(crew.root)
    failed: list[Exception] = []
    with _interrupts_kept():
        parallel, workers = _gather(Parallel, processes, crew)
        size = max(1, min(LARGEST_CHUNK, len(items) // (4 * workers)))

        def hand_out() -> Iterator[Any]:
            for start in range(0, len(items), size):
                if failed:
                    return
                yield delayed(work_in_worker)(
                    around, pickle.dumps((work, items[start : start + size]))
                )

        results = parallel(hand_out())
    try:
        for done, error in results:
            if failed:
                continue
            if error is not None:
                failed.append(error)
            yield from done
    finally:
        with warnings.catch_warnings():
            # That the rest is not awaited is meant.
            warnings.simplefilter("ignore")
            results.close()
    if failed:
        raise failed[0]


def _gather(parallel: Any, processes: int, crew: _Crew) -> tuple[Any, int]:
    """Return what shares work out by the chosen backend, and how many workers it has."""
    shared = {"return_as": "generator", "batch_size": 1}
    if crew.workers.backend == "loky":
        return parallel(processes, backend="loky", max_nbytes=None, **shared), processes
    if crew.backend is None:
        from tworulers.io.cluster import open_backend

        crew.backend = crew.stack.enter_context(open_backend(crew.workers, processes))
    return parallel(-1, backend=crew.backend, **shared), crew.backend.count_workers()


def work_in_worker(around: Surroundings, packed: bytes) -> tuple[list[Any], Exception | None]:
    """Do some items in a worker: their results, and the error that ended it early, if one did."""
    _settle(around)
    work, items = pickle.loads(packed)
    done: list[Any] = []
    for item in items:
        try:
            done.append(work(item))
        except Exception as error:
            error.add_note(f"in a worker: {traceback.format_exc()}")
            return done, error
    return done, None


def _look_around(root: Path | None) -> Surroundings:
    umask = os.umask(0o077)
    os.umask(umask)
    variables = {name: value for name, value in os.environ.items() if name.startswith(PREFIX)}
    return Surroundings(os.getpid(), str(Path.cwd()), root, umask, variables)


_SETTLED: list[Surroundings] = []
"""What this worker knows already."""


def _settle(around: Surroundings) -> None:
    """Make this worker like the process that asked it, once."""
    if [around] == _SETTLED:
        return
    if not _SETTLED and os.getppid() == around.process:
        threading.Thread(target=_end_with, args=(around.process,), daemon=True).start()
    os.chdir(around.folder)
    os.umask(around.umask)
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        del os.environ[name]
    os.environ.update(around.variables)
    if around.root is not None:
        load_own_files(around.root)
    _SETTLED[:] = [around]


def _end_with(process: int) -> None:
    """End this process as soon as the one that started it is gone, however that ended."""
    while os.getppid() == process:
        time.sleep(LOOK_S)
    os._exit(1)


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Keep Ctrl-C from processes that are started within: it is for the command, which ends them itself."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
