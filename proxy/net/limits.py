"""What the kernel lets a process have: as many file descriptors as it may, for a shell's own limit is often 1,024."""

import resource
from contextlib import suppress


def use_all_descriptors() -> None:
    """Raise the soft limit to the hard one. Where that is forbidden, what is allowed has to do (`isthmus doctor`)."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
