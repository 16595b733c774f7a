"""What a process that was forked for a command does; imported where it is forked from."""

import os
import sys
import time
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import proxy.cli.commands
import proxy.cli.doctor
import proxy.cli.serve
from bench.wan.namespaces import enter
from dedupstore import container_file
from proxy.config.reading import read_draft
from tests.forking import stand_alone

__all__ = ["isthmus"]

# What reads a key is made when it first does, in 15 ms for all keys: here, once for all sites.
for example in Path(__file__).parents[3].glob("deploy/examples/*.toml"):
    read_draft(tomllib.loads(example.read_text()), example)

SEEK_SECONDS = 0.005
"""Until a hard disk has found what it is to read."""


def isthmus(words: tuple[str, ...], out: str, err: str, namespace: str, disk_rate: int) -> None:
    """The command, in that network namespace and with these files. It dies with whoever it was forked for.

    `disk_rate`: bytes a second at which the disk of its store reads; 0: as the machine's does.
    """
    if disk_rate:
        container_file.preadv = partial(_read_slowly, disk_rate)
    os.setsid()
    stand_alone()
    if not os.path.samefile(namespace, "/proc/self/ns/net"):
        enter(Path(namespace))
    _redirect(os.open(os.devnull, os.O_RDONLY), 0)
    _redirect(os.open(out, os.O_WRONLY | os.O_APPEND), 1)
    _redirect(os.open(err, os.O_WRONLY | os.O_APPEND), 2)
    sys.argv = ["isthmus", *words]
    proxy.cli.main()


def _read_slowly(rate: int, file: int, buffers: list[Any], offset: int) -> int:
    time.sleep(SEEK_SECONDS + sum(map(len, buffers)) / rate)
    return os.preadv(file, buffers, offset)


def _redirect(opened: int, standard: int) -> None:
    os.dup2(opened, standard)
    os.close(opened)
