"""How much memory there is, and a bound on what a task may take of it."""

import re
import resource

# Version 2 of control groups, then version 1; "max" and absurd numbers mean none.
GROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def total():
    """Bytes of this machine, or of the container it seems to be."""
    limits = [_line("/proc/meminfo", "MemTotal")]
    for file in GROUP_LIMITS:
        try:
            with open(file) as limit:
                limits.append(int(limit.read()))
        except (OSError, ValueError):
            pass
    return min(limit for limit in limits if limit > 0)


def bound():
    """Makes allocations fail before memory runs out and the OOM killer strikes.

    Not for processes that use a GPU: CUDA reserves more address space than there is memory.
    """
    share = 7 / 8  # the rest is for reporting the failure
    most = int(_line("/proc/self/status", "VmSize") + share * min(_line("/proc/meminfo", "MemAvailable"), total()))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def asked_for(error):
    """The bytes that PyTorch says it could not allocate; None if it says nothing of that."""
    found = re.search(r"tried to allocate (\d+) bytes", str(error))
    return int(found.group(1)) if found else None


def text(size):
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} PB"


def _line(file, key):
    with open(file) as lines:
        for line in lines:
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
    return 0
