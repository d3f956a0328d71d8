"""Audit segmentation models for fairness, and the rulers that judge them."""

__version__ = "0.1.0"
