"""Another site, as its line tells of it, put into a site's file: its certificate beside it, its table in it.

The file stays as it was written, comments and all. What is to be its content is checked as `isthmus check` would
before it replaces anything, each file at once.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel

from proxy import identity
from proxy.config.loading import load, parse
from proxy.config.mistakes import ConfigError, Mistake
from proxy.config.model import SiteConfig
from proxy.errors import OperatorError, way_to_write
from proxy.files import create_all, replace_all
from proxy.identity import Certificate, IdentityFault
from proxy.setup.invitation import Invitation
from proxy.setup.peertable import as_meant, with_peer, with_value

REPLACE = "if the other site has changed that, add --replace"
MEND = "if that file was damaged, add --replace"


@dataclass(frozen=True, slots=True)
class Admitted:
    """What has become of it."""

    changed: tuple[Path, ...]
    """Files that were written; none if all was as it should be."""
    left: tuple[Mistake, ...]
    """What was wrong with the site's file before, and still is."""


@dataclass(frozen=True, slots=True)
class _Draft:
    certificate: Path
    text: str
    """The site's file as it is to be."""
    index: int
    """Of the peer in it."""
    values: dict[str, str]
    """What that peer is to have, beside what it has."""


def admit(config: Path, invitation: Invitation, now: datetime, *, replace: bool = False) -> Admitted:
    """Write what is missing; `replace`: and what differs. `now` (UTC) judges dates.

    Raises ConfigError if the file is wrong or would be, OperatorError if the line does not fit to it; then all is as
    it was. Blocks for as long as the disk does.
    """
    config = config.resolve()  # a link stays one
    site = load(config, files=False)
    text = config.read_bytes().decode()
    _check(site, invitation, now)
    draft = _draft(site, text, invitation, replace=replace)
    old = _pinned(draft.certificate)
    _check_change(site, draft.certificate, old, invitation, replace=replace)
    _check_text(site, text, draft, invitation)
    before = _mistakes(text, config, now)
    former = None if old is None else draft.certificate.read_bytes()
    try:
        if old != invitation.certificate:
            _write_certificate(draft.certificate, invitation.certificate)
        left = _mistakes(draft.text, config, now)
        _check_left(config, before, left)
        if draft.text != text:
            replace_all([(config, draft.text.encode(), config.stat().st_mode & 0o777)])
    except BaseException as error:  # a signal as well: the certificate that was replaced would be lost
        with suppress(OSError):  # where nothing can be written nothing was, and that is what is to be told
            if draft.text == text or config.read_bytes() != draft.text.encode():  # else both are written
                _restore(draft.certificate, former)
        if not isinstance(error, OperatorError | OSError):
            raise
        raise _translated(error, config) from None
    changed = [(draft.certificate, old != invitation.certificate), (config, draft.text != text)]
    return Admitted(tuple(path for path, written in changed if written), left)


def _check(site: SiteConfig, invitation: Invitation, now: datetime) -> None:
    """That the line could be that of a peer of this site."""
    try:
        certificate = invitation.facts
    except ValueError as error:
        raise _refused(invitation, f"what should be its certificate {error}", "make the line anew") from None
    anew = f"make a new line on {invitation.name}'s host: isthmus invite"
    if invitation.name.lower() == site.site.name.lower():
        raise _refused(invitation, "it is this site's own", "give it to the other site, and take that one's")
    if invitation.name.lower() not in [name.lower() for name in certificate.sites]:
        raise _refused(invitation, f"its certificate is for {_names(certificate)}", anew)
    if certificate.expires <= now:
        remedy = f"{identity.if_clock_is_right(now)}, make a new certificate there:"
        remedy += " isthmus keygen --force, then isthmus invite"
        raise _refused(invitation, f"its certificate has expired ({identity.show_moment(certificate.expires)})", remedy)
    if certificate.begins > now:
        begins = identity.show_moment(certificate.begins)
        raise _refused(invitation, f"its certificate begins at {begins}", identity.compare_clocks(now))


def _draft(site: SiteConfig, text: str, invitation: Invitation, *, replace: bool) -> _Draft:
    address = {"address": str(invitation.address)} if invitation.address else {}
    found = [index for index, peer in enumerate(site.peers) if peer.name == invitation.name]
    if not found:
        path = site.source.parent / f"{invitation.name}.crt"
        values = {"name": invitation.name, **address, "certificate": path.name}
        return _Draft(path, with_peer(text, values), len(site.peers), values)
    index = found[0]
    peer = site.peers[index]
    if peer.certificate is None:
        raise _refused(invitation, "this site recognises it by its name (identity.ca)", "nothing is left to be done")
    if invitation.address in (None, peer.address):
        return _Draft(peer.certificate, text, index, {})
    if peer.address is not None and not replace:
        wrong = f"it says that it is reached at {invitation.address}, and {site.source} says {peer.address}"
        raise _refused(invitation, wrong, REPLACE)
    return _Draft(peer.certificate, with_value(text, index, "address", address["address"]), index, address)


def _pinned(path: Path) -> bytes | None:
    """The certificate that is there (DER), empty if it cannot be used; None if there is no file.

    Raises IdentityFault for what cannot be read, or holds a key: nobody means to replace that.
    """
    if not path.exists():
        return None
    try:
        return identity.read_der(path)
    except IdentityFault as fault:
        if not fault.damaged:
            raise
        return b""


def _check_change(site: SiteConfig, path: Path, old: bytes | None, invitation: Invitation, *, replace: bool) -> None:
    """That the file is this peer's alone, since others have chosen its name; and that replacing it was asked for."""
    if old == invitation.certificate:
        return
    others = site.model_copy(update={"peers": tuple(peer for peer in site.peers if peer.name != invitation.name)})
    if path.resolve() in {each.resolve() for each in (site.source, *_paths(others))}:
        wrong = f"its certificate would be {path}, which {site.source} uses for something else"
        raise _refused(invitation, wrong, "give that file another name, here and there")
    if old == b"" and not replace:
        raise _refused(invitation, f"{path}, where its certificate belongs, holds none that can be used", MEND)
    if old is not None and not replace:
        shown = identity.show_fingerprint(identity.fingerprint(path))
        raise _refused(invitation, f"its certificate is not the one in {path} (SHA-256 {shown})", REPLACE)


def _paths(value: object) -> Iterator[Path]:
    """All that a section names."""
    match value:
        case Path():
            yield value
        case tuple():
            for each in value:
                yield from _paths(each)
        case BaseModel():
            for _, each in value:
                yield from _paths(each)


def _check_text(site: SiteConfig, text: str, draft: _Draft, invitation: Invitation) -> None:
    """That the draft says what it is to say; or all that the operator needs to write it by hand."""
    if as_meant(text, draft.text, draft.index, draft.values):
        return
    keys = ", ".join(f'{key} = "{value}"' for key, value in draft.values.items())
    certificate = identity.as_pem(invitation.certificate).decode().rstrip()
    by_hand = f"write by hand, for peer[{draft.index}]: {keys}; and into {draft.certificate}:\n{certificate}"
    raise OperatorError(f"{site.source} is written in a way that this command cannot add to; {by_hand}")


def _write_certificate(path: Path, der: bytes) -> None:
    write = replace_all if path.exists() else create_all
    write([(path, identity.as_pem(der), 0o644)])


def _restore(path: Path, former: bytes | None) -> None:
    if former is None:
        path.unlink(missing_ok=True)
    elif path.read_bytes() != former:
        replace_all([(path, former, 0o644)])


def _mistakes(text: str, config: Path, now: datetime) -> tuple[Mistake, ...]:
    try:
        parse(text.encode(), config, now=now)
    except ConfigError as error:
        return error.mistakes
    return ()


def _check_left(config: Path, before: tuple[Mistake, ...], after: tuple[Mistake, ...]) -> None:
    """Mistakes that were there before are not the line's; a second peer may be missing yet."""
    known = {(mistake.where, mistake.wrong) for mistake in before}
    if new := [mistake for mistake in after if (mistake.where, mistake.wrong) not in known]:
        raise ConfigError(config, new)


def _names(certificate: Certificate) -> str:
    return ", ".join(certificate.sites) or certificate.name or "nobody"


def _refused(invitation: Invitation, wrong: str, remedy: str) -> OperatorError:
    return OperatorError(f"the line of site {invitation.name} is refused: {wrong}; {remedy}")


def _translated(error: OperatorError | OSError, config: Path) -> OperatorError:
    """Of a file that was open already, the error does not say which one it was."""
    if isinstance(error, OperatorError):
        return error
    place = Path(error.filename or config.absolute().parent)
    return OperatorError(f"{place} cannot be written: {error.strerror}; {way_to_write(place, error)}")
