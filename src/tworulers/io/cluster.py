"""The workers of a Dask cluster: one that runs already, or one of processes of this machine."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from joblib._dask import DaskDistributedBackend

from tworulers.schema.running import Workers

PATIENCE_S = 10


class ClusterError(ValueError):
    """A cluster cannot be reached, or lost its workers; the message says what to do."""


@contextmanager
def open_backend(workers: Workers, processes: int) -> Iterator[Any]:
    """Connect to the scheduler that is named, or start one with `processes` workers here; let go at the end.

    Returns
    -------
    What joblib takes as its backend.

    Raises
    ------
    ClusterError : Dask is not installed, no scheduler answers at the address, or it has no workers.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ClusterError(
            "workers=dask needs distributed, not installed here: pip install 'tworulers[dask]'"
        ) from error
    # It tells of every worker that was lost in a dozen lines; what cannot be made good ends in one message of ours.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if workers.scheduler is None:
        with (
            LocalCluster(
                n_workers=processes,
                threads_per_worker=1,
                dashboard_address=None,
                memory_limit=0,
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.wait_for_workers(processes)
            yield Backend(client=client)
        return
    try:
        client = Client(workers.scheduler, timeout=PATIENCE_S)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"workers.scheduler={workers.scheduler}: no Dask scheduler answers there; start one with `dask scheduler`, "
            "or leave the address out to work on this machine"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE_S)
        except TimeoutError as error:
            raise ClusterError(
                f"workers.scheduler={workers.scheduler}: the scheduler has no workers; start some with "
                f"`dask worker {workers.scheduler}`"
            ) from error
        yield Backend(client=client)


class Backend(DaskDistributedBackend):  # type: ignore[misc]
    """Joblib's backend for Dask, which would wait for ever for work that every worker died of; this one raises."""

    def count_workers(self) -> int:
        """Return how many exams can be worked on at a time."""
        threads: dict[str, int] = self.client.ncores()
        return max(1, sum(threads.values()))

    def effective_n_jobs(self, n_jobs: int) -> int:  # noqa: ARG002
        """Return how many work at a time; of one alone joblib would do the work in this process."""
        return max(2, self.count_workers())

    def submit(self, func: Any, callback: Callable[[Any], None] | None = None) -> Any:
        """Hand out some work; `callback` is told of its end, whatever that is."""
        future = super().submit(func, callback)
        if callback is not None:
            future.add_done_callback(lambda done: done.exception() and callback(done.exception()))
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        """Return what work has come to, or raise what ended it."""
        if isinstance(out, BaseException):
            raise ClusterError(
                f"workers were lost again and again at the same exam ({type(out).__name__}), most often for want of "
                "memory; give them more, or use workers=loky processes=1 to see which it is"
            ) from out
        return super().retrieve_result_callback(out)
