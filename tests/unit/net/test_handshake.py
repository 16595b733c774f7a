"""Why TLS failed, in words."""

import ssl

import pytest

from proxy.net.handshake import explain, refuses_us


@pytest.mark.parametrize(
    ("reason", "said", "words", "ours"),
    [
        ("TLSV1_ALERT_UNKNOWN_CA", "", "the other side refuses our certificate: unknown ca", True),
        ("SSLV3_ALERT_HANDSHAKE_FAILURE", "", "the other side ended TLS: handshake failure", False),
        ("WRONG_VERSION_NUMBER", "", "TLS failed: wrong version number", False),
        (None, "tlsv1 alert no application protocol", "the other side ended TLS: no application protocol", False),
        (None, "unheard of", "TLS failed: unheard of", False),
    ],
)
def test_why(reason: str | None, said: str, words: str, ours: bool) -> None:
    """Also where this Python has no name for it, as 3.11 has none for an alert that other programs give us."""
    error = ssl.SSLError(1, f"[SSL] {said} (_ssl.c:1006)")
    error.reason = reason  # type: ignore[assignment]
    assert explain(error) == words
    assert refuses_us(error) is ours
