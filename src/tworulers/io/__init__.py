"""Images, records and where they lie."""
