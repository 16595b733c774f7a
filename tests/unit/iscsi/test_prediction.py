"""Steady traffic is a byte a header; what no Predictor writes is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.iscsi.errors import RecordError
from proxy.iscsi.prediction import NEW, PLACES, TASKS, Predictor, Restorer
from proxy.iscsi.record import AS_IS, DATA_MAX, PAYLOAD, PLAIN, TAIL
from tests.memory import tracing
from tests.unit.iscsi.pdus import command, data_out, pdu, write_10
from tests.unit.reduction.sites import noise


def steady(predictor: Predictor, steps: int) -> list[bytes]:
    """Sequential writes of 64 KiB by eight Data-Outs, as one direction."""
    coded = []
    for tag in range(steps):
        coded.append(predictor.predict(b"\0" + command(tag, write_10(tag * 128, 128))))
        for offset in range(0, 65536, 8192):
            coded.append(predictor.predict(bytes((PAYLOAD,)) + data_out(tag, bytes(8192), offset)[:48]))
    return coded


def test_steady_traffic_is_a_byte_a_header() -> None:
    coded = steady(Predictor(), 100)
    assert {len(one) for one in coded[4 * 9 :]} == {1}


def test_a_new_difference_names_the_words_that_are_new() -> None:
    predictor, restorer = Predictor(), Restorer()
    tags = (5, 12, 11)
    section = b"".join(predictor.predict(b"\0" + pdu(0, tag=tag)) for tag in tags)
    assert section == bytes.fromhex("90 00 0011 0480 0105  90 00 0011 00 0107  90 00 0010 10")
    assert restorer.restore(section, 1 << 20) == [b"\0" + pdu(0, tag=tag) for tag in tags]


def test_tasks_that_take_turns_are_known_by_their_tags() -> None:
    """Sequences of eight tasks, a PDU each in turn: each goes on with its own offset and transfer tag."""
    predictor, restorer = Predictor(), Restorer()
    records = []
    for turn in range(4):
        for task in range(8):
            header = bytearray(data_out(task, bytes(8192), 65_536 * (task % 3) + 8192 * turn)[:48])
            header[20:24] = noise(4, task)
            records.append(bytes((PAYLOAD,)) + header)
    coded = [predictor.predict(record) for record in records]
    assert max(map(len, coded[:8])) > 8
    assert [len(one) for one in coded[10:]] == [1] * 22
    assert restorer.restore(b"".join(coded), 1 << 20) == records


def test_tasks_without_end_take_no_memory_without_end() -> None:
    """The one that has waited longest is forgotten, and both sides know that."""
    predictor, restorer = Predictor(), Restorer()
    tags = [*range(3 * TASKS), *range(3 * TASKS)]
    records = [bytes((PAYLOAD,)) + data_out(tag, bytes(4), 7 * tag * tag)[:48] for tag in tags]
    assert restorer.restore(b"".join(map(predictor.predict, records)), 1 << 20) == records


def test_nor_do_they_on_both_sides_alike() -> None:
    """Were nobody to forget anything, both would still agree."""
    predictor = Predictor()
    with tracing() as taken:
        for tag in range(5_000):
            predictor.predict(bytes((PAYLOAD,)) + data_out(tag, bytes(4), 7 * tag)[:48])
    assert taken.kept < 256 << 10


def turn(task: int, own: int) -> bytes:
    """A Data-Out of that task, whose transfer tag is its own."""
    header = bytearray(data_out(task, bytes(8192))[:48])
    header[20:24] = noise(4, own)
    return bytes((PAYLOAD,)) + header


def told(*records: bytes) -> int:
    """Bytes that stand for the last one of these."""
    predictor = Predictor()
    return len([predictor.predict(record) for record in records][-1])


def test_so_many_tasks_are_remembered_and_no_more() -> None:
    """A peer of another release counts likewise, or what it restores is something else."""
    tasks = [turn(task, task) for task in range(TASKS + 2)]
    assert told(*tasks[:-1], tasks[0]) < told(*tasks, tasks[0])


def test_a_new_task_is_compared_with_the_last_one_that_was_new() -> None:
    """Not with one that is remembered, and took its turn meanwhile."""
    before = turn(0, 0), turn(1, 1), turn(0, 2)
    assert told(*before, turn(5, 1)) < told(*before, turn(5, 2))


@pytest.mark.parametrize("other", [b"", bytes((TAIL,)), bytes((TAIL | AS_IS, 7)) + bytes(7)])
def test_a_section_comes_to_as_much_as_it_may_and_no_more(other: bytes) -> None:
    """Each byte may stand for a whole header."""
    predictor = Predictor()
    records = [record for record in (other, *[b"\0" + pdu(0)] * 100) if record]
    section, most = b"".join(map(predictor.predict, records)), sum(map(len, records))
    assert Restorer().restore(section, most) == records
    with pytest.raises(RecordError, match=f"comes to more than {most - 1} bytes"):
        Restorer().restore(section, most - 1)


@given(st.integers(0, 0xFFFF_FFFF) | st.sampled_from([0, 0xFF, 0xFF00_0000, 0xFFFF_FFFF, 0xFF_00FF, 0xFFFF_0000]))
def test_any_word_comes_back(word: int) -> None:
    predictor, restorer = Predictor(), Restorer()
    record = b"\0" + pdu(0, tag=word)
    assert restorer.restore(predictor.predict(record), 1 << 20) == [record]


def test_the_oldest_difference_makes_room() -> None:
    """One that was forgotten is new again."""
    predictor, restorer = Predictor(), Restorer()
    tags = [sum(range(n + 1)) for n in range(PLACES + 2)]
    records = [b"\0" + pdu(0, tag=tag) for tag in tags]
    coded = [predictor.predict(record) for record in records]
    assert all(len(one) > 1 for one in coded)
    again = b"\0" + pdu(0, tag=tags[-1] + 1)  # the step from the second record to the third, long ago
    assert len(predictor.predict(again)) > 1
    assert restorer.restore(b"".join(coded), 1 << 20) == records


@pytest.mark.parametrize(
    "section",
    [
        pytest.param(b"\0", id="an empty place"),
        pytest.param(b"\x7f", id="another"),
        pytest.param(bytes((NEW, 0, 0)), id="cut in its head"),
        pytest.param(bytes((NEW, 0, 0x10, 0)), id="words that do not exist"),
        pytest.param(bytes((NEW, 0, 0, 1, 7, 0)), id="cut in a word"),
        pytest.param(bytes((NEW, 0, 0, 1)), id="cut before a word"),
        pytest.param(bytes((NEW, 0, 0, 1, 0x2F, 0, 0, 0, 0)), id="a word of more than four bytes"),
        pytest.param(bytes((NEW, 0, 0, 1, 0x20)), id="a word that says more than there is to say"),
        pytest.param(bytes((NEW, 0, 0, 1, 8, 1)), id="byte 0 twice"),
        pytest.param(bytes((NEW, 0, 0, 2, 1, 1)), id="cut in its data"),
        pytest.param(bytes((NEW | PAYLOAD, 0, 0, 0)), id="payload of a PDU without"),
        pytest.param(bytes((NEW | PAYLOAD | AS_IS, 0, 0, 2, 1, 1)), id="a tail that it does not carry"),
        pytest.param(bytes((NEW, 0, 0, 2, 15)) + (DATA_MAX + 1).to_bytes(4) + bytes(DATA_MAX + 1), id="long data"),
        pytest.param(bytes((TAIL | AS_IS,)), id="a tail without its length"),
        pytest.param(bytes((TAIL | AS_IS, 0)), id="a tail of nothing"),
        pytest.param(bytes((TAIL | AS_IS, 8)) + bytes(8), id="a long tail"),
        pytest.param(bytes((TAIL | AS_IS, 2, 0)), id="cut in a tail"),
        pytest.param(bytes((PLAIN | 1,)), id="unknown"),
        pytest.param(b"\xff", id="unknown, too"),
    ],
)
def test_what_no_predictor_writes(section: bytes) -> None:
    with pytest.raises(RecordError):
        Restorer().restore(section, 1 << 20)
