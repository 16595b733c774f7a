"""The command `isthmus wan`: a line that stays up between commands, kept by a process in the background.

The runtime directory has the socket that the process listens on, and its log; both are named by the prefix of the
namespaces' names. All functions raise WanFailure, or OperatorError (USAGE) if no line can be emulated here or nothing
was asked for.
"""

import contextlib
import fcntl
import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.wan import namespaces
from bench.wan.errors import WanFailure, WrongSetting
from bench.wan.settings import WAYS, Line, Way
from bench.wan.stats import MEANINGS, OF_TUN, SETTINGS
from bench.wan.task import Task
from bench.wan.wan import PATIENCE, Wan, start
from proxy.cli.ending import ended_in_order
from proxy.cli.loading import load
from proxy.errors import ExitCode, OperatorError

RUNTIME = Path("/run/isthmus-wan")


def up(prefix: str, backend: str, mtu: int, texts: Mapping[str, str]) -> None:
    """Start a line and say how to use it."""
    line = Line.of(mtu, **texts)
    _ready(prefix)
    try:
        RUNTIME.mkdir(parents=True, exist_ok=True, mode=0o755)
    except OSError as error:
        raise WanFailure(f"{RUNTIME} cannot be made: {error.strerror}; make it, as root") from None
    with _after_others():
        if _connect(prefix):
            remedy = f"`isthmus wan down --prefix {prefix}` ends it, another --prefix makes another"
            raise WanFailure(f"the line {prefix} is up already; {remedy}")
        socket_of(prefix).unlink(missing_ok=True)
        task = Task(prefix, line.as_dict(), backend=backend, path=str(socket_of(prefix)))
        _, control = start(task, _log_of(prefix))
    with control:
        wan = Wan(prefix, control)
        made = wan.ask({"do": "show"})
    print(f"The line {prefix} is up, made by {made['backend']}. Its ends are network namespaces:")
    for end, address in wan.addresses.items():
        print(f"  {end}  {address}  {' '.join(wan.command(end))} COMMAND")


def down(prefix: str) -> None:
    """End the line, and remove whatever is left of it, also after a crash."""
    _ready(prefix)
    control = _connect(prefix)
    left = [name for name in namespaces.names(prefix).values() if namespaces.exists(name)]
    if control:
        with control, contextlib.suppress(WanFailure):  # it ends without an answer
            Wan(prefix, control).ask({"do": "down"})
    for name in left:
        namespaces.remove(name)
    socket_of(prefix).unlink(missing_ok=True)
    _log_of(prefix).unlink(missing_ok=True)
    print(f"The line {prefix} is down." if left or control else f"There was no line {prefix}.")


def change(prefix: str, toward: str, texts: Mapping[str, str]) -> None:
    """Change settings of a line that is up."""
    if not texts:
        raise OperatorError("nothing is to be set; name a setting, such as --loss 1%", ExitCode.USAGE)
    Way.of(**texts)  # settings that are wrong by themselves are so whatever the line has now
    with _wan(prefix) as wan:
        Line.from_dict(wan.ask({"do": "show"})["line"]).changed(toward, **texts)  # may be wrong together
        wan.set(toward, **texts)


def outage(prefix: str, toward: str, out: bool) -> None:
    """Begin or end an outage."""
    with _wan(prefix) as wan:
        wan.outage(out, toward)


def stats(prefix: str, as_json: bool) -> None:
    """Show the settings and counters."""
    with _wan(prefix) as wan:
        found, made = wan.stats(), wan.ask({"do": "show"})
    if as_json:
        print(json.dumps({**made, "ways": found}, indent=2))
        return
    print(f"line {prefix}, made by {made['backend']}, MTU {made['line']['mtu']}")
    print(f"{'toward':16}{'west':>15}{'east':>15}")
    _rows(made["line"], SETTINGS)
    print()
    _rows(found, {**MEANINGS, **OF_TUN})


def test(backend: str, as_json: bool) -> int:
    """Measure how true lines are here; the exit code."""
    _possible()
    truth = load("bench.wan.truth")  # its tables take longer to load than other commands take
    with ended_in_order():
        code: int = truth.run(backend, as_json)
    return code


@contextlib.contextmanager
def _after_others() -> Iterator[None]:
    """Wait until no other line is coming up: two of one name would each remove the other's socket and namespaces."""
    directory = os.open(RUNTIME, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


def _rows(values: Mapping[str, Any], meanings: Mapping[str, str]) -> None:
    for name, meaning in meanings.items():
        if name in values["west"]:
            print(f"{name:16}" + "".join(f"{_figure(values[way][name]):>15}" for way in WAYS) + f"  {meaning}")


def _figure(value: float) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


@contextlib.contextmanager
def _wan(prefix: str) -> Iterator[Wan]:
    _named(prefix)
    control = _connect(prefix)
    if control is None:
        _possible()
        remedy = f"`isthmus wan up --prefix {prefix}` makes it, another --prefix names another"
        raise WanFailure(f"there is no line {prefix}; {remedy}{_end(prefix)}")
    with control:
        yield Wan(prefix, control)


def _end(prefix: str) -> str:
    """Why the last line of that name ended by itself, from its log; empty if none did."""
    log = _log_of(prefix)
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return f" (the last one ended: {lines[-1]})" if lines else ""


def _named(prefix: str) -> None:
    """Raises WrongSetting if no line can have that name."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,31}", prefix):
        raise WrongSetting("prefix", f"{prefix!r} is not 1 to 32 of a-z, 0-9 and -; choose another")


def _ready(prefix: str) -> None:
    """Raises WrongSetting if no line can have that name, OperatorError if there can be no lines here."""
    _named(prefix)
    _possible()


def _possible() -> None:
    """Raises OperatorError, as `isthmus bench` does, where there can be no lines."""
    if reason := namespaces.lacking():
        raise OperatorError(f"no line can be emulated here: {reason}", ExitCode.USAGE)


def _connect(prefix: str) -> socket.socket | None:
    """A connection to the keeper, or None if it does not live."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control.settimeout(PATIENCE)
    try:
        control.connect(str(socket_of(prefix)))
    except OSError:
        control.close()
        return None
    return control


def socket_of(prefix: str) -> Path:
    """Where the keeper of a line listens."""
    return RUNTIME / f"{prefix}.socket"


def _log_of(prefix: str) -> Path:
    return RUNTIME / f"{prefix}.log"
