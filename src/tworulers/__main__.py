"""Runs the command as `python -m tworulers`."""

import sys

from tworulers.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
