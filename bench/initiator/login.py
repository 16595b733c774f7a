"""The login phase (RFC 7143, section 6): what an initiator wishes, and what both sides agreed on.

The security stage comes first, with CHAP (section 12.1.3) or none, then the operational keys of section 13 are
negotiated. Each step is a request and its response, repeated as long as the target needs more to end a stage.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from bench.initiator.pdu import FINAL, Digests, InitiatorFailure, Opcode, Pdu, words

INITIATOR = "iqn.2024-01.org.example:initiator"
SECURITY, OPERATIONAL, FULL_FEATURE = 0, 1, 3
"""Stages of a login, as the fields CSG and NSG number them."""
ISID = bytes.fromhex("80497374686d0000")
"""An ISID of type random, then a TSIH of zero: the login begins anew, and joins no earlier one (section 11.12.5)."""
STEPS_MAX = 8
Keys = Mapping[str, str]
Ask = Callable[[Pdu], Pdu]
"""Sends a login request, and returns the response."""


class LoginRefused(InitiatorFailure):
    """The target refused the login, with the status class and detail of section 11.13.5."""

    def __init__(self, status: int, detail: int) -> None:
        super().__init__(f"login refused: status class {status}, detail {detail}")
        self.status = status
        self.detail = detail


@dataclass(frozen=True)
class Wishes:
    """What an initiator asks for. Sizes are bytes."""

    target: str = ""
    """Name of the target; empty for a discovery (section 4.3)."""
    initiator: str = INITIATOR
    account: tuple[str, str] | None = None
    """Name and secret for CHAP; None: no authentication."""
    header_digest: str = "None"
    data_digest: str = "None"
    receive: int = 262144
    """MaxRecvDataSegmentLength: most bytes of data in a PDU to us."""
    send: int = 262144
    """Most bytes of data in a PDU from us, even if the target takes more."""
    initial_r2t: bool = True
    immediate: bool = True
    first_burst: int = 65536
    max_burst: int = 262144

    @property
    def names(self) -> dict[str, str]:
        """Keys of the first request: who asks, and for what."""
        purpose = {"SessionType": "Normal", "TargetName": self.target} if self.target else {"SessionType": "Discovery"}
        return {"InitiatorName": self.initiator, **purpose}

    @property
    def operational(self) -> Keys:
        """Keys that the operational stage negotiates."""
        return {
            "HeaderDigest": self.header_digest,
            "DataDigest": self.data_digest,
            "MaxRecvDataSegmentLength": str(self.receive),
            "InitialR2T": _yes_or_no(self.initial_r2t),
            "ImmediateData": _yes_or_no(self.immediate),
            "FirstBurstLength": str(self.first_burst),
            "MaxBurstLength": str(self.max_burst),
            "DefaultTime2Wait": "2",
            "DefaultTime2Retain": "0",
            "ErrorRecoveryLevel": "0",
        }


@dataclass(frozen=True)
class Agreed:
    """What both sides agreed on. What the target did not say has the default of section 13."""

    keys: Keys
    """What the target said in the operational stage."""

    @property
    def digests(self) -> Digests:
        """Which digests PDUs carry from the first one after the login on."""
        return Digests(self.keys.get("HeaderDigest") == "CRC32C", self.keys.get("DataDigest") == "CRC32C")

    @property
    def target_takes(self) -> int:
        """Most bytes of data in a PDU to the target."""
        return int(self.keys.get("MaxRecvDataSegmentLength", "8192"))

    @property
    def initial_r2t(self) -> bool:
        """True if the target sends an R2T for all data of a write that its command does not carry."""
        return self.keys.get("InitialR2T", "Yes") == "Yes"

    @property
    def immediate(self) -> bool:
        """True if a command may carry data of its write."""
        return self.keys.get("ImmediateData", "Yes") == "Yes"

    @property
    def first_burst(self) -> int:
        """Most bytes of a write's data that may be sent without an R2T."""
        return int(self.keys.get("FirstBurstLength", "65536"))


def log_in(wishes: Wishes, ask: Ask) -> Agreed:
    """Go through both stages. Raises LoginRefused."""
    first = wishes.names | {"AuthMethod": "CHAP" if wishes.account else "None"}
    if wishes.account:
        _ask(ask, SECURITY, SECURITY, first)
        challenge = _ask(ask, SECURITY, SECURITY, {"CHAP_A": "5"})
        _ask(ask, SECURITY, OPERATIONAL, _proof(*wishes.account, challenge))
    else:
        _ask(ask, SECURITY, OPERATIONAL, first)
    return Agreed(_ask(ask, OPERATIONAL, FULL_FEATURE, wishes.operational))


def _ask(ask: Ask, stage: int, following: int, keys: Keys) -> Keys:
    """Make one step, and return the target's keys. If it is to end the stage, ask again until the target agrees.

    `following`: the next stage, or `stage` itself to remain. Raises LoginRefused; ConnectionError after `STEPS_MAX`.
    """
    onward = FINAL | following if following != stage else 0
    found: dict[str, str] = {}
    for _ in range(STEPS_MAX):
        response = ask(Pdu(Opcode.LOGIN_REQUEST, onward | stage << 2, 0, ISID, 0, words(0), encode_keys(keys), True))
        status = response.rest[16:18]
        if status[0]:
            raise LoginRefused(*status)
        found.update(pairs(response.data))
        if response.flags & FINAL == onward & FINAL:
            return found
        keys = {}
    raise ConnectionError(f"the target does not leave stage {stage} of the login")


def _proof(name: str, secret: str, challenge: Keys) -> Keys:
    """Keys that answer the challenge: MD5 over identifier, secret and challenge (RFC 1994, section 4.1). This is CHAP's
    algorithm 5, which every target knows."""
    covered = bytes([int(challenge["CHAP_I"])]) + secret.encode() + bytes.fromhex(challenge["CHAP_C"][2:])
    return {"CHAP_N": name, "CHAP_R": f"0x{hashlib.md5(covered, usedforsecurity=False).hexdigest()}"}


def encode_keys(keys: Keys) -> bytes:
    """Keys and values as a PDU's data (section 6.1)."""
    return b"".join(f"{key}={value}\0".encode() for key, value in keys.items())


def pairs(data: bytes | memoryview) -> Iterator[tuple[str, str]]:
    """Every key of a PDU's data with its value, in order, since answers to SendTargets repeat keys."""
    for text in bytes(data).decode().split("\0"):
        key, equals, value = text.partition("=")
        if equals:
            yield key, value


def _yes_or_no(value: bool) -> str:
    return "Yes" if value else "No"
