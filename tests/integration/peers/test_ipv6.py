"""Everything works over IPv6 as well: tunnel, forward, export and status, and logs show its addresses in brackets."""

import http.client
import socket

import pytest

from bench.sites import free_port
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, connect, receipt, send, whole
from tests.integration.bed.sites import Bed, drain
from tests.integration.peers.stage import says
from tests.patience import PATIENCE


def lacking() -> str:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        return f"no IPv6 here: {error}"
    return ""


@pytest.mark.skipif(bool(lacking()), reason=lacking())
def test_ipv6(bed: Bed) -> None:
    content = volume("over IPv6", 4 << 20)
    with Array(address=("::1", 0)) as array:
        pair = bed.pair(array.address)
        status = {site.name: free_port() for site in pair.sites}
        for site in pair.sites:
            text = site.config.read_text().replace(f"::1:{array.address[1]}", f"[::1]:{array.address[1]}")
            text = text.replace("127.0.0.1", "[::1]").replace(str(site.status_port), str(status[site.name]))
            site.config.write_text(text)
            site.start()
        for site in pair.sites:
            says(site, "is up", "[::1]:")
            says(site, "is ready")
        entrance = ("::1", pair.entrance[1])
        with connect(entrance) as near:
            near.sendall(b"x")
            origin = f"[::1]:{near.getsockname()[1]}"
            array.arrival()
            assert origin in look(status["west"])
            assert origin in look(status["east"])
        sending = send(cut(content, 1 << 16), entrance)
        whole(receipt(content), sending)
        drain(*pair.sites)


def look(port: int) -> str:
    """The status, as text."""
    connection = http.client.HTTPConnection("::1", port, timeout=PATIENCE)
    connection.request("GET", "/api/v1/status")
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == http.client.OK, text
    return text
