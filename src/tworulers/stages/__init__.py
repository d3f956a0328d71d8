"""One module a stage of the line, each runnable alone."""
