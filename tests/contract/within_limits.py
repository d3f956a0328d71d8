"""Run commands one after another in a process of its own that may take little memory and time.

Called with a project folder and the commands as JSON, `[[stage, argument, ...], ...]`; prints what each said and its
status, and the most memory that the process held, as JSON.
"""

import json
import resource
import sys
from pathlib import Path

ADDRESS_SPACE = 6 * 1024**3
"""A limit that libraries fit into and a bomb does not, so that no machine is harmed."""

CPU_SECONDS = 120


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    from command import Project

    project = Project(Path(sys.argv[1]))
    outcomes = []
    for stage, *arguments in json.loads(sys.argv[2]):
        outcome = project.run(stage, *arguments)
        outcomes.append({"status": outcome.status, "said": outcome.said, "most_mb": most_held_mb()})
    print(json.dumps(outcomes))


def most_held_mb() -> int:
    """Return the most memory that this program held; what its parent held, which `getrusage` counts, apart."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


if __name__ == "__main__":
    main()
