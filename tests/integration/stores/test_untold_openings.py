"""West's store is opened again and again, and no peer hears of it: east goes on believing what it knew."""

from dedupstore import open_store
from tests.integration.bed.contents import volume
from tests.integration.bed.ends import Array
from tests.integration.bed.passes import cost
from tests.integration.bed.sites import Bed, drain, run

DATA = volume("data", 8 << 20)
WARM = 0.01
MORE_THAN_EPOCHS = 20


def test_openings_without_a_word_to_a_peer_cost_nothing(bed: Bed) -> None:
    with Array() as array:
        pair = bed.pair(array.address, store={"mode": "disk", "size": "64MiB"})
        run(*pair.sites)
        cost(pair, DATA)
        assert cost(pair, DATA) < WARM
        drain(pair.west)
        for _ in range(MORE_THAN_EPOCHS):
            open_store("disk", 64 << 20, pair.west.config.parent / "west-store").close()
        pair.west.start()
        pair.west.wait_ready()
        for site in pair.sites:
            site.wait_up()
        assert cost(pair, DATA) < WARM
        drain(*pair.sites)
