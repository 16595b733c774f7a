"""What an operator is told when something cannot be done: one clear message and an exit code.

Everything below the command line raises errors of its own; each is translated once, where it becomes an exit, into an
`OperatorError`. No traceback reaches an operator (see `proxy.cli`).
"""

import errno
import os
from enum import IntEnum
from pathlib import Path

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Error numbers of a write for which there is no more room; that is no defect of ours."""


class ExitCode(IntEnum):
    """How an `isthmus` command ends. These numbers are public interface; see `meaning`."""

    OK = 0
    FAILED = 1
    USAGE = 2
    CONFIGURATION = 3
    UNREACHABLE = 4
    STORE = 5
    LISTEN = 6
    DEFECT = 70
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """One sentence for the documents."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.OK: "done; for `serve`: drained after SIGTERM or SIGINT",
    ExitCode.FAILED: "it failed: data differs, chunks failed verification, `doctor` found a problem, the running site"
    " or `pair` refuses, files that `keygen` would make exist already, something cannot be read or written, the site's"
    " own certificate is not valid yet by this host's clock, or a part of Isthmus is missing",
    ExitCode.USAGE: "wrong usage, and nothing was done: an unknown command, option or argument, a value that is not"
    " understood, no confirmation; `init` found mistakes in its options, or one of its files exists already; or this"
    " host lacks what is needed, such as root for an emulated line",
    ExitCode.CONFIGURATION: "the configuration has mistakes; all of them are listed on stderr",
    ExitCode.UNREACHABLE: "the running site does not answer at its status listener, or another site answers there",
    ExitCode.STORE: "the store is in use by another process, cannot be opened, or is in memory",
    ExitCode.LISTEN: "a listen address is in use, is not an address of this host, or may not be used by this user",
    ExitCode.DEFECT: "an unexpected error, that is, a defect of Isthmus; with ISTHMUS_DEBUG=1 the command shows where",
    ExitCode.INTERRUPTED: "interrupted from the keyboard; or, while it writes files, by SIGTERM or because its terminal"
    " was closed",
}


class OperatorError(Exception):
    """Something that the operator can put right: `message` names the thing, the place and the remedy."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def way_to_write(file: Path, error: OSError) -> str:
    """What lets this user write a file, which gave that error. The user by number: in a container names mean nothing,
    and it is its volumes that have to be put right."""
    directory = file.absolute().parent
    if isinstance(error, PermissionError):
        return f"let user {os.geteuid()} write in {directory}"
    if error.errno == errno.EROFS:
        return f"mount {directory} writable (in a container: docker run with -v, as for init)"
    return "make room there" if error.errno in NO_ROOM else "see what is there"
