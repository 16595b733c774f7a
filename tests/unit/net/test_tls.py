"""Whose certificate it is: a pin names its one peer, the private CA those that nobody has pinned."""

import asyncio
import re
import ssl
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from proxy.config.loading import load
from proxy.config.model import SiteConfig
from proxy.net.tls import Certificates
from tests.certificates import Signer, make
from tests.patience import PATIENCE

EAST = """\
[site]
name = "east"
[identity]
certificate = "east.crt"
key = "east.key"
ca = "ca.crt"
[tunnel]
listen = "127.0.0.1:4500"
[store]
mode = "memory"
size = "64MiB"
[status]
listen = "127.0.0.1:8900"
[[peer]]
name = "west"
[[peer]]
name = "north"
[[peer]]
name = "south"
certificate = "south.crt"
"""
ENDED = "has ended: no new lane comes up with it; if this host's clock is right, make a new one"


@dataclass
class Site:
    """East trusts a CA for west and north, and has pinned south, whose certificate could sign others."""

    path: Path

    def __post_init__(self) -> None:
        self.ca = make(self.path / "ca", "ca", authority=True, purposes=())
        self.south = make(self.path / "south", "south", authority=True)
        make(self.path / "east", "east", signer=self.ca)
        (self.path / "east.toml").write_text(EAST)
        self.certificates = Certificates(load(self.path / "east.toml"))

    def signed(self, name: str, signer: Signer) -> tuple[bytes, dict[str, object]]:
        """A certificate for that name, as a lane shows it."""
        make(self.path / "shown", name, signer=signer)
        return self.shown("shown", name)

    def shown(self, file: str, name: str) -> tuple[bytes, dict[str, object]]:
        der = ssl.PEM_cert_to_DER_cert((self.path / f"{file}.crt").read_text())
        return der, {"subjectAltName": (("DNS", name),), "notAfter": "Jan  1 00:00:00 2100 GMT"}


@pytest.fixture
def east(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_pinned_certificate_is_its_peers_whatever_it_says(east: Site) -> None:
    assert east.certificates.recognise(*east.shown("south", "west")) == "south"


@pytest.mark.parametrize("around", ["# Zürich\n", "\N{BYTE ORDER MARK}", "X509"])
def test_a_pin_is_read_as_it_is_checked(east: Site, around: str) -> None:
    """OpenSSL writes names before a certificate, and not only in ASCII; `isthmus check` finds nothing wrong with it."""
    shown = east.shown("south", "south")
    pin = (east.path / "south.crt").read_text()
    pin = pin.replace(" CERTIFICATE-", " X509 CERTIFICATE-") if around == "X509" else around + pin
    (east.path / "south.crt").write_text(pin, encoding="utf-8")
    assert Certificates(load(east.path / "east.toml")).recognise(*shown) == "south"


def test_the_ca_names_peers_that_are_not_pinned(east: Site) -> None:
    recognise = east.certificates.recognise
    assert recognise(*east.signed("west", east.ca)) == "west"
    assert recognise(*east.signed("south", east.ca)) is None
    assert recognise(*east.signed("nobody", east.ca)) is None


def test_a_pinned_peers_key_names_nobody_else(east: Site) -> None:
    """Nor itself: TLS would let pass what it signs."""
    recognise = east.certificates.recognise
    assert recognise(*east.signed("west", east.south)) is None
    assert recognise(*east.signed("south", east.south)) is None


def test_why_a_certificate_is_nobodys(east: Site) -> None:
    """A name that would do, under a CA between: that one is what is missing."""
    disown = east.certificates.disown
    assert disown(*east.signed("nobody", east.ca)) == "the certificate for 'nobody' belongs to no configured peer"
    assert disown(*east.signed("north", east.ca), "west") == "the certificate is for 'north', not for west"
    between = make(east.path / "between", "between", signer=east.ca, authority=True)
    for peer in (None, "west"):
        words = disown(*east.signed("west", between), peer)
        assert words.startswith("the certificate for 'west' is not signed by a certificate in identity.ca itself; ")
        assert "intermediate CA" in words


def test_a_certificate_proves_no_other_peer(east: Site) -> None:
    proves = east.certificates.proves
    assert proves("north", *east.signed("north", east.ca))
    assert not proves("west", *east.signed("north", east.ca))
    assert proves("south", *east.shown("south", "south"))
    assert not proves("west", *east.shown("south", "south"))
    assert not proves("south", *east.signed("north", east.ca))


@pytest.mark.parametrize(
    ("later", "words"),
    [(9.8, []), (10.2, ["ends in 29 days"]), (39.9, ["ends in 2 h"]), (40.1, [ENDED])],
)
def test_a_sites_own_certificate_is_an_alarm_in_its_last_30_days(
    east: Site, later: float, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes people on two sites to replace it, who have to know in time."""
    make(east.path / "east", "east", signer=east.ca, days=(-1, 40))
    certificates = Certificates(load(east.path / "east.toml"))
    now = time.time() + later * 86400
    monkeypatch.setattr("proxy.net.tls.time", SimpleNamespace(time=lambda: now))
    found = [re.findall(f"ends in [0-9]+ (?:days|h)|{ENDED}", alarm) for alarm in certificates.alarms]
    assert found == [[each] for each in words]


def listening(east: Site, listener: str) -> None:
    """Write the file with that certificate of the status listener."""
    files = f'certificate = "{listener}.crt"\nkey = "{listener}.key"\n'
    (east.path / "east.toml").write_text(EAST.replace("[status]\n", f"[status]\n{files}"))


def ends_of(certificates: Certificates) -> dict[str, int]:
    """Days until certificates end, by whose they are."""
    return {each.role: round((each.expires - time.time()) / 86400) for each in certificates.status}


def test_a_disk_that_never_answers_keeps_no_site_from_ending(east: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, answers, read = threading.Event(), threading.Event(), threading.Event()

    def hang(config: SiteConfig) -> None:
        begun.set()
        answers.wait(PATIENCE)
        read.set()

    async def scene() -> None:
        reloading = asyncio.create_task(east.certificates.reload())
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        reloading.cancel()

    monkeypatch.setattr("proxy.net.tls._load_anew", hang)
    asyncio.run(scene())
    assert not read.is_set()
    answers.set()


def test_a_disk_that_never_answers_is_told_of(east: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """And keeps no later reload from being made."""
    answers = threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr("proxy.net.tls.DISK_SECONDS", 0.01)
        patch.setattr("proxy.net.tls._load_anew", lambda config: answers.wait(PATIENCE))
        asyncio.run(east.certificates.reload())
    assert "old ones stay in use: their disk has not answered for 30 s" in east.certificates.problem
    answers.set()
    asyncio.run(east.certificates.reload())
    assert east.certificates.problem == ""


def test_why_new_files_cannot_be_used_is_said_in_one_line(east: Site) -> None:
    text = (east.path / "east.toml").read_text()
    (east.path / "east.toml").write_text(text.replace('"east.key"', '"none.key"').replace('"east.crt"', '"none.crt"'))
    asyncio.run(east.certificates.reload())
    assert re.fullmatch(
        r"the new files cannot be used, the old ones stay in use: \S+/east\.toml:"
        r' identity\.certificate = "none\.crt" does not exist \(\S+/none\.crt\); make [^;]+ files\.'
        r' identity\.key = "none\.key" does not exist \(\S+/none\.key\); make .+ files',
        east.certificates.problem,
    )


def test_the_listeners_certificate_is_the_one_that_it_was_started_with(east: Site) -> None:
    """That the file names another one by now does not put it into use, so its end is not the one to be told."""
    make(east.path / "old", "east", days=(-1, 5))
    make(east.path / "new", "east", days=(-1, 400))
    listening(east, "old")
    certificates = Certificates(load(east.path / "east.toml"))
    listening(east, "new")
    make(east.path / "east", "east", signer=east.ca, days=(-1, 90))
    asyncio.run(certificates.reload())
    found = ends_of(certificates)
    assert (certificates.problem, found["own"], found["listener"]) == ("", 90, 5)
    make(east.path / "old", "east", days=(-1, 60))
    asyncio.run(certificates.reload())
    assert ends_of(certificates)["listener"] == 60
    (east.path / "old.crt").unlink()
    asyncio.run(certificates.reload())
    assert (certificates.problem, "listener" in ends_of(certificates)) == ("", False)
