"""Whatever two arrays say to each other, in whatever pieces, through encoder and decoder exactly that arrives.

Stores lose chunks meanwhile, so that payload has to be asked for; who says what next waits until it has come.
"""

import random
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.iscsi.pdu import Sender
from proxy.reduction.batch import BATCH_PLAIN_MAX
from tests.property.conversations import Conversation, conversations
from tests.unit.iscsi.pdus import command, data_in, data_out, read_10, response, write_10
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import Site, noise, two_sites
from tests.unit.reduction.span_sites import Direction, Talk

VOLUME = noise(40_000, 2) + bytes(9000) + noise(17_000, 3)
PAGES = len(VOLUME) // 512
SIZES = st.sampled_from([1, 13, 49, 512, 5000, 1 << 20])
LARGER = st.sampled_from([13, 49, 512, 5000, 1 << 20])
"""For volumes, which byte by byte would take a minute."""


@dataclass(frozen=True)
class Move:
    """A command over the volume with its data, and what goes wrong on the way."""

    page: int
    pages: int
    most: int
    """Data of a PDU."""
    read: bool
    pause: bool
    lost: int | None
    """One of the far store's chunks, which it loses before."""


moves = st.builds(
    Move,
    st.integers(0, PAGES - 1),
    st.integers(1, 40),
    st.sampled_from([100, 512, 4096, 8192, 70_000]),
    st.booleans(),
    st.booleans(),
    st.none() | st.integers(0, 1000),
)


@settings(max_examples=30)
@given(st.lists(moves, max_size=12), st.booleans(), st.booleans(), LARGER)
def test_volumes_are_written_and_read(steps: list[Move], header: bool, data: bool, size: int) -> None:
    """Twice: the second time what was stored is referred to, or has been lost."""
    near, far = two_sites()
    for _ in range(2):
        talk = Talk(near, far)
        talk.log_in(header, data)
        for tag, step in enumerate(steps):
            lose(step.lost, near, far)
            for sender, content in said(tag, step, header, data):
                say(talk.direction(sender), content, size, pause=step.pause)
        talk.end()
        assert talk.fell == []


EXTENTS = st.lists(st.tuples(st.integers(0, 380), st.integers(0, 400), st.integers(1, 200)), min_size=1, max_size=6)
"""Pages from which, to which and how many."""


@settings(max_examples=100)
@given(st.integers(0, 1 << 32), EXTENTS)
def test_what_moves_over_the_volume(seed: int, extents: list[tuple[int, int, int]]) -> None:
    """Chunks end where a command breaks off, so some that are stored are tiny; then other commands bring the data."""
    draw = random.Random(seed)
    before = noise(200 << 10, seed)
    ends = [*sorted(draw.sample(range(1, 400), 40)), 400]
    scattered = [(at * 512, before[at * 512 : end * 512]) for at, end in pairwise([0, *ends])]
    draw.shuffle(scattered)
    near, far = two_sites()
    for writes in (scattered, [(to * 512, before[at * 512 : (at + n) * 512]) for at, to, n in extents]):
        talk = Talk(near, far)
        talk.log_in()
        for tag, (at, content) in enumerate(writes):
            begin = command(tag, write_10(at // 512, len(content) // 512))
            say(talk.out, begin + data_out(tag, content), 1 << 20, pause=False)
        talk.end()
        assert talk.fell == []


@settings(max_examples=30)
@given(conversations(), SIZES, st.booleans())
def test_any_pdus(conversation: Conversation, size: int, pause: bool) -> None:
    """Also ones that have no sense, or that make the rest of a direction go as it is."""
    (header, data), steps = conversation
    talk = Talk(*two_sites())
    talk.log_in(header, data)
    for sender, content in steps:
        say(talk.direction(sender), content, size, pause=pause)
    talk.end()


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(Sender), st.binary(min_size=1, max_size=200)), max_size=6), SIZES)
def test_any_bytes(steps: list[tuple[Sender, bytes]], size: int) -> None:
    """What is not iSCSI arrives by the next pause, and whatever it is by the time that the source is given up."""
    talk = Talk(*two_sites())
    for sender, content in steps:
        direction = talk.direction(sender)
        direction.say(content, size)
        held = len(direction.sent) - len(direction.received)
        assert not held or direction.sent[0] in (0x23, 0x3F, 0x43)
        direction.give_up()
        assert direction.received == direction.sent
    talk.end()


def said(tag: int, step: Move, header: bool, data: bool) -> list[tuple[Sender, bytes]]:
    """Command, data, status."""
    content = VOLUME[step.page * 512 : (step.page + step.pages) * 512]
    cdb = (read_10 if step.read else write_10)(step.page, len(content) // 512)
    pieces = [(at, content[at : at + step.most]) for at in range(0, len(content), step.most)]
    agreed: dict[str, Any] = {"header_digest": header, "data_digest": data}
    begin = command(tag, cdb, **agreed)
    if step.read:
        answer = [data_in(tag, piece, at, status=at + len(piece) == len(content), **agreed) for at, piece in pieces]
        return [(Sender.INITIATOR, begin), (Sender.TARGET, b"".join(answer))]
    out = [data_out(tag, piece, at, **agreed) for at, piece in pieces]
    return [(Sender.INITIATOR, begin + b"".join(out)), (Sender.TARGET, response(tag, **agreed))]


def say(direction: Direction, content: bytes, size: int, *, pause: bool) -> None:
    """In reads of that size, with a pause after each, every third of which is long, or after the last."""
    for at in range(0, len(content), size):
        direction.write(content[at : at + size])
        if pause:
            direction.pause()
        if at % 3 == 0:
            direction.encoder.shrink()
    direction.pause()
    direction.settle()
    assert all(batch.plain <= BATCH_PLAIN_MAX for batch in direction.batches)


def lose(which: int | None, *sites: Site) -> None:
    """Each site loses one of its chunks, unless something still refers to it."""
    for site in sites if which is not None else ():
        store: ShelfStore = site.store
        names = store.names
        place = store.find(names[which % len(names)]) if which is not None and names else None
        if place is not None and which is not None and not store.pins[place[0]]:
            store.lose(names[which % len(names)])
