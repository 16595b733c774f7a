"""The status listener under odd, broken and hostile requests: never a 5xx, nothing under a foreign name, no traceback.

What it answers to good ones can be parsed by those for whom it is meant.
"""

import http.client
import json
import re
import socket
import subprocess
from collections.abc import Iterator
from random import Random

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bench.sites import Site, environment, free_port, isthmus
from proxy.observe.metrics import DECLARATIONS, STREAM_DECLARATIONS
from proxy.observe.watch_metrics import WATCH_DECLARATIONS
from tests.integration.bed.ends import Array, send
from tests.integration.bed.sites import Bed, drain
from tests.integration.peers.stage import hub, watch_memory
from tests.patience import PATIENCE

FINE = re.compile(rb"HTTP/1\.[01] ([234]\d\d|505) ")
"""505 is the client's fault as well: it asks for another HTTP."""
HOST = b"Host: localhost\r\n"
ODD: dict[str, tuple[bytes, set[int]]] = {
    "foreign host": (b"GET /api/v1/status HTTP/1.1\r\nHost: evil.example\r\n\r\n", {421}),
    "foreign host and port": (b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1.evil.example:80\r\n\r\n", {421}),
    "a host of another network": (b"GET /healthz HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n", {421}),
    "no host": (b"GET /healthz HTTP/1.1\r\n\r\n", {400, 421}),
    "an empty host": (b"GET /healthz HTTP/1.1\r\nHost:\r\n\r\n", {400, 421}),
    "two hosts": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", {400, 421}),
    "a host of brackets": (b"GET /healthz HTTP/1.1\r\nHost: [::1\r\n\r\n", {400, 421}),
    "HTTP/1.0 without a host": (b"GET /healthz HTTP/1.0\r\n\r\n", {400, 421}),
    "absolute address": (b"GET http://evil.example/metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", {400, 421}),
    "an address of noise": (b"GET http://xn--/ HTTP/1.1\r\n" + HOST + b"\r\n", {400}),
    "no such page": (b"GET /nothing HTTP/1.1\r\n" + HOST + b"\r\n", {404}),
    "out of the tree": (b"GET /../../etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n", {400, 404}),
    "a path of noise": (b"GET /%00%ff%0d%0a\xff HTTP/1.1\r\n" + HOST + b"\r\n", {400, 404}),
    "POST": (b"POST /api/v1/status HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\n\r\n", {405}),
    "POST of a body": (b"POST /api/v1/reload HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\n\r\n{}", {413}),
    "POST of a gibibyte": (b"POST /healthz HTTP/1.1\r\n" + HOST + b"Content-Length: 1073741824\r\n\r\nx", {413}),
    "POST of negative length": (b"POST /healthz HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n", {400}),
    "POST of two lengths": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nx", {400}),
    "chunks of noise": (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", {400, 413}),
    "length and chunks": (
        b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        {400, 413},
    ),
    "DELETE": (b"DELETE /metrics HTTP/1.1\r\n" + HOST + b"\r\n", {405}),
    "TRACE": (b"TRACE /metrics HTTP/1.1\r\n" + HOST + b"\r\n", {400, 405}),
    "an unknown method": (b"BREW /healthz HTTP/1.1\r\n" + HOST + b"\r\n", {400, 405}),
    "a method of control characters": (b"G\x01T /healthz HTTP/1.1\r\n" + HOST + b"\r\n", {400}),
    "a method of 10,000 letters": (b"G" * 10_000 + b" / HTTP/1.1\r\n" + HOST + b"\r\n", {400, 414}),
    "a line of 10,000 letters": (b"GET /" + b"a" * 10_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", {400, 414}),
    "a header of 10,000 letters": (b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 10_000 + b"\r\n\r\n", {400, 431}),
    "1,000 headers": (b"GET / HTTP/1.1\r\n" + HOST + b"X: y\r\n" * 1000 + b"\r\n", {400, 404, 431}),
    "a header without a colon": (b"GET / HTTP/1.1\r\n" + HOST + b"no colon\r\n\r\n", {400}),
    "a header with a line feed": (b"GET / HTTP/1.1\r\n" + HOST + b"X: a\nb: c\r\n\r\n", {400, 404}),
    "HTTP/9.9": (b"GET /healthz HTTP/9.9\r\n" + HOST + b"\r\n", {400, 505}),
    "no HTTP": (b"hello there\r\n\r\n", {400}),
    "TLS": (bytes.fromhex("16030100f1010000ed0303") + bytes(200) + b"\r\n\r\n", {400}),
    "an upgrade": (
        b"GET /healthz HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        {200, 400, 426},
    ),
    "expectations": (b"GET /healthz HTTP/1.1\r\n" + HOST + b"Expect: a miracle\r\n\r\n", {417}),
    "a range": (b"GET /healthz HTTP/1.1\r\n" + HOST + b"Range: bytes=9999999999-\r\n\r\n", {200, 416}),
}


@pytest.fixture
def site(bed: Bed) -> Iterator[Site]:
    site = bed.site("west", {"east": None}, tunnel={"listen": f"127.0.0.1:{free_port()}"})
    site.start()
    site.wait_ready()
    yield site
    drain(site)


def ask(site: Site, request: bytes) -> tuple[int, bytes]:
    """Code and body of the answer."""
    with socket.create_connection(("127.0.0.1", site.status_port), timeout=PATIENCE) as connection:
        connection.sendall(request)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer.status, answer.read()


def shout(site: Site, request: bytes) -> bytes:
    """Send it all and hang up; what is answered, if anything."""
    with socket.create_connection(("127.0.0.1", site.status_port), timeout=PATIENCE) as connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(1 << 16), b""))
        except ConnectionError:
            return b""


def test_odd_requests(site: Site) -> None:
    for what, (request, expected) in ODD.items():
        code, answer = ask(site, request)
        assert code in expected, (what, code, answer)
        assert b"chunks" not in answer, what
        assert site.get("/healthz") == (200, b"ok\n")


def test_noise(site: Site) -> None:
    """Requests with bytes changed, lost and added: whatever is answered, it is not the site's fault."""
    growth = watch_memory(site)
    good = b"GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    for seed in range(150):
        draw = Random(seed)
        request = bytearray(good * draw.randint(1, 3))
        for _ in range(draw.randint(1, 8)):
            at = draw.randrange(len(request))
            request[at : at + draw.randint(0, 4)] = draw.randbytes(draw.randint(0, 4))
        answer = shout(site, bytes(request))
        assert not answer or FINE.match(answer), (seed, answer[:200])
    assert growth() < 16 << 20
    assert site.get("/healthz") == (200, b"ok\n")


def test_good_requests(site: Site) -> None:
    """HEAD as GET without the body; headers that keep pages of others away."""
    for name in ("localhost", "127.0.0.1", f"127.0.0.1:{site.status_port}", "[::1]:80", "LOCALHOST"):
        connection = http.client.HTTPConnection("127.0.0.1", site.status_port, timeout=PATIENCE)
        for method in ("GET", "HEAD"):
            connection.request(method, "/api/v1/status", headers={"Host": name})
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == http.client.OK, name
            assert (method == "HEAD") == (body == b"")
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Cache-Control"] == "no-store"
        connection.close()


def test_metrics_and_status(bed: Bed) -> None:
    """Prometheus' own parser reads all declared metrics; `isthmus status` shows the same figures, in both forms."""
    with Array() as array, hub(bed, array.address) as stage:
        send([b"x" * 100_000], stage.entrance)
        _, body = stage.east.get("/metrics")
        families = {family.name: family for family in text_string_to_metric_families(body.decode())}
        declared = {each.name for each in DECLARATIONS} | {each.name for each in STREAM_DECLARATIONS}
        assert set(families) == declared | {each.name for each in WATCH_DECLARATIONS}
        assert all(family.documentation for family in families.values())
        assert [name for name, family in families.items() if not family.samples] == []
        assert families["isthmus_sent_raw_bytes"].samples[0].value == 100_000
        shown = json.loads(run("status", str(stage.east.config), "--json"))
        assert shown["bytes"]["raw"] == 100_000
        assert "east" in run("status", str(stage.east.config))
        drained = stage.east.stop()
        assert drained == 0
        gone = subprocess.run(
            isthmus("status", str(stage.east.config)), env=environment(), capture_output=True, text=True, check=False
        )
        assert gone.returncode == 4
        assert "isthmus serve" in gone.stderr
        stage.east.start()
        stage.east.wait_ready()


def run(*arguments: str) -> str:
    """A command that succeeds; what it prints."""
    return subprocess.run(isthmus(*arguments), env=environment(), capture_output=True, text=True, check=True).stdout
