"""Sweeps: what each run of one needs and is called, how it ended, and the table of them all."""
