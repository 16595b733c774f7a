"""Follows the text keys of login and text PDUs (RFC 7143, sections 6 and 13); changes none.

Only keys that are needed are looked at and kept. Everything else in a login, CHAP's names and answers included, leaves
no trace here once its text is complete.
"""

from collections.abc import Iterator

from proxy.iscsi.pdu import Sender

TEXT_MAX = 16 << 10
"""Bytes of a text, over all the PDUs that it is spread over; of a longer one nothing is looked at."""
VALUE_MAX = 255
"""Longest value that is kept: RFC 7143 allows no more for the keys that are looked at (6.1)."""

_NO_VALUE = frozenset({"Reject", "Irrelevant", "NotUnderstood"})
"""Answers to a key that leave it at its default (6.2)."""
_NO_MARKERS = _NO_VALUE | {"No"}
"""The same for markers, which only RFC 3720 has: there are none unless both sides say Yes."""

KEYS: dict[str, tuple[str, frozenset[str]]] = {
    "HeaderDigest": ("None", _NO_VALUE),
    "DataDigest": ("None", _NO_VALUE),
    "MaxRecvDataSegmentLength": ("8192", _NO_VALUE),
    "InitiatorName": ("", _NO_VALUE),
    "TargetName": ("", _NO_VALUE),
    "IFMarker": ("No", _NO_MARKERS),
    "OFMarker": ("No", _NO_MARKERS),
}
"""The keys that are looked at: the default of each, and the words by which either side leaves it at that."""


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
        """The value that a side itself has named for a key, or None."""
        return self._said.get(key, {}).get(sender)

    def value(self, key: str) -> str:
        """The value that was agreed on: the answer, or the default. For keys that each side declares see `said`."""
        default, none = KEYS[key]
        said = self._said.get(key, {}).values()
        return default if len(said) < len(Sender) or not none.isdisjoint(said) else self._last[key]

    def declared(self, key: str, sender: Sender | None) -> int:
        """The number that a side has declared; the default if it declared no number, or if no side is given."""
        said = None if sender is None else self.said(key, sender)
        default = int(KEYS[key][0])
        return default if said is None else _number(said, default)


def pairs(text: bytes | bytearray) -> Iterator[tuple[str, str]]:
    """The keys and values of a text; anything that is no such pair is skipped."""
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
