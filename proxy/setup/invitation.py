"""The line that one site's operator gives the other's: who the site is and where it is reached.

It is the site's name, a colon, and in base64url (RFC 4648, section 5, without padding):

| bytes | |
|---|---|
| 1 | version, 1 |
| 2 | length of the address, big-endian; 0 if the site is not to be dialled |
| | the address, ASCII |
| | the site's certificate, DER |
| 8 | the beginning of the SHA-256 of all before it: the name, the colon, the bytes |

The sum finds a line that was cut or mistyped. It proves nothing: who can change the line can change the sum, so the
certificate's SHA-256 is shown at both ends to be compared.
"""

import base64
import hashlib
import re
from dataclasses import dataclass

from proxy import identity
from proxy.config.addresses import Address, parse_address
from proxy.config.names import is_name
from proxy.errors import ExitCode, OperatorError
from proxy.identity import Certificate
from proxy.text import printable

VERSION = 1
SUM_BYTES = 8
LARGEST = 8192
"""Characters; a certificate that `isthmus keygen` made comes to some 650."""
_COPY = "type the one that `isthmus init` or `isthmus invite` printed, and behind it this site's file"
_CUT = "it was cut or changed on the way; copy the whole line again"


@dataclass(frozen=True, slots=True)
class Invitation:
    """A site as the line tells of it."""

    name: str
    address: Address | None
    """Where its tunnel listener is reached; None if it only dials."""
    certificate: bytes
    """DER."""

    @property
    def facts(self) -> Certificate:
        """What is in the certificate. Raises ValueError."""
        return identity.from_der(self.certificate)


def encode(invitation: Invitation) -> str:
    """The line: letters, digits, and - _ . : only, so that no shell minds it."""
    address = str(invitation.address or "").encode("ascii")
    body = bytes([VERSION]) + len(address).to_bytes(2) + address + invitation.certificate
    return f"{invitation.name}:{_to_text(body + _sum(invitation.name, body))}"


def decode(line: str) -> Invitation:
    """What the line tells; white space in it does not matter. Raises OperatorError (USAGE).

    It may be the whole command that was printed, which is a line as well, and not just the word in its midst.
    """
    line = "".join(_told(line.split()))
    name, colon, text = line.partition(":")
    if not colon or not is_name(name) or len(line) > LARGEST:
        shown = printable(line[:20]) + ("…" if len(line) > 20 else "")
        raise _wrong(f'"{shown}" is not such a line', _COPY)
    body = _summed(name, text)
    if body[0] != VERSION:
        raise _wrong(f"it is of version {body[0]}, which this release does not know", "take the same release for both")
    end = 3 + int.from_bytes(body[1:3])
    return Invitation(name, _address(body[3:end]), body[end:])


def _told(words: list[str]) -> list[str]:
    """Without the command around them: no line has a dot behind its colon."""
    if words[:2] != ["isthmus", "pair"]:
        return words
    return words[2:-1] if words[-1].endswith(".toml") else words[2:]


def _summed(name: str, text: str) -> bytes:
    """The bytes before the sum, three at least, if it is right."""
    content = _from_text(text)
    body, found = content[:-SUM_BYTES], content[-SUM_BYTES:]
    if len(body) < 3 or found != _sum(name, body):
        raise _wrong("its check sum is wrong", _CUT)
    return body


def _to_text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _from_text(text: str) -> bytes:
    """Nothing but what `_to_text` gives: the bits that the last letter does not need count, too."""
    if re.fullmatch("[A-Za-z0-9_-]+", text) and len(text) % 4 != 1:
        content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        if _to_text(content) == text:
            return content
    raise _wrong("its letters are not all there", _CUT)


def _address(text: bytes) -> Address | None:
    try:
        return parse_address(text.decode("ascii")) if text else None
    except ValueError as error:
        raise _wrong(f"its address {error}", "make it anew with `isthmus invite`") from None


def _sum(name: str, body: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b":" + body).digest()[:SUM_BYTES]


def _wrong(what: str, remedy: str) -> OperatorError:
    return OperatorError(f"the other site's line cannot be used: {what}; {remedy}", ExitCode.USAGE)
