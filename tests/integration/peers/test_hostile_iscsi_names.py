"""An initiator says whatever it likes in its login: names cannot move a cursor, or break JSON, tables or metrics.

The target lets everybody in, and then never answers: what the initiator asks for is under way until it leaves, and is
dropped then.
"""

import socket

from prometheus_client.parser import text_string_to_metric_families

from bench.sites import Site
from proxy.iscsi.pdu import BASIC_BYTES
from tests.integration.bed.ends import Array, Arrival, hears, swallow
from tests.integration.bed.sites import Bed, drain, eventually, look_up, run
from tests.integration.peers.hostile import NAMES, look
from tests.unit.iscsi.pdus import command, login, login_answer, read_10, text

VOLUMES = len(NAMES)
LET_IN = login_answer()


def test_hostile_iscsi_names(bed: Bed) -> None:
    with Array(let_in) as array:
        pair = bed.pair(array.address, tunnel={"drain": "0s"})
        run(*pair.sites)
        for name in NAMES.values():
            said = name.replace("\0", "")  # it ends a value
            with socket.create_connection(pair.entrance) as initiator:
                initiator.sendall(login(text(InitiatorName=said, TargetName=f"iqn.{said}")))
                hears(initiator, LET_IN)
                initiator.sendall(command(1, read_10(0, 8)))
                for site in pair.sites:
                    judge_live(site, said)
            for site in pair.sites:
                eventually(site, "streams", [])
        for site in pair.sites:
            judge_ended(site)
        drain(*pair.sites)


def let_in(arrival: Arrival) -> None:
    """Answer the login, which has come whole, and nothing else."""
    header = arrival.connection.recv(BASIC_BYTES, socket.MSG_WAITALL)
    length = int.from_bytes(header[5:8])
    arrival.connection.recv(length + -length % 4, socket.MSG_WAITALL)
    arrival.connection.sendall(LET_IN)
    swallow(arrival)


def judge_live(site: Site, said: str) -> None:
    site.wait_for(lambda: 1 in under_way(site), "has no command under way")
    (stream,) = site.status()["streams"]
    assert stream["initiator"].isprintable()
    assert stream["target"] == f"iqn.{stream['initiator']}"
    assert (stream["initiator"] == said) == said.isprintable()
    look(site)


def judge_ended(site: Site) -> None:
    """Each volume had one command, which got no answer."""
    *volumes, others = look_up(site.status(), "peers.0.volumes")
    assert len({volume["target"] for volume in volumes}) == VOLUMES
    assert [volume["dropped"] for volume in (*volumes, others)] == [1] * VOLUMES + [0]
    _, body = site.get("/metrics")
    families = {family.name: family for family in text_string_to_metric_families(body.decode())}
    dropped = {sample.labels["target"]: sample.value for sample in families["isthmus_volume_dropped_commands"].samples}
    assert dropped == {volume["target"]: volume["dropped"] for volume in (*volumes, others)}


def under_way(site: Site) -> list[int]:
    return [volume["outstanding"] for volume in look_up(site.status(), "peers.0.volumes")]
