"""Text keys of login and text PDUs (RFC 7143, sections 6 and 13): followed, never changed.

Only keys that are known are looked at and kept. What else a login says, CHAP's names and answers among it, leaves no
trace here once its text is complete.
"""

from collections.abc import Iterator
from enum import Enum
from functools import partial

from proxy.iscsi.pdu import Sender

TEXT_MAX = 16 << 10
"""Bytes of a text that is spread over several PDUs; of a longer one nothing is looked at."""
VALUE_MAX = 255
"""Longest value that is kept: RFC 7143 allows no more for the keys that are looked at (6.1)."""


class Outcome(Enum):
    """How the two sides' words for a key become one value (section 13 says it for each key)."""

    DECLARED = "each side declares its own"
    CHOSEN = "the answer is the choice"
    LEAST = "the smaller number"
    MOST = "the greater number"
    BOTH = "yes if both say so"
    EITHER = "yes if either says so"


KEYS: dict[str, tuple[Outcome, str]] = {
    "HeaderDigest": (Outcome.CHOSEN, "None"),
    "DataDigest": (Outcome.CHOSEN, "None"),
    "AuthMethod": (Outcome.CHOSEN, "None"),
    "MaxRecvDataSegmentLength": (Outcome.DECLARED, "8192"),
    "MaxConnections": (Outcome.LEAST, "1"),
    "InitialR2T": (Outcome.EITHER, "Yes"),
    "ImmediateData": (Outcome.BOTH, "Yes"),
    "MaxBurstLength": (Outcome.LEAST, "262144"),
    "FirstBurstLength": (Outcome.LEAST, "65536"),
    "DefaultTime2Wait": (Outcome.MOST, "2"),
    "DefaultTime2Retain": (Outcome.LEAST, "20"),
    "MaxOutstandingR2T": (Outcome.LEAST, "1"),
    "DataPDUInOrder": (Outcome.EITHER, "Yes"),
    "DataSequenceInOrder": (Outcome.EITHER, "Yes"),
    "ErrorRecoveryLevel": (Outcome.LEAST, "0"),
    "InitiatorName": (Outcome.DECLARED, ""),
    "InitiatorAlias": (Outcome.DECLARED, ""),
    "TargetName": (Outcome.DECLARED, ""),
    "TargetAlias": (Outcome.DECLARED, ""),
    "TargetPortalGroupTag": (Outcome.DECLARED, ""),
    "SessionType": (Outcome.DECLARED, "Normal"),
    # Markers are of RFC 3720 only.
    "IFMarker": (Outcome.BOTH, "No"),
    "OFMarker": (Outcome.BOTH, "No"),
}
"""Key: how its value comes about, and what it is if nobody speaks of it."""

_DECISIVE = {Outcome.BOTH: "No", Outcome.EITHER: "Yes"}
"""What settles a key whatever the other side says, even nothing (6.2)."""
_NO_VALUE = {"Reject", "Irrelevant", "NotUnderstood"}


class Keys:
    """What the two sides of a connection have said."""

    def __init__(self) -> None:
        self._said: dict[str, dict[Sender, str]] = {}
        self._last: dict[str, str] = {}
        self._texts = {sender: bytearray() for sender in Sender}
        self._overlong: set[Sender] = set()
        self.incomplete = False
        """A text was too long to be looked at."""

    def text(self, sender: Sender, data: bytes, *, continued: bool) -> None:
        """The data of a login or text PDU; `continued` if the text, even a key, goes on in the next one."""
        text = self._texts[sender]
        if len(text) + len(data) > TEXT_MAX:
            self._overlong.add(sender)
            self.incomplete = True
            text.clear()
        elif sender not in self._overlong:
            text += data
        if continued:
            return
        for key, value in pairs(text):
            if key in KEYS and len(value) <= VALUE_MAX:
                self._said.setdefault(key, {})[sender] = self._last[key] = value
        text.clear()
        self._overlong.discard(sender)

    def said(self, key: str, sender: Sender) -> str | None:
        """A side's own word for a key, or None."""
        return self._said.get(key, {}).get(sender)

    def value(self, key: str) -> str:
        """What holds for both: the outcome of a negotiation, or the default. For keys that each declares see `said`."""
        outcome, default = KEYS[key]
        said = list(self._said.get(key, {}).values())
        if _DECISIVE.get(outcome) in said:
            return _DECISIVE[outcome]
        if len(said) < len(Sender) or _NO_VALUE & set(said):
            return default
        number = partial(_number, default=0)
        match outcome:
            case Outcome.LEAST:
                return min(said, key=number)
            case Outcome.MOST:
                return max(said, key=number)
        return self._last[key]

    def declared(self, key: str, sender: Sender | None) -> int:
        """The number that a side has declared; the default if that is none, or if no side is given."""
        said = None if sender is None else self.said(key, sender)
        default = int(KEYS[key][1])
        return default if said is None else _number(said, default)


def pairs(text: bytes | bytearray) -> Iterator[tuple[str, str]]:
    """The keys and values of a text; what is no such pair is passed over."""
    for one in bytes(text).split(b"\0"):
        key, equals, value = one.partition(b"=")
        if equals:
            yield key.decode(errors="replace"), value.decode(errors="replace")


def _number(value: str, default: int) -> int:
    """Decimal or hexadecimal (6.1)."""
    try:
        return int(value, 16) if value[:2].lower() == "0x" else int(value)
    except ValueError:
        return default
