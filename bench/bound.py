"""`python bound.py PID COMMAND ...`: becomes the command, which the kernel kills when its starter PID ends.

A program of its own because nothing may run between fork and exec where there are threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """See above. If the starter has ended before it was watched, the command is not started."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() == int(sys.argv[1]):
        os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
