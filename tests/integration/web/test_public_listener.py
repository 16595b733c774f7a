"""A real site whose status listener stands open to the network: TLS, tokens, and what the site's file says of them."""

import http.client
import json
import ssl
from collections.abc import Iterator

import pytest

from bench.sites import Site
from proxy.web.routes import API
from tests.certificates import make
from tests.integration.bed.sites import Bed, drain
from tests.patience import PATIENCE

READING, CONTROL = "r" * 32, "c" * 32
KEYS = """\
certificate = "listener.crt"
key = "listener.key"
token = "reading.token"
control_token = "control.token"
names = ["east.example"]
"""


@pytest.fixture
def site(bed: Bed) -> Iterator[Site]:
    site = bed.site("east", {"west": ("127.0.0.1", 9)})
    make(bed.directory / "listener", "localhost", days=(-1, 5))
    for name, token in (("reading", READING), ("control", CONTROL)):
        path = bed.directory / f"{name}.token"
        path.touch(0o600)
        path.write_text(token)
    text = site.config.read_text().replace(f"127.0.0.1:{site.status_port}", f"0.0.0.0:{site.status_port}")
    site.config.write_text(text.replace("[status]\n", f"[status]\n{KEYS}"))
    site.start()
    site.wait_for(lambda: ask(site, "/healthz")[0] == http.client.OK, "does not answer", PATIENCE)
    yield site
    drain(site)


def ask(site: Site, path: str, token: str = "", *, method: str = "GET", host: str = "127.0.0.1") -> tuple[int, bytes]:
    context = ssl.create_default_context(cafile=site.config.parent / "listener.crt")
    context.check_hostname = False
    connection = http.client.HTTPSConnection("127.0.0.1", site.status_port, timeout=PATIENCE, context=context)
    try:
        headers = {"Host": host} | ({"Authorization": f"Bearer {token}"} if token else {})
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_reading_and_control_are_apart(site: Site) -> None:
    assert ask(site, f"{API}/status")[0] == http.client.UNAUTHORIZED
    assert ask(site, "/metrics", "x" * 32)[0] == http.client.UNAUTHORIZED
    assert ask(site, f"{API}/status", READING)[0] == http.client.OK
    assert ask(site, f"{API}/status", READING, host="east.example")[0] == http.client.OK
    assert ask(site, f"{API}/status", READING, host="evil.example")[0] == http.client.MISDIRECTED_REQUEST
    assert ask(site, f"{API}/reload", READING, method="POST")[0] == http.client.UNAUTHORIZED
    code, body = ask(site, f"{API}/reload", CONTROL, method="POST")
    assert (code, json.loads(body)["reloaded"]) == (http.client.OK, True)


def test_the_listeners_own_certificate_is_watched(site: Site) -> None:
    """It ends in five days: the health ladder says so, and the tunnel's certificates are not mistaken for it."""

    def looked() -> list[str]:
        health = json.loads(ask(site, f"{API}/health", READING)[1])
        return [reason["words"] for reason in health["reasons"]]

    site.wait_for(
        lambda: any("listener's certificate ends in" in words for words in looked()), "says nothing", PATIENCE
    )


def test_a_broken_token_file_leaves_the_old_one(site: Site) -> None:
    (site.config.parent / "reading.token").write_text("short")
    code, body = ask(site, f"{API}/reload", CONTROL, method="POST")
    assert code == http.client.OK
    assert "reading.token" in json.loads(body)["problem"]
    assert ask(site, f"{API}/status", READING)[0] == http.client.OK

    def told() -> bool:
        events = json.loads(ask(site, f"{API}/events", READING)[1])["events"]
        return "IST-204" in [event["code"] for event in events]

    site.wait_for(told, "tells nothing of it", PATIENCE)
