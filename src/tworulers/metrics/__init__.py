"""One prediction against one reference: overlap, surface distance, levels."""
