"""Only TLS 1.3 is spoken, by either side, and nothing is ever sent or taken before both certificates were judged.

Early data needs a ticket of an earlier connection: west gives none, and does not resume a connection that asks for it.
"""

import ssl
import warnings

import pytest

from proxy.protocol.codes import FrameType
from tests.certificates import make
from tests.integration.bed.ends import Array
from tests.integration.bed.sites import Bed
from tests.integration.peers.scripted import Answerer, context, dial, hello
from tests.integration.peers.stage import hub, says


def limited(tls: ssl.SSLContext, highest: ssl.TLSVersion) -> ssl.SSLContext:
    """Speak at most that version, with all that old versions need."""
    tls.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        tls.minimum_version, tls.maximum_version = ssl.TLSVersion.TLSv1, highest
    return tls


@pytest.mark.parametrize("version", ["TLSv1", "TLSv1_1", "TLSv1_2"])
def test_old_versions(bed: Bed, version: str) -> None:
    """An alert for the one side, a line in the log of the other; east meanwhile gets in."""
    old = ssl.TLSVersion[version]
    make(bed.directory / "west", "west")
    with Array() as array, Answerer(limited(context(bed.directory / "west", answering=True), old), print) as answerer:
        with hub(bed, array.address) as stage:
            with pytest.raises(ssl.SSLError, match="ALERT_PROTOCOL_VERSION"):
                dial(stage.tunnel, limited(context(bed.directory / "rogue"), old))
            says(stage.west, "refused: TLS failed: unsupported protocol")
            stage.still_works(array)
        dialling = bed.site("north", {"west": answerer.address})
        dialling.start()
        says(dialling, "west", "TLS", "protocol")
        assert dialling.stop() == 0


def test_no_early_data(bed: Bed) -> None:
    with Array() as array, hub(bed, array.address) as stage:
        tls = context(bed.directory / "rogue")
        with dial(stage.tunnel, tls) as lane:
            lane.come_up(hello("rogue", "west"))
            lane.expect(FrameType.PING)
            session = lane.connection.session
            assert session is not None
            assert not session.has_ticket
        with dial(stage.tunnel, tls, session) as lane:
            assert not lane.connection.session_reused
            lane.greet(hello("rogue", "west"))
            lane.expect(FrameType.HELLO)
