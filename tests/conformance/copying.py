"""Copies of closed stores, and of those whose process is to have died: files of slots that are mostly holes."""

import errno
import os
import shutil
from pathlib import Path


def copy_with_holes(directory: Path, copy: Path) -> None:
    """All files, without the zeros that no disk keeps."""
    shutil.copytree(directory, copy, copy_function=_copy_file)


def _copy_file(source: str, copy: str) -> None:
    with open(source, "rb") as old, open(copy, "wb") as new:
        size = os.fstat(old.fileno()).st_size
        new.truncate(size)
        end = 0
        while (start := _next_data(old.fileno(), end, size)) < size:
            end = os.lseek(old.fileno(), start, os.SEEK_HOLE)
            new.seek(start)
            new.write(os.pread(old.fileno(), end - start, start))


def _next_data(file: int, after: int, size: int) -> int:
    """Where the next byte lies that the disk keeps; `size` if there is none."""
    try:
        return os.lseek(file, after, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return size
