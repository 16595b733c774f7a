"""A site's answers, made up for the page: what a real pair seldom shows at once. The shapes are the API's own."""

import math
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from proxy.observe import answers
from proxy.observe.answers import Level, Reason, Severity
from proxy.observe.snapshot import (
    AdviceStatus,
    CommandsStatus,
    HistogramStatus,
    ShareStatus,
    StreamStatus,
    VerdictStatus,
    VolumeStatus,
    ZoneStatus,
)

HOSTILE = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>'
"""A name that would run, were it ever taken for markup."""
NOW = time.time()
MIB = 1 << 20
BOUNDS = (0.001, 0.01, 0.1)


def verdict(limit: str, share: float, words: str) -> VerdictStatus:
    return VerdictStatus(limit, share, words)


def reason(code: str, level: Level, words: str, remedy: str) -> Reason:
    return Reason(code, level, words, remedy, NOW - 754)


def lane(number: int, level: Level = Level.HEALTHY) -> answers.LaneHealth:
    return answers.LaneHealth(
        number, f"192.0.2.9:{49000 + number}", level, NOW - 7000, [], 0.1003, 0.0098, 21.4e6, 0.4e6, 1 << 20, "bbr", 0
    )


def tunnel(level: Level, reasons: list[Reason], lanes: int) -> answers.TunnelHealth:
    state = "up" if lanes else "outage"
    held = [lane(number) for number in range(1, lanes + 1)]
    return answers.TunnelHealth(level, NOW - 7000, reasons, state, 0.1003, 0.0098, 42.8e6, 0.8e6, 3 * MIB, 2, 2, held)


def health(*, hostile: str = "west") -> answers.HealthAnswer:
    lost = reason(
        "IST-102", Level.CRITICAL, "no lane for 12 min 34 s", "see whether the line and the peer's site are up"
    )
    old = reason("IST-401", Level.ATTENTION, "its certificate expires in 12 days", "make a new one: isthmus keygen")
    limited = verdict("wan rate", 0.93, "the line takes 42.8 Mbit/s, of which 1.0% were sent again")
    outage = verdict("outage", 1.0, "north could not be reached for 100% of the time")
    west = answers.PeerHealth(hostile, Level.HEALTHY, NOW - 7000, [], 3, limited, tunnel(Level.HEALTHY, [], 2))
    north = answers.PeerHealth("north", Level.CRITICAL, NOW - 754, [], 1, outage, tunnel(Level.CRITICAL, [lost], 0))
    return answers.HealthAnswer(
        "east",
        NOW,
        Level.DEGRADED,
        NOW - 754,
        "peer north: no lane for 12 min 34 s",
        [old],
        answers.StoreHealth(Level.HEALTHY, NOW - 90000, []),
        [west, north],
    )


def stream(number: int, *, peer: str = "west", name: str = "iqn.2001-05.com.example:host-1") -> StreamStatus:
    return StreamStatus(
        id=number,
        peer=peer,
        forward="replication",
        export=None,
        origin=f"10.0.0.{number}:51{number:03}",
        initiator=name,
        target="iqn.2001-05.com.example:volume",
        direction="outward",
        age_seconds=4000.0 + number,
        compression="zstd 9, 32 MiB",
        bytes={"raw": number * 900 * MIB, "after_compression": number * 120 * MIB, "delivered": number * MIB},
        sent_bits_per_second=310e6 / number,
        delivered_bits_per_second=2e6,
        verdict=verdict("wan rate", 0.9, "the line takes 42.8 Mbit/s"),
        waiting_seconds={"line": 3600.0, "source": 400.0},
    )


def rates(step: int) -> dict[str, float]:
    wave = 1 + 0.4 * math.sin(step / 9) + 0.15 * math.sin(step / 2.3)
    return {
        "lan_sent": 310e6 * wave,
        "lan_received": 4e6 * wave,
        "wan_sent": 40e6 + 2e6 * math.sin(step / 5),
        "wan_retransmitted": 0.4e6,
        "wan_received": 0.8e6 * wave,
    }


def history() -> answers.HistoryAnswer:
    steps = 300
    columns: dict[str, list[float | None]] = {name: [rates(step)[name] for step in range(steps)] for name in rates(0)}
    for column in columns.values():
        column[40:60] = [None] * 20  # the site did not run
    summary = {name: answers.RateSummary(max(filter(None, column)), 400e6, 300e6) for name, column in columns.items()}
    raw, wire = 11_400 * MIB, 1_480 * MIB
    replication = answers.Gain("forward replication", raw, 2_900 * MIB, 1_420 * MIB, wire, raw / wire, 0.745, 0.13)
    encrypted = answers.Gain("forward encrypted", 900 * MIB, 899 * MIB, 899 * MIB, 915 * MIB, 0.98, 0.001, 0.0)
    return answers.HistoryAnswer(
        "5m",
        "site",
        ["site", "peer west", "peer north", "forward replication", "forward encrypted"],
        1,
        NOW - steps,
        NOW,
        "disk",
        [NOW - steps + step for step in range(steps)],
        answers.Chart(**columns),
        answers.Summaries(**summary),
        answers.Waterfall(raw, 2_900 * MIB, 1_420 * MIB, 34 * MIB, 1_454 * MIB, 15 * MIB),
        answers.Pass(190, 2_100 * MIB, 1_310 * MIB, 92e6, 1.6),
        answers.Pass(90, 9_300 * MIB, 170 * MIB, 866e6, 54.7),
        [replication, encrypted, answers.Gain("export array", 0, 0, 0, 0, None, 0.0, 0.0)],
    )


def store() -> answers.StoreAnswer:
    shares = (0.42, 0.21, 0.09, 0.04, 0.02)
    ages = [answers.HitsByAge((1 + index) / 5, share) for index, share in enumerate(shares)]
    return answers.StoreAnswer(
        mode="disk",
        size_bytes=512 << 30,
        used_bytes=401 << 30,
        fill=401 / 512,
        chunks=26_280_000,
        oldest_seconds=19.4 * 86400,
        replaced_last_hour_bytes=2 << 30,
        hits=8_100_000,
        misses=2_300_000,
        hit_rate=0.779,
        hits_by_age=ages,
        larger=[answers.LargerStore(768 << 30, 0.021), answers.LargerStore(1 << 40, 0.034)],
        advice="a store of 1 TiB would find 3.4 % more of what is looked up",
        verified_bytes=9 << 40,
        mismatches_caught=0,
        invalid=1,
        unlearned_bytes=0,
        unwritten_bytes=14 * MIB,
        alarms=[],
    )


def commands(count: int, moved: int) -> CommandsStatus:
    seconds = HistogramStatus(BOUNDS, (count // 2, count // 2, 0, 0), count * 0.004)
    return CommandsStatus(count, moved, 0, count * 3 // 4, count // 4, HistogramStatus((), (0,), 0.0), seconds)


def status(*, hostile: str = "iqn.2001-05.com.example:volume") -> dict[str, Any]:
    words = "writes of 61 KiB at 38 MB/s: a faster line perhaps helps"
    advice = AdviceStatus(
        "perhaps", "yellow", words, ZoneStatus(38_000_000, "perhaps", "yellow"), ZoneStatus(62_000, "likely", "green")
    )
    volume = VolumeStatus(
        share="forward replication",
        target=hostile,
        unit="LUN 1",
        connections=1,
        outstanding=12,
        outstanding_peak=16,
        dropped=0,
        reads=commands(1000, 60 * MIB),
        writes=commands(181_000, 11_000 * MIB),
        write_bytes_per_second=38_000_000,
        advice=advice,
    )
    shares = [
        ShareStatus("forward replication", "high", 30_000_000, None, 0, 41_000_000, 1480 * MIB, 12.0, {}),
        ShareStatus("forward encrypted", "low", None, 5_000_000, 10, 1_000_000, 915 * MIB, 1900.0, {}),
    ]
    waiting = {"source": 400.0, "line": 6100.0, "cpu": 300.0, "shaping": 700.0, "far_array": 90.0, "peer": 7000.0}
    west = {
        "name": "west",
        "waiting_seconds": waiting,
        "shares": [asdict(share) for share in shares],
        "rate_bits_per_second": 45_000_000,
        "held_seconds": 700.0,
        "volumes": [asdict(volume)],
        "advice": asdict(advice),
    }
    north = {"name": "north", "shares": [], "volumes": []}
    return {"site": "east", "started": NOW - 7100, "uptime_seconds": 7100.0, "peers": [west, north]}


def events(hostile: str = "peer west") -> list[answers.Event]:
    return [
        answers.Event(1, NOW - 90_000, "IST-001", Severity.INFO, "site", "started, version 0.9.0", "", 1),
        answers.Event(2, NOW - 3600, "IST-101", Severity.INFO, "peer north", "the tunnel is up", "", 1),
        answers.Event(
            3, NOW - 754, "IST-102", Severity.ERROR, "peer north", "the last lane was lost", "see its line", 1
        ),
        answers.Event(4, NOW - 60, "IST-301", Severity.WARNING, hostile, "a peer was refused: expired", "renew it", 14),
    ]


def warning() -> answers.Caution:
    return answers.Caution(
        "IST-501", "forward encrypted", "900 MiB gained nothing: 0.1 % was known, and the rest does not compress",
        "send it before it is encrypted or compressed, or leave it out", NOW - 4000,
    )  # fmt: skip


@dataclass
class Scene:
    """What a stage answers; tests change it."""

    health: answers.HealthAnswer = field(default_factory=health)
    streams: list[StreamStatus] = field(
        default_factory=lambda: [stream(1), stream(2), stream(3), stream(4, peer="north")]
    )
    status: dict[str, Any] = field(default_factory=status)
    events: list[answers.Event] = field(default_factory=events)
    history: answers.HistoryAnswer = field(default_factory=history)
    store: answers.StoreAnswer = field(default_factory=store)
    warnings: list[answers.Caution] = field(default_factory=lambda: [warning()])

    def live(self, step: int) -> answers.LiveAnswer:
        return answers.LiveAnswer(
            site="east",
            version="0.9.0",
            time=time.time(),
            uptime_seconds=7100.0 + step,
            draining=False,
            health=self.health,
            rates=answers.LiveRates(**rates(step)),
            bytes={"raw": 1},
            warnings=self.warnings,
            last_event=max((event.number for event in self.events), default=0),
            streams_total=len(self.streams),
            streams=self.streams,
        )
