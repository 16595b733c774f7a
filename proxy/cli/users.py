"""Whose a file is, where only its owner can do what is asked, or can see what matters."""

import os
import pwd
from pathlib import Path

from proxy.text import typed


def other_owner(path: Path) -> str | None:
    """The user whose that file or directory is, if that is another one than this process's and can be told."""
    try:
        number = path.stat().st_uid
    except OSError:
        return None
    return None if number == os.geteuid() else _name(number)


def as_user(owner: str, *command: object) -> str:
    """What to type, as root, to have that user do it. `command`: its words."""
    line = typed(*command)
    if owner.isdecimal():  # a container's, which this host has no name for
        return f"run this as user {owner}: {line}"
    return f"run this as {owner}: runuser -u {owner} -- {line}"


def _name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
