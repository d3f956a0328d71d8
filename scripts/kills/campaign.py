"""Seven lines of the pipeline, each killed three times, end as one that was not; takes arguments of pytest."""

import os
import sys

import pytest

if __name__ == "__main__":
    os.environ["TWORULERS_KILL_ROUNDS"] = "7"
    sys.exit(
        pytest.main(["tests/pipeline/test_ended_by_signal.py", "-k", "two_clean", *sys.argv[1:]])
    )
