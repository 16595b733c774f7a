"""The user, file descriptors, CPU, memory and disk, against what the configuration may come to need."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dedupstore.fitting import LEAST_BYTES, containers_of
from dedupstore.store import CONTAINER_BYTES
from proxy.config.model import SiteConfig
from proxy.doctor.facts import Disk, Memory, NoDisk, Processors
from proxy.doctor.findings import Finding, attention, ok, problem
from proxy.figures import size as show_size

USER = "user"
LIMITS = "limits"
DESCRIPTORS = "file descriptors"
CPU = "CPU"
MEMORY = "memory"
STORE = "store"
HISTORY = "history"

LANES = 128
"""Connections that one tunnel may have (PROTOCOL.md, "Lanes")."""
LANE_DESCRIPTORS = 2
"""The connection, and one more to watch it by."""
ATTEMPTS = 16
"""Connections that are being made to a peer at once."""
AT_THE_DOOR = 256
"""Connections to the tunnel listener that have not shown who they are yet."""
VISITORS = 128
"""Connections to the status listener."""
OWN = 64
"""Libraries, logs, the store's files, the event loop."""
FEW_STREAMS = 32
"""Streams a peer with which a site is of use: twice the volumes that an array replicates at once."""
CONTEXTS = 286 << 20
"""Bytes of long contexts a peer where compression adapts: 64 MiB of windows each way, most in windows of 1 MiB, beside
each of which zstd keeps tables and buffers: 2.7 MiB a writer, 1.4 MiB a reader. And two writers for each of the streams
that compare two levels at once."""
LANE = 2 << 20
"""Bytes of a lane with the longest frame on its way. A peer that was taken over can have that of all lanes at once; a
control group that has no room for it has the site killed, with the connections of all other peers."""
BASE = 128 << 20
"""Bytes of a process without its store and what is under way."""
LISTED = 460
"""Bytes of memory a container of a disk store, which has one list of all."""
REMEMBERED = 300
"""Bytes of memory a chunk of a memory store, beside its own."""
INDEXED = 128
"""Bytes of the index in use a chunk of a disk store that has turned over often; 90 when it is full for the first time.

What goes leaves gaps in all pages, and a page is joined with its neighbour when it is a quarter full."""


def user(owner: str | None, again: str) -> Iterator[Finding]:
    """`owner`: whose the site's key is, if not this user's; `again`: how that one runs this, or nothing."""
    if owner is not None:
        found = f"the site's key is {owner}'s, and this is another user: what {owner} may do and has to is not seen"
        yield attention(USER, found, again)


def limits(process: int, *, runs: bool) -> Finding:
    """Whose are told below. `process`: the running site's number, or 0 if it is not seen; `runs`: all the same."""
    if process:
        return ok(LIMITS, f"those of the running site, process {process}, are told: of descriptors, CPU and memory")
    if runs:
        found = "those of this shell are told, since the running site's process is not seen from here"
        return attention(LIMITS, found, "run this as root or as the site's user, and where it runs: in its container")
    return ok(LIMITS, "those of this shell are told, since the site does not run: its unit or container may set others")


def descriptors(config: SiteConfig, limit: int) -> Finding:
    """`limit`: the hard one of the site, or of what is started like this process."""
    needed, least = needed_descriptors(config, config.tunnel.streams), needed_descriptors(config, FEW_STREAMS)
    found = f"{limit:,} are allowed; all streams, lanes and listeners together may take {needed:,}"
    remedy = f"LimitNOFILE={needed} in the systemd unit, ulimits of a container, or ulimit -n {needed} in the shell"
    if limit >= needed:
        return ok(DESCRIPTORS, found)
    if limit >= least:
        fewer = f"; or fewer tunnel.streams than {config.tunnel.streams}"
        return attention(DESCRIPTORS, found, remedy + fewer)
    return problem(DESCRIPTORS, found, remedy)


def needed_descriptors(config: SiteConfig, streams: int) -> int:
    """With so many streams that each peer has opened, and as many to it if there is a forward to it."""
    directions = sum(1 + any(forward.peer == peer.name for forward in config.forwards) for peer in config.peers)
    listeners = 2 + sum(1 + len(forward.ports or ()) for forward in config.forwards)
    door = AT_THE_DOOR if config.tunnel.listen else 0
    lanes = len(config.peers) * (LANE_DESCRIPTORS * LANES + ATTEMPTS)
    return directions * streams + lanes + listeners + door + VISITORS + OWN


def processors(facts: Processors) -> Finding:
    """A quota is time of all threads together; who has used it up stands still until the next period."""
    has = "1 core" if facts.cores == 1 else f"{facts.cores} cores"
    if facts.quota is not None:
        has += f", of which the control group allows the time of {facts.quota:.3g}"
    if facts.quota is None or facts.quota >= 1:
        return ok(CPU, f"{has}; the site uses one for its loop, and some of a second for disks")
    costs = "the site carries that much less, and whenever it is used up, all streams stand still for up to 100 ms"
    remedy = "allow two or more (CPUQuota=200% in the unit, --cpus 2 of a container), or set no quota"
    return attention(CPU, f"{has}: {costs}", remedy)


@dataclass(frozen=True, slots=True)
class _Need:
    """Memory that a site may take by its file. Bytes."""

    all: int
    store: int
    """Of that, what its store takes when the site starts."""
    words: str
    lower: str
    """What to change in the file if that is too much."""


def memory(config: SiteConfig, facts: Memory, *, filled: bool) -> Iterator[Finding]:
    """`filled`: the site runs, and its store has taken its memory already."""
    need = _need(config)
    yield from limit(config, facts)
    yield _free_memory(facts.available, need, filled=filled)


def limit(config: SiteConfig, facts: Memory) -> Iterator[Finding]:
    """A control group that allows less than the site may take: the kernel kills it when it needs more, or slows it."""
    need = _need(config)
    enough = -(-(need.all + len(config.peers) * LANES * LANE) >> 20)
    if facts.limit is not None and facts.limit < need.all:
        found = f"{need.words}; the control group allows {show_size(facts.limit)}"
        yield problem(MEMORY, found, f"{need.lower}; or MemoryMax={enough}M in the unit, --memory of a container")
    if facts.throttled is not None and facts.throttled < need.all:
        found = f"{need.words}; from {show_size(facts.throttled)} on the control group slows it down (memory.high)"
        yield attention(MEMORY, found, f"{need.lower}; or MemoryHigh={enough}M in the unit")


def _need(config: SiteConfig) -> _Need:
    under_way = config.tunnel.memory + config.tunnel.unacked
    key, store = ("size", config.store.size) if config.store.mode == "memory" else ("cache", config.store.cache)
    adapts = config.compression.codec == "zstd" and config.compression.level == "auto"
    contexts = CONTEXTS * len(config.peers) if adapts else 0
    tables = _tables(config)
    needed = BASE + under_way + contexts + store + tables
    shown = f"its tables {show_size(tables)}, under way {show_size(under_way)}, compression {show_size(contexts)}"
    parts = f"store.{key} {show_size(store)}, {shown}, itself the rest"
    # Of a very large disk store the tables are more than its cache: then that alone would not help.
    lower = f"lower store.{'size' if tables > store else key}, or tunnel.memory and tunnel.unacked"
    return _Need(needed, store, f"the site may take {show_size(needed)} ({parts})", lower)


def _tables(config: SiteConfig) -> int:
    """Bytes by which a full store finds what it holds."""
    size = config.store.size
    if config.store.mode == "memory":
        return size // config.chunking.average * REMEMBERED
    return containers_of(size) * LISTED


def index(config: SiteConfig, facts: Memory) -> Iterator[Finding]:
    """Whether look-ups in a full disk store find its index in memory."""
    length = config.store.size // config.chunking.average * INDEXED
    if config.store.mode == "disk" and facts.available is not None and facts.available < length:
        found = (
            f"the index of a full store has {show_size(length)}, and the system can keep {show_size(facts.available)}"
            " in memory: each look-up beyond that waits for the disk, and all streams with it"
        )
        yield attention(STORE, found, "lower store.size, or raise chunking.average, or add memory")


def _free_memory(available: int | None, need: _Need, *, filled: bool) -> Finding:
    wanted, beside = (need.all - need.store - BASE, " beside the running site's store") if filled else (need.all, "")
    if available is None:
        free = f"see that {show_size(wanted)} are free"
        return attention(MEMORY, f"{need.words}; how much is free is not told", free)
    if available < wanted:
        found = f"{need.words}; only {show_size(available)} are free{beside}"
        return problem(MEMORY, found, f"{need.lower}; or free {show_size(wanted - available)} of memory")
    return ok(MEMORY, f"{need.words}; {show_size(available)} are free{beside}")


def disk(config: SiteConfig, facts: Disk | NoDisk | None, again: str = "") -> Iterator[Finding]:
    """Room for a disk store to grow to its size; of one in memory there are no facts.

    `again`: how the site's user runs this, if that is another one.
    """
    size = config.store.size
    if facts is None:
        yield ok(STORE, f"in memory, {show_size(size)}; it is empty after a restart")
        return
    path = config.store.path
    if isinstance(facts, NoDisk):
        yield _no_disk(facts, again)
        return
    if facts.refused:
        remedy = "let the site's user write there (chown, or mount it writable), or run this as that user"
        yield problem(STORE, f"{path} cannot be written: {facts.refused}", remedy)
    if facts.used > size + CONTAINER_BYTES:  # its lock and such are no part of its size
        found = f"{path} holds {show_size(facts.used)}: the next start drops what is beyond {show_size(size)}"
        yield attention(STORE, found, "set store.size as it was, unless that is meant")
        return
    to_come = max(0, size - facts.used)
    has = f"{path}: {show_size(facts.used)} of {show_size(size)} are there already, {show_size(facts.free)} are free"
    if facts.free >= to_come:
        yield ok(STORE, has)
        return
    room = facts.free + facts.used
    remedy = f"free {show_size(to_come - facts.free)}"
    if room >= LEAST_BYTES:
        remedy += f', or lower store.size: at most "{room >> 20}MiB"'  # as a site's file has it, not rounded up
    yield problem(STORE, f"{has}: the disk is full before the store is, and what comes then is not learned", remedy)


def _no_disk(facts: NoDisk, again: str) -> Finding:
    """What another user than the site's may not look at can be as it should."""
    if not facts.denied:
        remedy = "name a directory of a local disk as store.path, or move away what is there"
        return problem(STORE, facts.words, remedy)
    if again:
        return attention(STORE, facts.words, again)
    return problem(STORE, facts.words, "let the site's user read and write there (chown), or run this as that user")


def history(path: Path, wrong: str, stranger: str = "", unkept: str = "") -> Finding:
    """`wrong`: why the file cannot be written, or nothing. `stranger`: whose it is in words, if it is not the site's.
    `unkept`: what the running site says if it does not keep it there all the same."""
    lost = "history and events are kept in memory, and a restart forgets them"
    if stranger:
        return attention(HISTORY, f"{stranger}: {lost}", "name another file as status.history")
    if wrong:
        found = f"{path} cannot be written ({wrong}): {lost}"
        rights = "give the site's user room and rights there, or name another file as status.history"
        remedy = f"{rights}; run this as that user"
        return attention(HISTORY, found, remedy)
    if unkept:
        remedy = "see that its disk answers and has room; if it says the same in a minute, restart the site"
        return attention(HISTORY, f"the running site says: {unkept}", remedy)
    return ok(HISTORY, f"kept in {path}")
