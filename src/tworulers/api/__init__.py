"""The Python door: arrays and frames in, results that print, tabulate and draw themselves out."""
