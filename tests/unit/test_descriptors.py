"""A process has all file descriptors that it may have, and no kind of connection takes those that another needs."""

import resource
import subprocess
import sys

import pytest

from proxy.descriptors import is_spared, scaled
from proxy.net.door import PENDING_MAX
from proxy.web.gate import Limits

SHELL = "ulimit -S -n 64; exec {python} -c '{program}'"
PROGRAM = """
import resource
from proxy.descriptors import use_all_descriptors

use_all_descriptors()
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
print(soft == hard > 64)
"""


def test_the_soft_limit_is_raised() -> None:
    command = ["sh", "-c", SHELL.format(python=sys.executable, program=PROGRAM)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "True\n"


@pytest.mark.parametrize(
    ("limit", "first", "visitors"),
    [(4096, 4096 - 448, 128), (1024, 1024 - 256, 73), (64, 48, 4)],
)
def test_arrays_leave_descriptors_to_others_who_do_not_take_all_of_them(
    monkeypatch: pytest.MonkeyPatch, limit: int, first: int, visitors: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    assert not is_spared(first - 1)
    assert is_spared(first)
    strangers = scaled(PENDING_MAX)
    assert scaled(Limits().visits) == visitors
    assert strangers + visitors < limit - first


def test_where_there_is_no_limit_none_are_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert not is_spared(1 << 20)
    assert scaled(PENDING_MAX) == PENDING_MAX
