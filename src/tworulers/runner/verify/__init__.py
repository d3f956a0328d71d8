"""Whether two results are the same: read here as they lie on disk, by no stage of the line."""
