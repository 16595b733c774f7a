"""What a larger store would bring: look-ups with a known answer, through the memory store and by themselves."""

from dedupstore.fingerprint import fingerprint
from dedupstore.memory import MemoryStore
from dedupstore.reuse import REMEMBERED, Reuse

MIB = 1 << 20
CHUNK = 16 << 10


def names(count: int, first: int = 0) -> list[bytes]:
    return [fingerprint(number.to_bytes(8, "big")) for number in range(first, first + count)]


def looked_at(count: int) -> list[bytes]:
    """Such fingerprints as are sampled."""
    return [bytes((0, *name[:3])) + name[4:] for name in names(count)]


def test_a_store_twice_as_large_would_have_answered() -> None:
    """Data of one and a half times the store's size, again and again: nothing is found, twice the size finds all."""
    store = MemoryStore(16 * MIB)
    data, all_names = bytes(CHUNK), names(1536)
    for _ in range(2):
        for name in all_names:
            if store.find(name) is None:
                store.put(name, data)
    figures = store.figures()
    assert figures.misses > 1.8 * len(all_names)
    (factor, missed), *_ = figures.missed_by_size
    assert factor == 2
    assert 0.2 * len(all_names) < missed < 3 * len(all_names)  # a sample of a few
    assert [more for _, more in figures.missed_by_size] == sorted(more for _, more in figures.missed_by_size)


def test_hits_are_counted_by_age() -> None:
    store = MemoryStore(64 * MIB)
    data, all_names = bytes(CHUNK), names(3000)
    for name in all_names:
        store.put(name, data)
    old, new = all_names[:1000], all_names[-200:]
    for name in old:
        assert store.find(name)
    by_age = store.figures().hits_by_age
    assert sum(by_age[:3]) == 0 < sum(by_age)
    for name in new:
        assert store.find(name)
    assert sum(store.figures().hits_by_age) >= sum(by_age)


def test_what_is_remembered_is_bounded_and_the_estimate_stays() -> None:
    reuse = Reuse(1 << 40)
    sampled = looked_at(3 * REMEMBERED)
    for at, name in enumerate(sampled):
        reuse.put(name, at)
    for name in sampled:
        reuse.miss(name, len(sampled))
    estimate = reuse.missed_by_size[0][1] / 256
    assert 0.8 * len(sampled) < estimate < 1.2 * len(sampled)


def test_what_no_size_would_hold_any_more_takes_the_place_of_nothing() -> None:
    """A store that lives for long would look at fewer and fewer fingerprints."""
    reuse = Reuse(100)
    sampled = looked_at(REMEMBERED + 100)
    for at, name in enumerate(sampled):
        reuse.put(name, 10 * at)
    for name in sampled[-10:]:
        reuse.miss(name, 10 * len(sampled))
    assert reuse.missed_by_size[0] == (2, 10 * 256)


def test_what_was_never_stored_is_not_missed() -> None:
    reuse = Reuse(MIB)
    for name in names(1000):
        reuse.miss(name, 0)
    assert reuse.missed_by_size[-1][1] == 0


def test_what_eight_times_the_size_would_hold_is_remembered() -> None:
    first, second = bytes(32), bytes((0, 1)) + bytes(30)
    reuse = Reuse(100)
    reuse.put(first, 100)
    reuse.put(second, 850)
    reuse.miss(first, 900)
    assert reuse.missed_by_size == [(2, 0), (4, 0), (8, 256)]
    reuse.miss(first, 901)
    assert reuse.missed_by_size == [(2, 0), (4, 0), (8, 256)], "nor would that size have held it any more"
