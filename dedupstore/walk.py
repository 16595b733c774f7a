"""Checks every page of an index that nobody has open, to see whether LMDB may open it (FORMAT.md, `index/`)."""

import os
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from struct import error as StructError
from typing import BinaryIO

from lmdb import verify as offline

from dedupstore.nodes import gaps

_META = Struct("=40xIH34xQ40xQ8xQ")
"""LMDB's first two pages (`MDB_meta` behind a page's header) each have: length of a page, flags of the list of free
pages, the first page of that list and of everything else, and the number of the transaction. The page with the greater
number counts."""
_DUPSORT = 0x04
"""With this flag LMDB would look in the list of free pages for several values of a key, and end the process at once."""


def problems(path: Path) -> list[str]:
    """What a walk over every page of the index in that directory finds wrong; takes 2 to 4 s for 100 MB.

    LMDB is not used for it: it trusts its file, and may end the process if a page is damaged. Nothing may write
    meanwhile. An index that does not exist, or is empty, has no problems. Raises OSError if it cannot be read.
    """
    try:
        with open(path / "data.mdb", "rb") as file:
            length = os.fstat(file.fileno()).st_size
            os.posix_fadvise(file.fileno(), 0, length, os.POSIX_FADV_WILLNEED)
            found: list[str] = offline.verify(os.fspath(path / "data.mdb")) if length else []  # type: ignore[no-untyped-call]
            if length and not found:
                found = list(_unseen(file))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return []  # opening it will show what is wrong
    except (offline.VerifyError, StructError) as error:
        return [str(error)]
    return found


def _unseen(file: BinaryIO) -> Iterator[str]:
    """What is wrong where the walk does not look. The walk must have found nothing: page numbers are right then."""
    page_bytes = _META.unpack(os.pread(file.fileno(), _META.size, 0))[0]
    metas = [_META.unpack(os.pread(file.fileno(), _META.size, at)) for at in (0, page_bytes)]
    _, flags, free, first, _ = max(metas, key=lambda meta: meta[-1])
    if flags & _DUPSORT:
        yield "the list of free pages has a flag that it never has"
    for page in gaps(file, page_bytes, [free, first]):
        yield f"the nodes of page {page} do not lie one behind the other"
