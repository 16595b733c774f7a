"""The store as the API answers it."""

from proxy.figures import size
from proxy.observe.answers import HitsByAge, LargerStore, StoreAnswer
from proxy.observe.snapshot import Snapshot, StoreStatus

WORTH_IT = 0.02
"""Share of look-ups from which on more hits are worth a sentence."""


def store_answer(snapshot: Snapshot, replaced_last_hour: int) -> StoreAnswer:
    """`replaced_last_hour`: chunk bytes that were evicted."""
    store = snapshot.store
    asked, larger = store.hits + store.misses, larger_stores(store)
    return StoreAnswer(
        mode=store.mode,
        size_bytes=store.size_bytes,
        used_bytes=store.used_bytes,
        fill=round(store.used_bytes / store.size_bytes, 5),
        chunks=store.chunks,
        oldest_seconds=store.oldest_seconds,
        replaced_last_hour_bytes=replaced_last_hour,
        hits=store.hits,
        misses=store.misses,
        hit_rate=round(store.hits / asked, 5) if asked else None,
        hits_by_age=_by_age(store),
        larger=larger,
        advice=_advice(store, larger),
        verified_bytes=snapshot.bytes["verified"],
        mismatches_caught=snapshot.bytes["mismatches"],
        invalid=store.invalid,
        unlearned_bytes=store.unlearned_bytes,
        unwritten_bytes=store.unwritten_bytes,
        alarms=store.alarms,
    )


def _by_age(store: StoreStatus) -> list[HitsByAge]:
    """Hits by age, as shares of all look-ups: the sample has hits only, so the hit rate scales it."""
    sampled = store.hits_by_age
    asked, total = store.hits + store.misses, sum(sampled)
    share = store.hits / asked if asked else 0.0
    return [
        HitsByAge(round((at + 1) / len(sampled), 3), round(share * count / total, 5) if total else 0.0)
        for at, count in enumerate(sampled)
    ]


def larger_stores(store: StoreStatus) -> list[LargerStore]:
    """What larger stores would find beyond this one's hits; an empty list while nothing was evicted."""
    asked = store.hits + store.misses
    if not store.evicted_bytes:
        return []
    return [
        LargerStore(round(store.size_bytes * factor), round(min(1.0, more / asked), 5) if asked else 0.0)
        for factor, more in store.missed_by_size
    ]


def _advice(store: StoreStatus, larger: list[LargerStore]) -> str:
    if not store.evicted_bytes:
        return "nothing was replaced yet: a larger store would bring nothing"
    worth = next((each for each in larger if each.more_hits >= WORTH_IT), None)
    if worth is None:
        return "what was replaced is hardly asked for again: a larger store would bring little"
    return f"with {size(worth.size_bytes)} about {worth.more_hits:.0%} more of the look-ups would find their chunk"
