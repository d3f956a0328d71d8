"""Copies of results in MLflow: the only room that knows it, and nothing of record lives only there."""

from tworulers.runner.tracking.record import RunRecord, write_record

__all__ = ["RunRecord", "write_record"]
