"""A process has all file descriptors that it may have."""

import subprocess
import sys

SHELL = "ulimit -S -n 64; exec {python} -c '{program}'"
PROGRAM = """
import resource
from proxy.net.limits import use_all_descriptors

use_all_descriptors()
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
print(soft == hard > 64)
"""


def test_the_soft_limit_is_raised() -> None:
    command = ["sh", "-c", SHELL.format(python=sys.executable, program=PROGRAM)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "True\n"
