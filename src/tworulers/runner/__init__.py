"""The command, its settings, the graph of the pipeline, and the records of runs."""
