"""What `make bench-iscsi` sends and how it judges: conversations that an array could have, figures, tables."""

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.array import ArrayFailure
from bench.case_results import Figure, Results
from bench.cases import Bench, Case
from bench.goals import Goal
from bench.initiator.initiator import Protocol
from bench.initiator.login import LoginRefused
from bench.initiator.pdu import FINAL, Digests, Opcode, Pdu, Reader, WrongDigest
from bench.load import LoadFailure, Run, answer
from bench.overiscsi import ends, filesystems, images, second_pass, throughput
from bench.overiscsi.__main__ import BENCHMARK
from bench.overiscsi.conversation import Conversation
from bench.overiscsi.stage import Cost

MB = 10**6
CONTENT = bytes(range(256)) * 1000  # 256,000 bytes: the last command and the last PDU are shorter


def read_all(pieces: list[bytes], digests: Digests) -> list[list[Pdu]]:
    """PDUs, piece by piece; the first piece, a login, has no digests."""
    one, other = socket.socketpair()
    threading.Thread(target=one.sendall, args=[b"".join(pieces)], daemon=True).start()
    with one, other:
        reader = Reader(other)
        found: list[list[Pdu]] = []
        for piece in pieces:
            pdus = [reader.read()]
            reader.digests = digests
            while sum(len(part) for pdu in pdus for part in pdu.encode(digests if found else Digests())) < len(piece):
                pdus.append(reader.read())
            found.append(pdus)
        return found


@pytest.mark.parametrize("digest", [False, True], ids=["no digests", "digests"])
def test_a_conversation_writes_the_volume(digest: bool) -> None:
    conversation = Conversation(pdu=8192, command=65536, digest=digest)
    (login,), *commands = read_all(list(conversation.ahead(memoryview(CONTENT))), conversation.digests)
    assert (login.opcode, login.flags) == (Opcode.LOGIN_REQUEST, FINAL | 1 << 2 | 3)
    written = bytearray(len(CONTENT))
    for block, *data in commands:
        start, length = int.from_bytes(block.rest[14:22], "big") * 512, block.word(20)
        assert sum(len(pdu.data) for pdu in data) == length
        assert [pdu.flags for pdu in data] == [0] * (len(data) - 1) + [FINAL]
        for pdu in data:
            at = start + pdu.word(40)
            written[at : at + len(pdu.data)] = pdu.data
    assert written == CONTENT


def test_a_connection_that_ends_early_is_told_to_the_bench_alone(
    tmp_path: Path, free_port: Callable[[], int], capfd: pytest.CaptureFixture[str]
) -> None:
    """As in `bench.load`: with Ctrl-C, which ends the source first, came a traceback of the sink."""
    play = ends.write_down(Conversation(pdu=8192, command=65536), CONTENT, tmp_path / "play")
    with ends.target(play, port := free_port()) as sink:
        socket.create_connection(("127.0.0.1", port)).close()
        with pytest.raises(LoadFailure, match="failed: the connection ended after 0 of"):
            answer(sink)
        assert sink.wait() == 1
    assert capfd.readouterr().err == ""


def test_each_command_is_answered() -> None:
    conversation = Conversation(pdu=8192, command=65536)
    ahead = list(conversation.ahead(memoryview(CONTENT)))
    back = list(conversation.back(len(CONTENT)))
    assert len(back) == len(ahead)
    asked, answered = (read_all(pieces, Digests())[1:] for pieces in (ahead, back))
    for (block, *_), (ready, done) in zip(asked, answered, strict=True):
        assert (ready.opcode, ready.tag, ready.word(44)) == (Opcode.READY, block.tag, block.word(20))
        assert (done.opcode, done.tag) == (Opcode.RESPONSE, block.tag)


def cost(rate: float, cpu: float, identical: bool = True) -> throughput.Timed:
    return throughput.Timed(Run(MB, MB / rate, identical), cpu)


def test_the_medians_are_compared() -> None:
    shape = throughput.SHAPES[0]
    figure = throughput.judged(
        shape,
        "cold",
        [cost(100 * MB, 3), cost(200 * MB, 2), cost(160 * MB, 2)],
        [cost(190 * MB, 2.1), cost(10 * MB, 9), cost(152 * MB, 3)],
    )
    assert figure.values == {"tcp": 160, "iscsi": 152, "ratio": 0.95, "best": 0.95, "CPU ratio": 1.05}
    assert (figure.met, figure.identical) == ("yes", True)
    slow = throughput.judged(shape, "cold", [cost(200 * MB, 2)], [cost(170 * MB, 2)])
    assert slow.met == "NO"
    assert not throughput.judged(shape, "cold", [cost(2, 2)], [cost(2, 2, identical=False)]).identical


def test_a_second_pass_has_to_be_cheap() -> None:
    """And headers, where they can be foreseen."""
    as_before, shuffled = second_pass.PASSES[0], second_pass.PASSES[-1]
    tcp = Cost(100.4, None, True)
    figure = second_pass.judged(as_before, tcp, Cost(0.4, 7.0, True))
    assert [goal.met for goal in figure.goals] == [True, False]
    assert figure.values == {"tcp": 100.4, "iscsi": 0.4, "B/PDU": 7.0}
    dear = second_pass.judged(shuffled, tcp, Cost(1.2, 9.0, True))
    assert dear.goals == (Goal(shuffled.how, 1.2, 1.0, False, "%"),)
    assert dear.met == "NO"
    assert not second_pass.judged(shuffled, tcp, Cost(0.4, None, False)).identical


@pytest.mark.parametrize("error", [ArrayFailure("no room"), LoginRefused(2, 3), WrongDigest("data"), Protocol("odd")])
def test_an_array_that_fails_ends_its_case_only(error: Exception, tmp_path: Path) -> None:
    """A wrong digest ended all of them, with a traceback."""

    def measure(_: Bench) -> Iterator[Figure]:
        raise error

    found = Results({}, 1.0)
    replace(BENCHMARK, cases={"any": Case("", measure)}).measure(Bench(tmp_path, print), ["any"], found)
    assert found.failures == {"any": str(error)}


def test_a_file_system_has_no_goal_but_has_to_arrive() -> None:
    figure = images.judged("small files", "moved", 25.0, 22.0, Cost(17.0, None, True), Cost(16.0, 5.0, False))
    assert figure.values == {"zstd -3": 25.0, "-12 --long": 22.0, "tcp": 17.0, "iscsi": 16.0}
    assert figure.met == "BYTES DIFFER"


@pytest.mark.skipif(bool(filesystems.lacking()), reason=filesystems.lacking())
@pytest.mark.parametrize("change", [filesystems.move, filesystems.revise])
def test_a_changed_file_system_has_most_of_the_files(tmp_path: Path, change: filesystems.Change) -> None:
    """Nothing of what stays is lost, and everything lies elsewhere, or is another version."""
    source = tmp_path / "source"
    source.mkdir()
    for number in range(40):
        (source / f"{number:02}").write_bytes(bytes([number]) * 5000)
    kind = filesystems.Kind("tests", (str(source),), 1, 1 << 20)
    for name, how in (("first", filesystems.keep), ("other", change)):
        filesystems.make(kind, how, tmp_path / f"{name}.image")
    first, other = ((tmp_path / f"{name}.image").read_bytes() for name in ("first", "other"))
    assert len(first) == len(other) == filesystems.SIZE
    assert first != other
    kept = [number for number in range(40) if bytes([number]) * 5000 in first]
    assert len(kept) == 40
    assert sum(bytes([number]) * 5000 in other for number in range(40)) >= 38
