"""The metrics that come with the package: a file each, found by the registry because it lies here."""
