"""The alternatives to Isthmus: tunnels from the east end of a line to a sink at its west end.

Each is a context manager that yields the address at the east end to which the source connects. A user's own command is
started at both ends by a shell, with these variables:

    ISTHMUS_END      east or west
    ISTHMUS_LISTEN   where it has to listen at the east end, as host:port
    ISTHMUS_TUNNEL   an address of the west end that the east end reaches over the line, for its own use
    ISTHMUS_TARGET   where what arrives has to go at the west end
"""

import contextlib
import getpass
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.ending import bound
from bench.processes import output_of, until
from bench.sites import Address, SiteFailure, free_port, keygen
from bench.wan import Wan

PATIENCE_SECONDS = 90.0
LOOPBACK = "127.0.0.1"
PRIVILEGE_SEPARATION = Path("/run/sshd")
"""The directory that Debian's service makes before it starts sshd."""
ALIVE_SECONDS = 3
"""Between sshd's questions; three unanswered end a connection's process, also if we and the line were killed."""
SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
STUNNEL = shutil.which("stunnel") or shutil.which("stunnel4") or "stunnel"


def lacking_ssh() -> str:
    """Why there can be no SSH tunnel here, or nothing."""
    there = shutil.which("ssh") and Path(SSHD).exists()
    return "" if there else "ssh and sshd are not installed (Debian: apt install openssh-client openssh-server)"


def lacking_stunnel() -> str:
    """Why stunnel cannot be used here, or nothing."""
    return "" if shutil.which(STUNNEL) else "stunnel is not installed (Debian: apt install stunnel4)"


@contextmanager
def plain(wan: Wan, directory: Path, to: Address) -> Iterator[Address]:
    """No tunnel."""
    yield to


@contextmanager
def ssh(wan: Wan, directory: Path, to: Address) -> Iterator[Address]:
    """`ssh -C -L`, with keys of its own and no configuration of this host's. Raises SiteFailure."""
    port, entrance = free_port(), free_port()
    for name in ("host", "user"):
        output_of(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)], SiteFailure)
    settings = {
        "Port": port,
        "ListenAddress": wan.addresses["west"],
        "HostKey": directory / "host",
        "AuthorizedKeysFile": directory / "user.pub",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "yes",
        "ClientAliveInterval": ALIVE_SECONDS,
    }
    (directory / "sshd.conf").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    unknown = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "BatchMode=yes", "ExitOnForwardFailure=yes"]
    options = [word for option in unknown for word in ("-o", option)]
    forward = ["-N", "-C", "-L", f"{LOOPBACK}:{entrance}:{to[0]}:{to[1]}"]
    where = ["-F", "none", "-i", str(directory / "user"), "-p", str(port), wan.addresses["west"]]
    with ExitStack() as stack:
        stack.enter_context(_privilege_separation())
        sshd = [SSHD, "-D", "-e", "-f", str(directory / "sshd.conf")]
        stack.enter_context(_listening(wan, "west", sshd, directory / "sshd.log", port))
        client = ["ssh", "-l", getpass.getuser(), *options, *forward, *where]
        stack.enter_context(_listening(wan, "east", client, directory / "ssh.log", entrance))
        yield LOOPBACK, entrance


@contextmanager
def stunnel(wan: Wan, directory: Path, to: Address) -> Iterator[Address]:
    """stunnel at both ends, with a certificate of its own. Raises SiteFailure."""
    port, entrance = free_port(), free_port()
    keygen("west", directory)
    far, near = f"{wan.addresses['west']}:{port}", f"{LOOPBACK}:{entrance}"
    common = "foreground = yes\npid =\nsslVersionMin = TLSv1.3\n[tunnel]\n"
    key = f"cert = {directory / 'west.crt'}\nkey = {directory / 'west.key'}\n"
    trust = f"client = yes\nverifyPeer = yes\nCAfile = {directory / 'west.crt'}\n"
    (directory / "west.conf").write_text(f"{common}{key}accept = {far}\nconnect = {to[0]}:{to[1]}\n")
    (directory / "east.conf").write_text(f"{common}{trust}accept = {near}\nconnect = {far}\n")
    with ExitStack() as stack:
        for end, where in (("west", port), ("east", entrance)):
            command = [STUNNEL, str(directory / f"{end}.conf")]
            stack.enter_context(_listening(wan, end, command, directory / f"{end}.log", where))
        yield LOOPBACK, entrance


@contextmanager
def own(command: str, wan: Wan, directory: Path, to: Address) -> Iterator[Address]:
    """A user's own command. Raises SiteFailure."""
    entrance = free_port()
    variables = {
        "ISTHMUS_LISTEN": f"{LOOPBACK}:{entrance}",
        "ISTHMUS_TUNNEL": f"{wan.addresses['west']}:{free_port()}",
        "ISTHMUS_TARGET": f"{to[0]}:{to[1]}",
    }
    shell = ["sh", "-c", command]
    with ExitStack() as stack:
        west, east = ({**variables, "ISTHMUS_END": end} for end in ("west", "east"))
        stack.enter_context(_started(wan, "west", shell, directory / "west.log", west))
        stack.enter_context(_listening(wan, "east", shell, directory / "east.log", entrance, east))
        yield LOOPBACK, entrance


@contextmanager
def _listening(
    wan: Wan, end: str, command: Sequence[str], log: Path, port: int, variables: Mapping[str, str] | None = None
) -> Iterator[None]:
    """A process that has begun to listen. Raises SiteFailure."""
    with _started(wan, end, command, log, variables or {}) as process:
        listens = until(lambda: process.poll() is not None or wan.listens(end, port), PATIENCE_SECONDS, 0.1)
        if not listens or process.poll() is not None:
            words = " ".join(log.read_text(errors="replace").split())[-300:] or "it says nothing"
            what = "has ended" if process.poll() is not None else f"does not listen on port {port}"
            raise SiteFailure(f"`{' '.join(command)}` {what} at the {end} end: {words}")
        yield


@contextmanager
def _started(
    wan: Wan, end: str, command: Sequence[str], log: Path, variables: Mapping[str, str]
) -> Iterator["subprocess.Popen[bytes]"]:
    """A process at that end, with whatever it starts; all ended afterwards."""
    with log.open("wb") as output, wan.inside(end):
        process = subprocess.Popen(
            bound(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **variables},
            start_new_session=True,
        )
    try:
        yield process
    finally:
        own_groups = _descendants(process.pid)  # as sshd's connections have, which would not see that the line is gone
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        for pid in own_groups:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def _descendants(pid: int) -> list[int]:
    """Processes that it has started, and those that these have."""
    found: list[int] = []
    with contextlib.suppress(OSError):  # it has ended
        for thread in Path(f"/proc/{pid}/task").iterdir():
            children = [int(child) for child in (thread / "children").read_text().split()]
            found += [each for child in children for each in (child, *_descendants(child))]
    return found


@contextmanager
def _privilege_separation() -> Iterator[None]:
    """The empty directory that sshd insists on, for as long as it is needed."""
    made = not PRIVILEGE_SEPARATION.exists()
    PRIVILEGE_SEPARATION.mkdir(mode=0o755, exist_ok=True)
    try:
        yield
    finally:
        if made:
            with contextlib.suppress(OSError):  # somebody else's sshd may use it by now
                PRIVILEGE_SEPARATION.rmdir()
