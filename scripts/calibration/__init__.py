"""Simulated studies with a known truth, to see how often each verdict and interval is right."""
