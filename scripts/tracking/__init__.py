"""Writers of runs at once, and writers killed."""
