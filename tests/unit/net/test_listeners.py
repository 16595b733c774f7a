"""What is said of an address that cannot be had fits why."""

import errno
import os

import pytest

from proxy.config.addresses import Address
from proxy.net.listeners import unavailable


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (errno.EADDRINUSE, "ss -tanp 'sport = :80' says by whom: stop that, or configure another address"),
        (errno.EADDRNOTAVAIL, "configure one that `ip address` lists on this host"),
        (errno.EACCES, "configure a port from 1024 on: those below are for root"),
        (errno.EMFILE, "raise LimitNOFILE of the systemd unit, ulimits of a container, or ulimit -n (isthmus doctor)"),
        (errno.ENOBUFS, "configure another address"),
    ],
)
def test_the_remedy_fits_the_error(error: int, remedy: str) -> None:
    said = unavailable("status.listen", Address("127.0.0.1", 80), OSError(error, os.strerror(error)))
    assert said == f"status.listen = 127.0.0.1:80: {os.strerror(error)}; {remedy}"
