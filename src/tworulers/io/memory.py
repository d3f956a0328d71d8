"""How much memory this process may still take, as far as the system says."""

import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def available_bytes() -> int | None:
    """Return the bytes that can be taken: the least of free memory, container limit and process limit.

    None where the system tells none of them.
    """
    found = [_free(), _left_in_container(), _left_to_process()]
    return min((size for size in found if size is not None), default=None)


def _free() -> int | None:
    """Memory that programs can take without swapping (Linux's own estimate)."""
    for line in _read(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _left_in_container() -> int | None:
    """What a container's limit (cgroup 2, or 1) leaves, its file cache counted as free."""
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        most, now = _read(_CGROUP / limit).strip(), _read(_CGROUP / used).strip()
        if most.isdecimal() and now.isdecimal():
            cached = _read((_CGROUP / limit).parent / "memory.stat")
            words = dict(line.split() for line in cached.splitlines() if len(line.split()) == 2)
            return int(most) - int(now) + int(words.get("inactive_file", 0))
    return None


def _left_to_process() -> int | None:
    """What a limit on this process's address space (``ulimit -v``) leaves."""
    if os.name != "posix":
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    pages = _read(Path("/proc/self/statm")).split()
    if limit == resource.RLIM_INFINITY or not pages:
        return None
    return limit - int(pages[0]) * resource.getpagesize()


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
