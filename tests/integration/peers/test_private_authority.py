"""Sites that trust a private CA recognise each other by the names in the certificates that it signed, by nothing else.

No pins: a new certificate of the same name needs no change at the other site; one of another name opens nothing.
"""

import shutil
import signal
from functools import partial

from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, receipt, send, whole
from tests.integration.bed.sites import Bed, Pair, drain, run
from tests.integration.peers.authority import Authority
from tests.integration.peers.stage import says

content = partial(volume, "by name", 1 << 20)


def recognised(bed: Bed, array: Array, authority: Authority) -> Pair:
    pair = bed.pair(array.address, tunnel={"reconnect_max": "500ms"})
    for site in pair.sites:
        authority.sign(site.name)
        authority.recognise_by(site)
    return pair


def test_names_under_an_authority(bed: Bed) -> None:
    """Also when east comes back with another certificate."""
    authority = Authority(bed.directory)
    with Array() as array:
        pair = recognised(bed, array, authority)
        run(*pair.sites)
        sending = send(cut(content(), 1 << 16), pair.entrance)
        whole(receipt(content()), sending)
        authority.sign("east")
        assert pair.east.stop() == 0
        run(*[pair.east])
        sending = send(cut(content(), 1 << 16), pair.entrance)
        whole(receipt(content()), sending)
        drain(*pair.sites)


def test_another_name_under_the_same_authority(bed: Bed) -> None:
    """Mallory has a good certificate, too, and is neither east nor west with it."""
    authority = Authority(bed.directory)
    with Array() as array:
        pair = recognised(bed, array, authority)
        authority.sign("mallory")
        as_mallory(bed, "east")
        for site in pair.sites:
            site.start()
        says(pair.west, "the certificate for 'mallory' belongs to no configured peer")
        says(pair.east, "refused by the other side", "'mallory'", "not_a_peer")
        assert pair.east.stop() == 0

        authority.sign("east")
        as_mallory(bed, "west")
        pair.west.signal(signal.SIGHUP)
        says(pair.west, "read anew")
        pair.east.start()
        says(pair.east, "the certificate is for 'mallory', not for west")
        says(pair.west, "refused by the other side", "'mallory', not for west")
        assert not array.arrivals
        drain(*pair.sites)


def test_an_intermediate_authority(bed: Bed) -> None:
    """It has to be in the file itself: by what the root has signed it, nobody is recognised."""
    root = Authority(bed.directory)
    below = Authority(bed.directory, "below", root.signer)
    with Array() as array:
        pair = recognised(bed, array, root)
        for site in pair.sites:
            shown = below.sign(site.name).with_suffix(".crt")
            shown.write_bytes(shown.read_bytes() + below.certificate.read_bytes())
            site.start()
        says(
            pair.east,
            "the certificate for 'west' is not signed by a certificate in identity.ca itself",
            "add that CA's",
        )
        add(below, root)
        pair.east.signal(signal.SIGHUP)
        says(
            pair.west,
            "the certificate for 'east' is not signed by a certificate in identity.ca itself",
            "add that CA's",
        )
        pair.west.signal(signal.SIGHUP)
        pair.east.wait_up()
        drain(*pair.sites)


def add(authority: Authority, other: Authority) -> None:
    """To the file of another."""
    with other.certificate.open("ab") as file:
        file.write(authority.certificate.read_bytes())


def as_mallory(bed: Bed, name: str) -> None:
    """The site of that name shows mallory's certificate."""
    for kind in (".crt", ".key"):
        shutil.copy((bed.directory / "mallory").with_suffix(kind), (bed.directory / name).with_suffix(kind))
