"""Copies of results in MLflow: the only room that knows it, and nothing of record lives only there."""

from tworulers.tracking.names import name_metrics, slug
from tworulers.tracking.publishing import publish
from tworulers.tracking.record import (
    RECORD,
    SHARED,
    RunRecord,
    list_results,
    read_record,
    was_made_to_be_shared,
    write_record,
)
from tworulers.tracking.shown import list_shown
from tworulers.tracking.store import TrackingError, connect, require_address, wait_longer

__all__ = [
    "RECORD",
    "SHARED",
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
    "was_made_to_be_shared",
    "write_record",
]
