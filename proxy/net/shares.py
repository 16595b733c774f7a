"""What one peer's forwards and exports are granted: from the configuration to the tunnel, and back to the status."""

import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from proxy.config.model import Export, Forward, SiteConfig
from proxy.config.model import Peer as PeerConfig
from proxy.config.units import show_rate
from proxy.net.lane import Lane
from proxy.observe.counters import Traffic
from proxy.observe.readings import held_counter, limited_counter
from proxy.observe.snapshot import ShareStatus
from proxy.observe.trend import Trend
from proxy.observe.waiting import RECENT
from proxy.protocol.account import Account
from proxy.protocol.share import SEGMENT, SEGMENT_OVERHEAD, Priority, Share
from proxy.protocol.tunnel import Tunnel

log = logging.getLogger(__name__)


class Shares:
    """Sets the tunnel's rate by the timetable, and charges to it bytes that no frame accounts for. Loop thread."""

    def __init__(
        self,
        tunnel: Tunnel,
        config: SiteConfig,
        peer: PeerConfig,
        now: float,
        wall: Callable[[], datetime] = datetime.now,
    ) -> None:
        """`now`, here and in `sample`: seconds of the loop's clock; `wall`: the local time, for the timetable."""
        self.rate: int | None = None
        """Bits a second that may go to the peer now."""
        self._scheduler = tunnel.scheduler
        self._peer = peer
        self._wall = wall
        self._all = dict[str, Share]()
        self._empty, self._repeated = _Growth(), _Growth()
        self._trend = Trend(RECENT)
        """For how many seconds each share was held back, and for how many of these by its own maximum."""
        self.change(config, peer, now)

    def change(self, config: SiteConfig, peer: PeerConfig, now: float) -> None:
        """Grant what that configuration says from now on. Streams of what is no longer in it have ended."""
        forwards = [_share("forward", each) for each in config.forwards if each.peer == peer.name]
        exports = [_share("export", each) for each in config.exports if peer.name in each.peers]
        before, self._all = self._all, {share.name: share for share in (*forwards, *exports)}
        for name, share in before.items():
            if name not in self._all:
                self._scheduler.drop(share)
        for name, share in self._all.items():
            if name not in before:
                self._scheduler.account(share)
            elif share != before[name]:
                self._scheduler.change(before[name], share, now)
        self._peer = peer
        self._set_rate(now)

    @property
    def names(self) -> set[str]:
        """Those of forwards and exports, as shares have them."""
        return set(self._all)

    @property
    def marks(self) -> set[int]:
        """DSCP of what this site sends to the peer."""
        return {share.mark for share in self._all.values()}

    def of_forward(self, name: str) -> Share:
        """The share of streams that this site opens for the forward."""
        return self._all[f"forward {name}"]

    def of_export(self, name: str) -> Share:
        """The share of streams that the peer opens to the export."""
        return self._all[f"export {name}"]

    def cap_of(self, share: str) -> str:
        """What may hold back the streams of the share of that name, in words; empty if nothing may."""
        return self._cap_of(self._all[share])

    @property
    def cap(self) -> str:
        """The cap that lately held back the share that sends most, in words; the peer's rate if no share was held back.
        Empty if there is none."""
        held = [share for share in self._all.values() if self._lately(share)[0]]
        if not held:
            return self._rate_in_words
        return self._cap_of(max(held, key=lambda share: self._scheduler.account(share).rate))

    def _cap_of(self, share: Share) -> str:
        """The cap for which the share has lately waited longer, in words: its own maximum or the peer's rate.

        Which of the two is lower does not tell: where many forwards divide the rate none may get its maximum, though
        that is lower; and a forward with a low maximum waits for that even while others use up the rate.
        """
        own, rate = _bits(share.maximum), self.rate
        if own is None:
            return self._rate_in_words
        held, limited = self._lately(share)
        by_own = rate is None or (2 * limited >= held if held else own <= rate)
        return f"the maximum of {share.name}, {show_rate(own)}," if by_own else self._rate_in_words

    @property
    def _rate_in_words(self) -> str:
        return "" if self.rate is None else f"the rate of peer {self._peer.name}, {show_rate(self.rate)},"

    def _lately(self, share: Share) -> tuple[float, float]:
        """For how many of the last ten seconds a share was held back, and for how many of these by its own maximum."""
        held, limited = (self._trend.rise(name, RECENT) for name in self._counters(share))
        return held, limited

    def _counters(self, share: Share) -> tuple[str, str]:
        return held_counter(self._peer.name, share.name), limited_counter(self._peer.name, share.name)

    @property
    def held_seconds(self) -> float:
        """Seconds for which data has waited for the peer's rate so far."""
        return self._scheduler.held.seconds(self._now)

    def sample(self, lanes: Iterable[Lane], now: float) -> None:
        """Once a second."""
        self._set_rate(now)
        kernel = {lane.number: lane.tcp_info() for lane in lanes}
        empty = self._empty.by({number: info.empty_packets for number, info in kernel.items()})
        repeated = self._repeated.by({number: info.bytes_retransmitted for number, info in kernel.items()})
        self._scheduler.charge(empty * SEGMENT_OVERHEAD, now)
        self._scheduler.repeated(repeated * (1 + SEGMENT_OVERHEAD / SEGMENT), now)
        for account in self._scheduler.accounts.values():
            account.sample(now)
        counters: dict[str, float] = {}
        for share in self._all.values():
            account = self._scheduler.account(share)
            if seconds := account.held.seconds(now):  # a trend takes a missing counter for 0
                held, limited = self._counters(share)
                counters |= {held: seconds, limited: account.limited.seconds(now)}
        self._trend.note(counters, now)

    def status(self, traffic: Mapping[str, Traffic]) -> list[ShareStatus]:
        """Each forward's and export's share: its configuration and figures. `traffic`: of its streams, by its name."""
        return [
            self._status(self._scheduler.account(share), traffic.get(share.name, Traffic()))
            for share in self._all.values()
        ]

    def _set_rate(self, now: float) -> None:
        self._now = now
        rate = self._peer.rate_at(self._wall())
        if rate != self.rate:
            self.rate = rate
            self._scheduler.set_rate(None if rate is None else rate / 8, now)
            log.info("rate to %s from now on: %s", self._peer.name, "no limit" if rate is None else show_rate(rate))

    def _status(self, account: Account, traffic: Traffic) -> ShareStatus:
        share = account.share
        return ShareStatus(
            name=share.name,
            priority=share.priority.name.lower(),
            guarantee_bits_per_second=_bits(share.guarantee),
            maximum_bits_per_second=_bits(share.maximum),
            dscp=share.mark,
            bits_per_second=round(account.rate * 8),
            wire_bytes=round(account.wire),
            held_seconds=account.held.seconds(self._now),
            bytes=traffic.as_dict(),
            held_by_maximum_seconds=account.limited.seconds(self._now),
        )


def _share(kind: str, config: Forward | Export) -> Share:
    return Share(
        f"{kind} {config.name}",
        Priority[config.priority.upper()],
        None if config.guarantee is None else config.guarantee / 8,
        None if config.maximum is None else config.maximum / 8,
        config.burst,
        config.dscp or 0,
    )


class _Growth:
    """How much a count that the kernel keeps for each lane has grown since the last look, over all lanes."""

    def __init__(self) -> None:
        self._before: dict[int, int] = {}

    def by(self, counts: dict[int, int]) -> int:
        """`counts`: by lane, of those that there are now."""
        more = sum(count - self._before.get(number, 0) for number, count in counts.items())
        self._before = counts
        return max(0, more)  # some counts begin again at 2^32


def _bits(rate: float | None) -> int | None:
    return None if rate is None else round(rate * 8)
