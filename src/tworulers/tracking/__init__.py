"""Copies of results in MLflow: the only room that knows it, and nothing of record lives only there."""

from tworulers.tracking.names import name_metrics, slug
from tworulers.tracking.publishing import publish
from tworulers.tracking.record import RECORD, RunRecord, list_results, read_record, write_record
from tworulers.tracking.shown import list_shown
from tworulers.tracking.store import TrackingError, connect, require_address, wait_longer

__all__ = [
    "RECORD",
    "RunRecord",
    "TrackingError",
    "connect",
    "list_results",
    "list_shown",
    "name_metrics",
    "publish",
    "read_record",
    "require_address",
    "slug",
    "wait_longer",
    "write_record",
]
