"""What can be wrong with the files that a site's file names: its identity, and those that it trusts.

Only the dates of the site's own certificate are checked. TLS refuses a peer or CA whose certificate has expired, and
that is reported as its trouble alone: it must keep neither other peers from being trusted, nor the withdrawal of
another one's trust from taking effect.

The file of each key is read once a check. What is wrong with a file that two keys name is reported at both.
"""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from proxy import identity
from proxy.config.mistakes import ABSENT, KeyPath, show_key
from proxy.config.reading import Draft
from proxy.identity import Certificate, IdentityFault
from proxy.text import typed

CERTIFICATE: KeyPath = ("identity", "certificate")
KEY: KeyPath = ("identity", "key")
CA: KeyPath = ("identity", "ca")

_OF_A_SHELL = ("~", "$")
PAIRING = "type here what `isthmus invite` prints on that peer's host (isthmus pair ...), or name another PEM file"

_T = TypeVar("_T")


def check(draft: Draft, now: datetime) -> None:
    """Look into the files. `now` (UTC) judges the dates of certificates."""
    own = _certificates(draft, CERTIFICATE)
    _check_key(draft, own)
    _check_own(draft, own, now)
    _check_authorities(draft)
    _check_peers(draft, own)


def _check_key(draft: Draft, own: tuple[Certificate, ...]) -> None:
    public_key = read_key(draft, KEY)
    if public_key is not None and own and own[0].public_key != public_key:
        remedy = f"name two files that were made together, or make both anew: {_keygen(draft, KEY)} --force"
        wrong = f"does not belong to the certificate in {draft.get(*CERTIFICATE)} (that of {own[0].name})"
        draft.wrong(KEY, wrong, remedy)


def _check_own(draft: Draft, own: tuple[Certificate, ...], now: datetime) -> None:
    if not own:
        return
    _check_dates(draft, own[0], now)
    dials = any("address" in entry for _, entry in draft.entries("peer"))
    _check_purposes(draft, CERTIFICATE, own[0], dials=dials, answers=draft.raw(("tunnel", "listen")) is not ABSENT)


def _check_authorities(draft: Draft) -> None:
    for authority in _certificates(draft, CA):
        if not authority.authority:
            remedy = "name the CA's own certificate here, and certificates of peers under [[peer]]"
            draft.wrong(CA, f"holds a certificate ({authority.name}) that is not a CA's", remedy)


def _check_peers(draft: Draft, own: tuple[Certificate, ...]) -> None:
    seen: dict[bytes, KeyPath] = {}
    for where in draft.column("peer", "certificate"):
        for pinned in _certificates(draft, where)[:1]:
            reached = draft.raw((*where[:2], "address")) is not ABSENT
            _check_purposes(draft, where, pinned, dials=not reached, answers=reached)
            other = seen.setdefault(pinned.public_key, where)
            if own and pinned.public_key == own[0].public_key:
                remedy = f"name the peer's, which `isthmus pair` writes, or see what {show_key(CERTIFICATE)} names"
                draft.wrong(where, "is this site's own certificate", remedy)
            elif other != where:
                draft.wrong(where, f"is that of peer[{other[1]}] as well", "give each peer a key of its own")


def _check_dates(draft: Draft, certificate: Certificate, now: datetime) -> None:
    """One that is not valid yet is waited for: a clock that had no power is behind until it hears from a time server.

    One that has expired is not. A clock that is ahead by what is left of a certificate is rare; that nobody renewed it
    is not, and a unit that has failed is noticed, where one that is started every two seconds is not.
    """
    if certificate.expires <= now:
        wrong = f"has expired ({certificate.name}, {identity.show_moment(certificate.expires)})"
        pinned = f"make a new one and give it to the peers: {_keygen(draft, CERTIFICATE)} --force"
        make = "have the CA sign a new one" if draft.get(*CA) else pinned
        draft.wrong(CERTIFICATE, wrong, f"{identity.if_clock_is_right(now)}, {make}")
    if certificate.begins > now:
        wrong = f"is not valid before {identity.show_moment(certificate.begins)} ({certificate.name})"
        see = f"see whether the clock of this host is right ({identity.show_moment(now)})"
        draft.wrong(CERTIFICATE, wrong, see, passes=True)


def _check_purposes(draft: Draft, where: KeyPath, certificate: Certificate, *, dials: bool, answers: bool) -> None:
    needed = [(dials and not certificate.dials, "client"), (answers and not certificate.answers, "server")]
    missing = " and ".join(purpose for lacks, purpose in needed if lacks)
    if missing:
        remedy = "have it made for both TLS server and TLS client authentication, as isthmus keygen does"
        draft.wrong(where, f"is not for TLS {missing} authentication ({certificate.name})", remedy)


def _certificates(draft: Draft, where: KeyPath) -> tuple[Certificate, ...]:
    return read_file(draft, where, identity.read_certificates) or ()


def read_key(draft: Draft, where: KeyPath, more: str = "") -> bytes | None:
    """The public half of the private key in the file at that key, as `read_file`. That others than the file's owner may
    read or write it is noted as a mistake."""
    public_key = read_file(draft, where, identity.read_public_key, more)
    path = draft.get(*where)
    if public_key is not None and identity.is_open(path):
        draft.wrong(where, "can be read or written by others than its owner", typed("chmod", "600", path))
    return public_key


def read_file(draft: Draft, where: KeyPath, read: Callable[[Path], _T], more: str = "") -> _T | None:
    """What the file at that key holds; None if there is no such key, or if it is a mistake, which is noted.

    `more`: what the remedy says beside `read`'s own.
    """
    path = draft.get(*where)
    if path is None:
        return None
    try:
        return read(path)
    except IdentityFault as fault:
        made = _made(draft, where) if fault.wrong == "does not exist" else ""
        draft.wrong(where, f"{fault.wrong} ({path})", made or f"{fault.remedy}{more}")
        return None


def _made(draft: Draft, where: KeyPath) -> str:
    """How to make a file that is missing; empty if Isthmus does not make it, or if its path is a shell's."""
    if str(draft.raw(where)).startswith(_OF_A_SHELL):
        return "write the path in full: here nothing stands for a home directory or a variable"
    if where in (CERTIFICATE, KEY):
        return f"make certificate and key: {_keygen(draft, where)}, or name other PEM files"
    return PAIRING if where[0] == "peer" else ""


def _keygen(draft: Draft, where: KeyPath) -> str:
    site = draft.get("site", "name") or "NAME"
    return typed("isthmus", "keygen", "--site", site, "--out", draft.get(*where).parent)
