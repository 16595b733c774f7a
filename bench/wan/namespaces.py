"""Makes network namespaces, interfaces and addresses by the command `ip`, and TUN devices inside a namespace.

Needs root. Functions raise WanFailure with the words of `ip` or the kernel.
"""

import contextlib
import ctypes
import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.wan.errors import WanFailure

INTERFACE = "wan0"
"""The line's interface in both namespaces."""
ADDRESSES = {"east": "198.18.0.1", "west": "198.18.0.2"}
PREFIX = 24
WAITING_PACKETS = 10_000
"""How many packets an interface holds while the emulator does not get the CPU."""

_TUNSETIFF, _TUNSETOFFLOAD = 0x400454CA, 0x400454D0
_IFF_TUN_NO_PI_VNET_HDR = 0x0001 | 0x1000 | 0x4000
_TUN_F_CSUM_TSO4_TSO6 = 0x01 | 0x02 | 0x04
_CLONE_NEWNET = 0x40000000
_TUN = Path("/dev/net/tun")
_TUN_REMEDY = "load the module tun, or give the container the device"
_NAMESPACES = Path("/run/netns")
_SENT_DROPPED = 11
"""Column of /proc/net/dev behind an interface's name (proc(5))."""

_libc = ctypes.CDLL(None, use_errno=True)


def lacking() -> str:
    """Why there can be no namespaces here, or nothing."""
    if os.geteuid() != 0:
        return "network namespaces need root; run it with sudo"
    if not shutil.which("ip"):
        return "the command ip is not installed (Debian: package iproute2)"
    try:
        run(["unshare", "--net", "true"])
    except WanFailure as error:
        return f"network namespaces are not allowed here, as in most containers ({error}); use a host or a VM"
    return ""


def lacking_tun() -> str:
    """Why there can be no TUN device here, or nothing."""
    try:
        os.close(os.open(_TUN, os.O_RDWR))
    except OSError as error:
        return f"{_TUN} cannot be opened ({error.strerror}); {_TUN_REMEDY}"
    return ""


def run(command: Sequence[str]) -> str:
    """What the command prints. Raises WanFailure with its complaint."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except OSError as error:
        raise WanFailure(f"`{' '.join(command)}` failed: {error}; install it, and run this as root") from None
    except subprocess.TimeoutExpired as error:
        raise WanFailure(f"`{' '.join(command)}` failed: {error}; try again on a less busy machine") from None
    if done.returncode:
        wrong = f"`{' '.join(command)}` failed: {done.stderr.strip() or done.returncode}"
        raise WanFailure(f"{wrong}; type it as root to see what is in its way")
    return done.stdout


def names(prefix: str) -> dict[str, str]:
    """Names of the namespaces east and west."""
    return {end: f"{prefix}-{end}" for end in ADDRESSES}


def exists(namespace: str) -> bool:
    """Whether there is a namespace of that name."""
    return (_NAMESPACES / namespace).exists()


def add(namespace: str) -> None:
    """Make a namespace whose loopback works."""
    run(["ip", "netns", "add", namespace])
    run(["ip", "-n", namespace, "link", "set", "lo", "up"])


def remove(namespace: str) -> None:
    """Remove the namespace's name, if it is there; processes in it keep the namespace until they end."""
    try:
        if exists(namespace):
            run(["ip", "netns", "delete", namespace])
    except WanFailure:
        if exists(namespace):  # otherwise somebody else has removed it meanwhile
            raise


def bring_up(namespace: str | None, address: str, mtu: int) -> None:
    """Give the line's interface its address and MTU, and have IPv6 send nothing by itself: only packets of ours count.

    `namespace`: None is that of this process.
    """
    ip = ["ip", "-n", namespace] if namespace else ["ip"]
    interface = [*ip, "link", "set", "dev", INTERFACE]
    run([*interface, "mtu", str(mtu), "txqueuelen", str(WAITING_PACKETS), "addrgenmode", "none"])
    run([*interface, "up"])
    run([*ip, "address", "add", f"{address}/{PREFIX}", "dev", INTERFACE])


def dropped(namespace: str) -> int:
    """Packets that the line's interface there dropped for want of room, instead of sending them.

    Read from /proc, without `ip`: whoever watches a line asks ten times a second.
    """
    with inside(namespace):
        lines = Path("/proc/thread-self/net/dev").read_text().splitlines()
    counts = next(line for line in lines if line.lstrip().startswith(f"{INTERFACE}:")).partition(":")[2].split()
    return int(counts[_SENT_DROPPED])


def open_tun(namespace: str) -> int:
    """A TUN device in the namespace; see `open_tun_here`."""
    with inside(namespace):
        return open_tun_here()


def open_tun_here() -> int:
    """The non-blocking descriptor of a new TUN device in this thread's namespace; the device lasts until it is closed.

    TCP comes in packets of many segments: see `bench.wan.segments`.
    """
    try:
        descriptor = os.open(_TUN, os.O_RDWR | os.O_NONBLOCK)
    except OSError as error:
        raise WanFailure(f"{_TUN} cannot be opened: {error.strerror}; {_TUN_REMEDY}") from None
    try:
        fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", INTERFACE.encode(), _IFF_TUN_NO_PI_VNET_HDR))
        fcntl.ioctl(descriptor, _TUNSETOFFLOAD, _TUN_F_CSUM_TSO4_TSO6)
    except OSError as error:
        os.close(descriptor)
        remedy = f"run this as root; if {INTERFACE} is there already, remove it"
        raise WanFailure(f"no TUN device can be made here: {error.strerror}; {remedy}") from None
    return descriptor


@contextlib.contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Within this context, this thread is in the namespace; other threads are not.

    Sockets that it opens here, and processes and threads that it starts, stay there for good. (os.setns is there from
    Python 3.12 only.)
    """
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        enter(_NAMESPACES / namespace)
        try:
            yield
        finally:
            enter(Path(f"/proc/self/fd/{home}"))
    finally:
        os.close(home)


def enter(where: Path) -> None:
    """Move this thread into that network namespace. Raises WanFailure."""
    try:
        namespace = os.open(where, os.O_RDONLY)
    except OSError as error:
        raise WanFailure(
            f"there is no network namespace {where}: {error.strerror}; `isthmus wan up` makes a line's"
        ) from None
    try:
        if _libc.setns(namespace, _CLONE_NEWNET):
            wrong = os.strerror(ctypes.get_errno())
            raise WanFailure(f"the network namespace {where} cannot be entered: {wrong}; run this as root")
    finally:
        os.close(namespace)
