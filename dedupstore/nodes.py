"""Checks whether the nodes of LMDB's pages lie one behind the other, as LMDB leaves them; its own walk does not.

A node says how long its key and its value are. If it says too much, it seems to be fine as long as it is only read; but
when it is deleted, LMDB moves what lies before it by that length, over other nodes. (LMDB's data format 0.9.)
"""

import os
from collections.abc import Iterator
from struct import Struct, unpack_from
from typing import BinaryIO

_HEADER = Struct("=10xHHH")
"""Header of a page: flags, the offset at which the list of its nodes ends, and that at which the first node begins."""
_HEADER_BYTES = 16
_NODE = Struct("=HHHH")
"""Head of a node: length of the value, low and high half (in a branch: number of the page it leads to), flags, length
of the key."""
_PAGE_NUMBER = Struct("=Q")
_BRANCH = 0x01
_LEAF = 0x02
_BIG = 0x01
_SUBTREE = 0x02
_ROOT = 40
"""Offset in a subtree's record of the number of its first page."""
_NONE = (1 << 64) - 1


def gaps(file: BinaryIO, page_bytes: int, roots: list[int]) -> Iterator[int]:
    """Numbers of the pages below these roots whose nodes overlap, or have gaps between them.

    The file must have been walked over before: the numbers of pages in it are taken to be right.
    """
    todo = [page for page in roots if page != _NONE]
    while todo:
        page = todo.pop()
        content = os.pread(file.fileno(), page_bytes, page * page_bytes)
        flags, end, first = _HEADER.unpack_from(content)
        starts = unpack_from(f"={(end - _HEADER_BYTES) // 2}H", content, _HEADER_BYTES)
        if flags & _BRANCH:
            nodes = [_branch(content, start) for start in starts]
        elif flags & _LEAF:
            nodes = [_leaf(content, start) for start in starts]
        else:
            continue
        todo += [below for _, below in nodes if below != _NONE]
        # From the first node on, each one begins where another one ends, and the last one ends with the page.
        if sorted([*starts, page_bytes]) != sorted([first, *(after for after, _ in nodes)]):
            yield page


def _branch(content: bytes, start: int) -> tuple[int, int]:
    """The offset at which the node ends, and the number of the page to which it leads."""
    low, high, highest, key = _NODE.unpack_from(content, start)
    return start + _even(_NODE.size + key), low | high << 16 | highest << 32


def _leaf(content: bytes, start: int) -> tuple[int, int]:
    """As `_branch`; the page is the first one of the node's subtree, or _NONE if it has none."""
    low, high, flags, key = _NODE.unpack_from(content, start)
    value = start + _NODE.size + key
    below = _PAGE_NUMBER.unpack_from(content, value + _ROOT)[0] if flags & _SUBTREE else _NONE
    return start + _even(_NODE.size + key + (_PAGE_NUMBER.size if flags & _BIG else low | high << 16)), below


def _even(length: int) -> int:
    return length + (length & 1)
