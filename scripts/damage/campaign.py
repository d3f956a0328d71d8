"""Every file that a command reads of what another left, damaged in turn; takes arguments of pytest."""

import os
import sys

import pytest

if __name__ == "__main__":
    os.environ["TWORULERS_ALL_FILES"] = "1"
    sys.exit(
        pytest.main(
            ["tests/pipeline/test_damaged_results.py", "-k", "changes_nothing", *sys.argv[1:]]
        )
    )
