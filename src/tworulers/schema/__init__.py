"""Words, settings and tables: what everything else is written in."""
