"""Lets `python -m tworulers.runner.verify A B` compare two results."""

import sys

from tworulers.runner.verify.command import main

sys.exit(main())
