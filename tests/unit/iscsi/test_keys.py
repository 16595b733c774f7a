"""Text keys: how two sides' words become one value."""

import pytest

from proxy.iscsi.keys import KEYS, TEXT_MAX, VALUE_MAX, Keys
from proxy.iscsi.pdu import Sender
from tests.unit.iscsi.pdus import text

INITIATOR, TARGET = Sender.INITIATOR, Sender.TARGET


def agreed(one: dict[str, str], other: dict[str, str]) -> Keys:
    keys = Keys()
    keys.text(INITIATOR, text(**one), continued=False)
    keys.text(TARGET, text(**other), continued=False)
    return keys


@pytest.mark.parametrize(
    ("key", "one", "other", "outcome"),
    [
        ("HeaderDigest", "CRC32C,None", "CRC32C", "CRC32C"),
        ("HeaderDigest", "None,CRC32C", "None", "None"),
        ("HeaderDigest", "CRC32C", "Reject", "None"),
        ("HeaderDigest", "CRC32C", "NotUnderstood", "None"),
        ("DataDigest", "CRC32C", "Irrelevant", "None"),
        ("OFMarker", "Yes", "Yes", "Yes"),
        ("OFMarker", "Yes", "NotUnderstood", "No"),
        ("IFMarker", "No", "Yes", "No"),
    ],
)
def test_outcomes(key: str, one: str, other: str, outcome: str) -> None:
    assert agreed({key: one}, {key: other}).value(key) == outcome


def test_the_target_may_ask_first() -> None:
    keys = Keys()
    keys.text(TARGET, text(DataDigest="CRC32C,None"), continued=False)
    assert keys.value("DataDigest") == "None"
    keys.text(INITIATOR, text(DataDigest="CRC32C"), continued=False)
    assert keys.value("DataDigest") == "CRC32C"


@pytest.mark.parametrize("key", ["HeaderDigest", "OFMarker"])
def test_an_offer_is_no_agreement(key: str) -> None:
    keys = Keys()
    keys.text(INITIATOR, text(**{key: "CRC32C" if key == "HeaderDigest" else "Yes"}), continued=False)
    assert keys.value(key) == KEYS[key][0]


def test_what_nobody_speaks_of_has_its_default() -> None:
    keys = Keys()
    assert keys.value("DataDigest") == "None"
    assert keys.declared("MaxRecvDataSegmentLength", INITIATOR) == 8192
    assert keys.said("TargetName", INITIATOR) is None


def test_numbers_that_are_none() -> None:
    keys = agreed({"MaxRecvDataSegmentLength": "many"}, {})
    assert keys.declared("MaxRecvDataSegmentLength", INITIATOR) == 8192
    keys = agreed({"MaxRecvDataSegmentLength": "0x40000"}, {})
    assert keys.declared("MaxRecvDataSegmentLength", INITIATOR) == 262144


def test_each_side_declares_its_own() -> None:
    keys = agreed({"MaxRecvDataSegmentLength": "262144"}, {"MaxRecvDataSegmentLength": "8192"})
    assert keys.said("MaxRecvDataSegmentLength", INITIATOR) == "262144"
    assert keys.said("MaxRecvDataSegmentLength", TARGET) == "8192"


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_key_may_be_spread_over_pdus(cut: int) -> None:
    """RFC 7143, 6.2: anywhere, in the middle of a key or of its value."""
    whole = text(InitiatorName="iqn.2024-01.org.example:a", TargetName="iqn.2024-01.org.example:b")
    keys = Keys()
    keys.text(INITIATOR, whole[:cut], continued=True)
    assert keys.said("TargetName", INITIATOR) is None
    keys.text(INITIATOR, whole[cut:], continued=False)
    assert keys.said("InitiatorName", INITIATOR) == "iqn.2024-01.org.example:a"
    assert keys.said("TargetName", INITIATOR) == "iqn.2024-01.org.example:b"


def test_a_text_without_end_is_dropped() -> None:
    """Bounded; the next text is read again."""
    keys = Keys()
    for _ in range(3):
        keys.text(INITIATOR, b"x" * (TEXT_MAX // 2), continued=True)
    keys.text(INITIATOR, text(TargetName="late"), continued=False)
    assert keys.said("TargetName", INITIATOR) is None
    keys.text(INITIATOR, text(TargetName="next", InitiatorName="v" * (VALUE_MAX + 1)), continued=False)
    assert keys.said("TargetName", INITIATOR) == "next"
    assert keys.said("InitiatorName", INITIATOR) is None


def test_only_known_keys_are_kept() -> None:
    keys = agreed({"CHAP_R": "0xsecret", "X-org.example.Key": "1"}, {"CHAP_C": "0xchallenge"})
    assert "secret" not in repr(vars(keys))
    assert "challenge" not in repr(vars(keys))


def test_what_is_no_text() -> None:
    keys = Keys()
    keys.text(INITIATOR, b"\xff\xfe\0=\0no equals\0TargetName=\xff\0", continued=False)
    assert keys.said("TargetName", INITIATOR) == "\ufffd"
