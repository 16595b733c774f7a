"""A host of its own as far as an operator can tell: network, processes, and what is written below /etc, /opt and so on.

Its files are this machine's with an overlay above them, which goes with the host. It has no systemd: `systemctl` is a
stand-in that starts what the unit's ExecStart says, as the unit's user, and knows the verbs of OPERATIONS.md.
"""

import contextlib
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from bench.wan import Wan

WRITTEN = ("etc", "opt", "usr/local", "var/lib")
SYSTEMCTL = r"""#!/bin/sh -e
verb=$1; shift
[ "$1" != --now ] || shift
site=${1#isthmus@}
value() { sed -n "s/^$1=//p" /etc/systemd/system/isthmus@.service | sed "s/%i/$site/g"; }
process=/var/lib/$site.process
start() {
    user=$(value User)
    export STATE_DIRECTORY=/var/lib/$(value StateDirectory)
    install -d -m 0700 -o $user -g $user $STATE_DIRECTORY
    setsid setpriv --reuid $user --regid $user --init-groups $(value ExecStart) </dev/null >>/var/lib/$site.log 2>&1 &
    echo $! >$process
}
stop() {
    kill -TERM $(cat $process)
    while kill -0 $(cat $process) 2>/dev/null; do sleep 0.1; done
}
case $verb in
daemon-reload) ;;
enable) start ;;
reload) kill -HUP $(cat $process) ;;
restart) stop; start ;;
disable) stop ;;
*) echo "systemctl: $verb is not known here" >&2; exit 2 ;;
esac
"""
INIT = "import os, time\nprint('ready', flush=True)\nwhile True:\n try: os.wait()\n except OSError: time.sleep(0.1)\n"
"""What no parent waits for any more is this process's."""


@dataclass(frozen=True)
class Host:
    """A host that is up."""

    name: str
    root: int
    """Its first process."""
    files: Path
    """The directory in which commands are typed."""

    def type(self, text: str, *, online: bool = False, status: tuple[int, ...] = (0,)) -> str:
        """Type lines into a shell and return what they print; the last status is one of those.

        `online`: with this machine's network instead of the host's.
        """
        enter = ["nsenter", "--target", str(self.root), "--mount", "--pid", *([] if online else ["--net"])]
        bash = ["bash", "-e" if status == (0,) else "-u", "-c", f"cd '{self.files}'\n{text}"]
        lazily = {**os.environ, "PIP_NO_COMPILE": "1"}  # what is never imported need not be compiled
        done = subprocess.run([*enter, *bash], capture_output=True, text=True, check=False, timeout=300, env=lazily)
        said = f"on {self.name}:\n{text}\nended with status {done.returncode}:\n{done.stdout}{done.stderr}{self.log()}"
        assert done.returncode in status, said
        return done.stdout

    def log(self) -> str:
        """The end of its site's log."""
        log = Path("/proc", str(self.root), "root", "var", "lib", f"{self.name}.log")
        return log.read_text(errors="replace")[-2000:] if log.exists() else ""


def hidden() -> list[str]:
    """Directories above Python that only their owner may enter; what is mounted above them lets the site's user in."""
    above = reversed(Path(sys.base_prefix).parents)
    return [str(path).lstrip("/") for path in above if not path.stat().st_mode & stat.S_IXOTH]


@contextlib.contextmanager
def host(wan: Wan, name: str, shared: Path, files: Path) -> Iterator[Host]:
    """The host at that end of the line; `shared` is its /opt/isthmus. Skips the test where there can be none."""
    with tempfile.TemporaryDirectory(prefix="isthmus-host-") as directory:
        setting_up = [f"mount -t tmpfs none {directory}", f"mkdir {directory}/up {directory}/work"]
        for path in (*WRITTEN, *hidden()):
            over = f"{directory}/up/{path}", f"{directory}/work/{path}"
            options = f"lowerdir=/{path},upperdir={over[0]},workdir={over[1]}"
            setting_up += [f"mkdir -p {over[0]} {over[1]}", f"mount -t overlay overlay -o {options} /{path}"]
        setting_up += [
            f"mkdir -p /opt/isthmus && mount --bind {shared} /opt/isthmus",
            "rm -rf /etc/isthmus",
            f"cat >/usr/local/bin/systemctl <<'END'\n{SYSTEMCTL}END",
            "chmod +x /usr/local/bin/systemctl",
            f'exec {sys.executable} -c "$0"',
        ]
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        with wan.inside(name):
            process = subprocess.Popen(
                [*apart, "sh", "-ec", "\n".join(setting_up), INIT],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        with process:
            try:
                assert process.stdout is not None
                assert process.stderr is not None
                if process.stdout.readline() != "ready\n":
                    pytest.skip(f"no host of its own can be had here: {process.stderr.read().strip()}")
                (root,) = psutil.Process(process.pid).children()
                yield Host(name, root.pid, files)
            finally:
                process.kill()
