"""What goes wrong between initiator and target looks the same through the pair: refusals, aborts, resets, bad requests.

Each scenario writes down what the initiator is told, status by status; once directly, once through, word for word.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bench.array import IQN
from bench.initiator import cdb
from bench.initiator.initiator import Initiator
from bench.initiator.login import FULL_FEATURE, OPERATIONAL, LoginRefused, Wishes, encode_keys
from bench.initiator.pdu import FINAL, NO_TAG, Opcode, Pdu, lun_field, words
from bench.sites import free_port
from tests.integration.bed.contents import volume
from tests.integration.iscsi.stage import DIRECT, Stage, forwarded, staged

pytestmark = [pytest.mark.root, pytest.mark.serial]

ACCOUNT = ("replication", "a secret of tests")
Transcript = list[object]
Scenario = Callable[[Initiator], Iterator[object]]


@pytest.fixture(scope="module")
def guarded(directory: Path) -> Iterator[Stage]:
    """A target that wants CHAP."""
    (directory / "guarded").mkdir()
    with staged(directory / "guarded", account=ACCOUNT) as stage:
        yield stage


def transcript(initiator: Initiator, scenario: Scenario) -> Transcript:
    """What was said until the end of the scenario, the connection, or the target's patience."""
    said: Transcript = []
    try:
        for word in scenario(initiator):
            said.append(word)
    except LoginRefused as refused:
        said.append(("refused", refused.status, refused.detail))
    except ConnectionError:
        said.append("ended")
    finally:
        initiator.close()
    return [*said, f"{len(initiator.rejects)} rejects"]


def login(initiator: Initiator) -> Iterator[object]:
    initiator.log_in()
    yield "logged in"
    initiator.ready(1)
    yield initiator.command(1, cdb.read(0, 8), expect=4096).status
    yield initiator.logout()


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [
        ({"account": ACCOUNT}, "logged in"),
        ({"account": (ACCOUNT[0], "another secret")}, ("refused", 2, 1)),
        ({"account": ("nobody", ACCOUNT[1])}, ("refused", 2, 1)),
        ({}, ("refused", 2, 1)),
        ({"account": ACCOUNT, "target": f"{IQN}.other"}, ("refused", 2, 3)),
    ],
    ids=["right", "wrong secret", "wrong name", "no CHAP", "wrong target"],
)
def test_chap(guarded: Stage, protocol: str, wishes: dict[str, object], expected: object) -> None:
    """Status class 2 is the initiator's mistake; detail 1: authentication, 3: no such target."""
    direct, through = (transcript(guarded.initiator(way, **wishes), login) for way in (DIRECT, protocol))
    assert through == direct
    assert direct[0] == expected


def test_the_secret_is_nowhere(guarded: Stage, protocol: str) -> None:
    transcript(guarded.initiator(protocol, account=ACCOUNT), login)
    for site in (guarded.east, guarded.west):
        for text in (site.log.read_text(), site.get("/api/v1/status")[1].decode(), site.get("/metrics")[1].decode()):
            assert ACCOUNT[1] not in text
            assert "CHAP_R" not in text


def abort(initiator: Initiator) -> Iterator[object]:
    """A write whose data is never sent, an abort that comes too late, and life afterwards."""
    yield from login_quietly(initiator)
    waiting = initiator.submit(1, cdb.write(0, 2048), bytes(2048 * 512), patient=False)
    yield initiator.abort(waiting)
    over = initiator.command(1, cdb.read(0, 8), expect=4096)
    yield over.status
    yield initiator.abort(over)
    yield initiator.command(1, cdb.read(0, 8), expect=4096).status


def reset_unit(initiator: Initiator) -> Iterator[object]:
    """While a write waits for its data; afterwards the unit tells of it once."""
    yield from login_quietly(initiator)
    initiator.submit(1, cdb.write(0, 2048), bytes(2048 * 512), patient=False)
    yield initiator.reset_unit(1)
    for _ in range(3):
        after = initiator.command(1, cdb.test_unit_ready())
        yield after.status, after.sense


def bad_commands(initiator: Initiator) -> Iterator[object]:
    """Beyond the end, to a unit that is not there, with an opcode that SCSI does not have, with less data than said."""
    yield from login_quietly(initiator)
    for lun, command, expect in (
        (1, cdb.read(0x7FFFFFFF, 8), 4096),
        (9, cdb.read(0, 8), 4096),
        (9, cdb.inquiry(), 96),
        (1, b"\xff" * 16, 0),
        (1, cdb.inquiry(page=0x83), 96),
        (1, cdb.inquiry(37), 37),
    ):
        done = initiator.command(lun, command, expect=expect)
        good = done.status == cdb.GOOD  # with an error tgt sends what its memory has
        yield done.status, done.sense, bytes(done.received) if good else len(done.received)
    done = initiator.command(1, cdb.write_long(1 << 40, 8), bytes(4096))
    yield done.status, done.sense
    yield initiator.ping(b"still there")
    yield initiator.logout()
    yield initiator.command(1, cdb.test_unit_ready()).status


def discovery(initiator: Initiator) -> Iterator[object]:
    """Addresses apart: the pair may lead them through itself."""
    initiator.log_in()
    yield [pair for pair in initiator.discover() if pair[0] != "TargetAddress"]
    yield initiator.logout()


def text_that_nobody_knows(initiator: Initiator) -> Iterator[object]:
    yield from login_quietly(initiator)
    text = encode_keys({"X-org.example.nonsense": "1" * 300})
    yield from raw(initiator, Pdu(Opcode.TEXT_REQUEST, tag=77, rest=words(NO_TAG, 1, 1), data=text, immediate=True))


def nonsense_in_the_login(initiator: Initiator) -> Iterator[object]:
    """A stage that does not exist, and text that is none."""
    flags = FINAL | OPERATIONAL << 2 | 2
    yield from raw(initiator, Pdu(Opcode.LOGIN_REQUEST, flags, data=b"\xff\xfe no text at all", immediate=True))


def a_login_in_the_middle(initiator: Initiator) -> Iterator[object]:
    yield from login_quietly(initiator)
    flags = FINAL | OPERATIONAL << 2 | FULL_FEATURE
    yield from raw(initiator, Pdu(Opcode.LOGIN_REQUEST, flags, data=encode_keys({"MaxConnections": "1"})))


def data_for_nobody(initiator: Initiator) -> Iterator[object]:
    """Data-Out with a tag that no command has."""
    yield from login_quietly(initiator)
    initiator.send(Pdu(Opcode.DATA_OUT, FINAL, 0, lun_field(1), 4711, words(4711), volume("stray", 8192)))
    yield initiator.ping(b"still there")


def an_unknown_opcode(initiator: Initiator) -> Iterator[object]:
    """One that RFC 7143, section 11.2.1.2, leaves to vendors."""
    yield from login_quietly(initiator)
    initiator.connection.sendall(bytes([0x1C, 0x80]) + bytes(46))
    yield initiator.answer().opcode


def no_login_at_all(initiator: Initiator) -> Iterator[object]:
    initiator.submit(1, cdb.test_unit_ready())
    yield initiator.answer().opcode


@pytest.mark.parametrize(
    "scenario",
    [
        login,
        abort,
        reset_unit,
        bad_commands,
        text_that_nobody_knows,
        nonsense_in_the_login,
        a_login_in_the_middle,
        data_for_nobody,
        an_unknown_opcode,
        no_login_at_all,
    ],
)
def test_as_directly(stage: Stage, protocol: str, scenario: Scenario) -> None:
    direct, through = (transcript(stage.initiator(way), scenario) for way in (DIRECT, protocol))
    assert through == direct
    assert direct


def test_discovery(stage: Stage, protocol: str) -> None:
    direct, through = (transcript(stage.initiator(way, target=""), discovery) for way in (DIRECT, protocol))
    assert through == direct
    assert direct[0] == [("TargetName", IQN)]


def test_wrong_target(stage: Stage, protocol: str) -> None:
    direct, through = (transcript(stage.initiator(way, target="iqn.x:nobody"), login) for way in (DIRECT, protocol))
    assert through == direct
    assert direct[0] == ("refused", 2, 3)


def test_target_down(directory: Path) -> None:
    """Directly nobody listens; through, the connection that the site took ends by a reset before anything comes."""
    (directory / "down").mkdir()
    with forwarded(directory / "down", ("127.0.0.1", free_port())) as (_, _, ways):
        for way in ways.values():
            with pytest.raises(ConnectionError), closing(Initiator(way, Wishes(IQN))) as initiator:  # or in connect(2)
                initiator.log_in()


def login_quietly(initiator: Initiator) -> Iterator[object]:
    initiator.log_in()
    initiator.ready(1)
    yield "ready"


def raw(initiator: Initiator, pdu: Pdu) -> Iterator[object]:
    """Something that no target expects, and its answer."""
    initiator.send(pdu)
    answer = initiator.answer()
    yield answer.opcode, answer.flags, answer.rest[16:18], bytes(answer.data)
