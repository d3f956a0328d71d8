"""Every number and switch of recipe and trainer changed between a kill and going on; takes arguments of pytest."""

import os
import sys

import pytest

if __name__ == "__main__":
    os.environ["TWORULERS_ALL_KEYS"] = "1"
    sys.exit(
        pytest.main(["tests/pipeline/test_interrupted.py", "-k", "any_setting", *sys.argv[1:]])
    )
