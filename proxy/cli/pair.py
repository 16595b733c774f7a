"""`isthmus pair` and `isthmus invite`: two sites get to know each other by one line each way."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from proxy import identity
from proxy.cli.ending import ended_in_order
from proxy.cli.output import say
from proxy.config.addresses import Address, parse_remote
from proxy.config.loading import load
from proxy.doctor.trust import SOON
from proxy.errors import ExitCode, OperatorError
from proxy.files import present
from proxy.setup.admission import Admitted, admit
from proxy.setup.invitation import Invitation, decode, encode
from proxy.text import printable, typed

OTHER = "OTHER"
"""Stands for the name of the site that a line is for, where the file does not say it."""


def run(line: str, config: Path, replace: bool) -> None:
    """Put the site that the line describes into the file, and say what was changed. Raises OperatorError."""
    invitation = decode(line)
    _check_place(config)
    with ended_in_order():
        admitted = admit(config, invitation, datetime.now(UTC), replace=replace)
    _say(config, invitation, admitted)
    expires = invitation.facts.expires
    if expires - datetime.now(UTC) < SOON:
        say(f"warning: {invitation.name}'s certificate expires on {expires:%Y-%m-%d}", err=True)
    for mistake in admitted.left:
        say(f"still to be put right: {mistake}", err=True)


def _check_place(config: Path) -> None:
    """A line that is typed where it was printed has the name of the other host's file."""
    with suppress(OSError, ValueError):  # what cannot be looked at is told of when it is read
        if not present(config):
            where = f"type the line on the host of {config.stem}, in that file's directory; or name this site's file"
            raise OperatorError(f"{config} is not there; {where}", ExitCode.CONFIGURATION)


def invite(config: Path, reach: str | None) -> None:
    """Print the line of the site whose file that is."""
    site = load(config, files=False)
    listen = site.tunnel.listen
    wrong = f"{listen} (tunnel.listen) is no address that another site could dial"
    address = read_reach(reach) if reach is not None else dialled_at(listen, wrong)
    line = invitation_line(site.site.name, address, site.identity.certificate)
    peer = site.peers[0].name if len(site.peers) == 1 else OTHER
    say(f"isthmus pair {line} {peer}.toml")
    shown = identity.show_fingerprint(identity.fingerprint(site.identity.certificate))
    say(f"SHA-256 {shown}: has to be what the other host shows", err=True)
    if len(site.peers) != 1:
        say(f"Put the other site's name in place of {OTHER}.", err=True)


def dialled_at(listen: Address | None, wrong: str) -> Address | None:
    """Where another site dials that listener, if there is one. Raises OperatorError: what is `wrong`, if that is not
    clear."""
    if listen is not None and listen.stands_for_all:
        raise OperatorError(f'{wrong}; add one, such as --reach "198.18.0.1:{listen.port}"', ExitCode.USAGE)
    return listen


def read_reach(text: str) -> Address:
    """The address that the option --reach gives. Raises OperatorError (USAGE)."""
    try:
        return parse_remote(text)
    except ValueError as error:
        remedy = 'write host and port, such as "198.18.0.1:4500"'
        raise OperatorError(f"--reach {printable(repr(text))} {error}; {remedy}", ExitCode.USAGE) from None


def invitation_line(name: str, address: Address | None, certificate: Path) -> str:
    """What the other site's operator types after `isthmus pair`. Raises IdentityFault."""
    return encode(Invitation(name, address, identity.read_der(certificate)))


def _say(config: Path, invitation: Invitation, admitted: Admitted) -> None:
    name, address = invitation.name, invitation.address
    if not admitted.changed:
        say(f"{config} knows {name} already; nothing was changed.")
    else:
        written = " and ".join(str(path) for path in admitted.changed)
        reached = f"dialled at {address}" if address else "waited for"
        say(f"{name} is a peer now, {reached}; written: {written}")
    say(f"SHA-256 {identity.show_fingerprint(invitation.facts.fingerprint)}: has to be what {name}'s host shows")
    if admitted.changed:
        serve, reload = (typed("isthmus", each, config) for each in ("serve", "reload"))
        say(f"Next: {serve}; if the site runs already, {reload}")
