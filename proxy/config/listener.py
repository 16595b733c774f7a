"""What can be wrong with the status listener: who reaches it, and the files that protect it.

As `checks` and `trust`: each looks at the draft, skips what is unsound already, and notes what it finds.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address

from proxy import identity
from proxy.config.addresses import Address
from proxy.config.mistakes import ABSENT, KeyPath, show_key
from proxy.config.reading import Draft
from proxy.config.trust import read_file, read_key
from proxy.text import typed

IPAddress = IPv4Address | IPv6Address

LISTEN: KeyPath = ("status", "listen")
CERTIFICATE: KeyPath = ("status", "certificate")
KEY: KeyPath = ("status", "key")
CLIENTS: KeyPath = ("status", "clients")
TOKENS: tuple[KeyPath, ...] = (("status", "token"), ("status", "control_token"))


def status_is_protected(draft: Draft) -> None:
    """A listener that other hosts reach speaks TLS, and asks them for a token or a certificate."""
    listen = draft.get(*LISTEN)
    if listen is None or listen.ip.is_loopback:
        return
    lacks = [] if draft.raw(CERTIFICATE) is not ABSENT else ["certificate", "key"]
    lacks += ["token or clients"] if draft.raw(TOKENS[0]) is ABSENT and draft.raw(CLIENTS) is ABSENT else []
    if lacks:
        wrong = f"is not a loopback address, and {', '.join(lacks)} {'is' if len(lacks) == 1 else 'are'} missing"
        local = f'"127.0.0.1:{listen.port}" or "[::1]:{listen.port}"'
        draft.wrong(LISTEN, wrong, f"add them to [status], or write {local}, and reach it by ssh -L from elsewhere")


def certificate_and_key_belong_together(draft: Draft) -> None:
    """Neither is of use alone; and client certificates are shown over TLS only."""
    for here, there in ((CERTIFICATE, KEY), (KEY, CERTIFICATE)):
        if draft.raw(here) is not ABSENT and draft.raw(there) is ABSENT:
            draft.wrong(there, f"is missing, but {here[1]} is given", f"add {there[1]} to [status]")
    if draft.raw(CLIENTS) is not ABSENT and draft.raw(CERTIFICATE) is ABSENT:
        draft.wrong(CLIENTS, "means nothing without TLS", "add certificate and key to [status]")


def peers_do_not_pass_as_local(draft: Draft) -> None:
    """A loopback listener, which need not ask for tokens, is not exported to peers unless it asks for both of them."""
    listen = draft.get(*LISTEN)
    if listen is None or not listen.ip.is_loopback:
        return
    reading = draft.raw(TOKENS[0]) is not ABSENT or draft.raw(CLIENTS) is not ABSENT
    lacks = [] if reading else ["status.token"]
    lacks += ["status.control_token"] if draft.raw(TOKENS[1]) is ABSENT else []
    for where in _exported(draft, listen) if lacks else ():
        wrong = f"leads peers to status.listen of this site ({listen}), which asks them for no password"
        draft.wrong(where, wrong, f"add {' and '.join(lacks)}, or name the array's address")


CHECKS: tuple[Callable[[Draft], None], ...] = (
    status_is_protected,
    certificate_and_key_belong_together,
    peers_do_not_pass_as_local,
)


def _exported(draft: Draft, listen: Address) -> Iterator[KeyPath]:
    """Exports by which that loopback address may be reached."""
    reached = _ways_to(listen)
    for where, address in draft.column("export", "address").items():
        if address.port == listen.port and (address.ip is None or _bare(address.ip) in reached):
            yield where  # a name may come to stand for that address
    for where, covered in draft.column("export", "range").items():
        if covered.port == listen.port and any(ip in covered.network for ip in reached):
            yield where


def _ways_to(listen: Address) -> set[IPAddress]:
    """Addresses by which a host reaches that loopback address: connecting to the unspecified one does so, too."""
    assert listen.ip is not None
    if listen.ip.version == 6:
        return {_bare(listen.ip), IPv6Address("::")}
    four = {listen.ip, IPv4Address("0.0.0.0")}
    return {*four, *(IPv6Address(f"::ffff:{ip}") for ip in four)}


def _bare(ip: IPAddress) -> IPAddress:
    """The address without the interface that it may name."""
    return ip_address(ip.packed)


def check_files(draft: Draft, now: datetime) -> None:
    """Look into the files. `now` (UTC) judges the dates of the certificate."""
    _check_pair(draft, now)
    for where in TOKENS:
        read_file(draft, where, partial(identity.read_token, key=show_key(where)))
    read_file(draft, CLIENTS, identity.read_certificates)


def _check_pair(draft: Draft, now: datetime) -> None:
    making = _making(draft)
    shown = read_file(draft, CERTIFICATE, identity.read_certificates, f"; or make both: {making}")
    public_key = read_key(draft, KEY, f"; or make both: {making}")
    if shown and shown[0].expires <= now:
        wrong = f"has expired ({shown[0].name}, {identity.show_moment(shown[0].expires)})"
        draft.wrong(CERTIFICATE, wrong, f"{identity.if_clock_is_right(now)}, have a new one made, or make it: {making}")
    if shown and public_key is not None and shown[0].public_key != public_key:
        wrong = f"does not belong to the certificate in {draft.get(*CERTIFICATE)}"
        draft.wrong(KEY, wrong, "name the key that was made with it")


def _making(draft: Draft) -> str:
    """What to type to make a key and a self-signed certificate for the listener's address."""
    listen, certificate, key = draft.get(*LISTEN), draft.get(*CERTIFICATE), draft.get(*KEY)
    known = listen is not None and not listen.stands_for_all
    name = f"IP:{listen.ip}" if known else "IP:ADDRESS"
    files = typed("-keyout", key or "listener.key", "-out", certificate or "listener.crt")
    made = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650"
    return f"{made} -subj /CN=isthmus -addext subjectAltName={name} {files}"
