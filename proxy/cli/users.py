"""Who owns a file, for commands that only its owner can carry out, or that see less for anybody else."""

import os
import pwd
from pathlib import Path

from proxy.text import typed


def other_owner(path: Path) -> str | None:
    """The owner of that file or directory; None if it is this process's user, or cannot be found out."""
    try:
        number = path.stat().st_uid
    except OSError:
        return None
    return None if number == os.geteuid() else _name(number)


def as_user(owner: str, *command: object) -> str:
    """What is to be typed to have that user run a command, whose words are given. Only root can become another user."""
    line = typed(*command)
    if owner.isdecimal():  # a container's user, for which this host has no name
        return f"run this as user {owner}: {line}"
    if owner == "root":
        return f"run this as root: {line}"
    allowed = "" if os.geteuid() == 0 else ", which root can"
    return f"run this as {owner}{allowed}: runuser -u {owner} -- {line}"


def _name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
