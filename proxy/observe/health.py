"""The health ladder: a level for the site, its store, each peer, tunnel and lane, with reasons and since when.

What is found is a pure function of the snapshot and of what changed of late; `Ladder` only remembers since when.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from proxy.figures import A_WHILE, ENDS_SOON, remaining, size
from proxy.observe import codes
from proxy.observe.answers import HealthAnswer, LaneHealth, Level, PeerHealth, Reason, StoreHealth, TunnelHealth
from proxy.observe.codes import Code
from proxy.observe.readings import REFUSED_COUNTER, lane_counter, peer_counter, store_counter
from proxy.observe.refusals import UNREACHABLE
from proxy.observe.snapshot import CertificateStatus, LaneStatus, PeerStatus, RefusalStatus, Snapshot
from proxy.observe.trend import A_MINUTE, Trend
from proxy.observe.wording import number_of_streams

OF_LATE = 10.0
"""Seconds over which rates and loss are taken."""
PATIENCE_AT_START = 15.0
"""Seconds for which a tunnel that has not come up yet is no fault."""
LOSSY_FROM, LOSSY_UNTIL = 0.05, 0.03
"""Shares of a minute's bytes that had to be sent again: above the first a lane becomes lossy, and it remains so while
it is above the second."""
LOSS_LEAST_BYTES = 500_000
"""Bytes sent in that minute, some 350 packets, below which a share of loss means nothing."""
BEARS_LOSS = "bbr"
"""How the names of congestion controls begin that do not slow down because packets are lost."""
OUTAGES_TO_FLAP = 3
DAY = 86400.0
ENDS_NOW = 7 * DAY
SET_ASIDE = "an empty one took its place", "copies that were set aside"
"""What the store's alarms about a store that was set aside contain: they have no codes to be known by."""
LOSSY_REMEDY = (
    "have the line checked: BBR, which this lane has, bears the loss, but what is lost crosses the line twice"
)
"""For a lane with BBR, which is what the code's own remedy asks for."""
_FIGURE = re.compile(r"\b\d+\b")
"""A figure in a store's alarm: alarms that differ only in figures are the same trouble."""
_ORDER = list(Level)


def worst(levels: Iterable[Level]) -> Level:
    """The worst of them; healthy if there are none."""
    return max(levels, key=_ORDER.index, default=Level.HEALTHY)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be; `Ladder` knows since when."""

    code: Code
    level: Level
    words: str
    about: str = ""
    """What tells it from others with its code."""
    remedy: str = ""


class Ladder:
    """Makes levels and reasons of findings, and remembers since when each holds. Fed once a second."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], float] = {}
        self._seen: dict[tuple[str, str], float] = {}

    def shift(self, seconds: float) -> None:
        """The time of day was set, by so many seconds: move what is remembered along."""
        self._since = {key: since + seconds for key, since in self._since.items()}

    def climb(self, snapshot: Snapshot, trend: Trend, now: float, unkept: str = "") -> HealthAnswer:
        """The ladder now (`now`: seconds since 1970); `trend` has been fed with this snapshot's counters.

        `unkept`: why history is kept in memory only, if it is.
        """
        self._seen = {}
        store = self._store(snapshot, trend, now)
        peers = [self._peer(peer, snapshot, trend, now) for peer in snapshot.peers]
        reasons = self._reasons("site", _of_site(snapshot, now, unkept), now)
        level = worst([_together(peers), store.level, *(reason.level for reason in reasons)])
        answer = HealthAnswer(
            site=snapshot.site,
            time=now,
            level=level,
            since=self._mark("site", level, now),
            words=_words(reasons, store, peers),
            reasons=reasons,
            store=store,
            peers=peers,
        )
        self._since = self._seen
        return answer

    def _store(self, snapshot: Snapshot, trend: Trend, now: float) -> StoreHealth:
        reasons = self._reasons("store", _of_store(snapshot, trend), now)
        level = worst(reason.level for reason in reasons)
        return StoreHealth(level, self._mark("store", level, now), reasons)

    def _peer(self, peer: PeerStatus, snapshot: Snapshot, trend: Trend, now: float) -> PeerHealth:
        tunnel = self._tunnel(peer, snapshot, trend, now)
        subject = f"peer {peer.name}"
        reasons = self._reasons(subject, _of_peer(peer, trend), now)
        level = worst([tunnel.level, *(reason.level for reason in reasons)])
        since = self._mark(subject, level, now)
        return PeerHealth(peer.name, level, since, reasons, peer.streams, peer.verdict, tunnel)

    def _tunnel(self, peer: PeerStatus, snapshot: Snapshot, trend: Trend, now: float) -> TunnelHealth:
        subject = f"tunnel {peer.name}"
        lanes = [self._lane(peer.name, lane, trend, now) for lane in peer.lanes]
        reasons = self._reasons(subject, _of_tunnel(peer, snapshot, trend), now)
        own = worst(reason.level for reason in reasons)
        of_lanes = min((lane.level for lane in lanes), key=_ORDER.index, default=Level.HEALTHY)  # one good one will do
        some = Level.ATTENTION if any(lane.level is not Level.HEALTHY for lane in lanes) else Level.HEALTHY
        level = worst([own, of_lanes, some])
        sent, again, received = (
            trend.rate(peer_counter(peer.name, what), OF_LATE)
            for what in ("wire", "wire_retransmitted", "wire_received")
        )
        return TunnelHealth(
            level=level,
            since=self._mark(subject, level, now),
            reasons=reasons,
            state=peer.state,
            round_trip_seconds=peer.round_trip_seconds,
            loss=_loss(sent, again),
            sent_bits_per_second=round(8 * (sent + again)),
            received_bits_per_second=round(8 * received),
            unacked_bytes=peer.unacked_bytes,
            outages=peer.outages,
            resumed=peer.resumed,
            lanes=lanes,
        )

    def _lane(self, peer: str, lane: LaneStatus, trend: Trend, now: float) -> LaneHealth:
        subject = f"lane {peer} {lane.number}"
        sent, again, received = (
            trend.rate(lane_counter(peer, lane.number, what), OF_LATE) for what in ("sent", "retransmitted", "received")
        )
        lossy = LOSSY_UNTIL if self._holds(subject, codes.LOSSY) else LOSSY_FROM
        reasons = self._reasons(subject, _of_lane(lane, _loss_of_minute(peer, lane, trend), lossy), now)
        level = worst(reason.level for reason in reasons)
        return LaneHealth(
            number=lane.number,
            remote=lane.remote,
            level=level,
            since=self._mark(subject, level, now),
            reasons=reasons,
            round_trip_seconds=lane.round_trip_seconds,
            loss=_loss(sent, again),
            sent_bits_per_second=round(8 * (sent + again)),
            received_bits_per_second=round(8 * received),
            window_bytes=lane.congestion_window_segments * lane.segment_bytes,
            congestion_control=lane.congestion_control,
            dscp=lane.dscp,
        )

    def _reasons(self, subject: str, findings: Iterable[Finding], now: float) -> list[Reason]:
        """The findings as reasons, worst first."""
        reasons = [
            Reason(
                each.code.code,
                each.level,
                each.words,
                each.remedy or each.code.remedy,
                self._mark(subject, _mark_of(each.code, each.about), now),
                each.about,
            )
            for each in findings
        ]
        return sorted(reasons, key=lambda reason: -_ORDER.index(reason.level))

    def _holds(self, subject: str, code: Code) -> bool:
        """Whether that code was found for the subject when the ladder was last fed."""
        return (subject, _mark_of(code)) in self._since

    def _mark(self, subject: str, what: str, now: float) -> float:
        """Note that `what` holds for the subject now; since when it does."""
        since = self._since.get((subject, what), now)
        self._seen[subject, what] = since
        return since


def _mark_of(code: Code, about: str = "") -> str:
    return f"{code} {about}"


# -- findings ----------------------------------------------------------------------------------------------------


def _of_site(snapshot: Snapshot, now: float, unkept: str) -> Iterable[Finding]:
    if snapshot.draining:
        yield Finding(
            codes.DRAINING, Level.ATTENTION, "the site drains and will end", remedy="start it again when it has ended"
        )
    if snapshot.reload_problem:
        yield Finding(codes.RELOAD_FAILED, Level.DEGRADED, snapshot.reload_problem)
    if unkept:
        yield Finding(codes.HISTORY_IN_MEMORY, Level.ATTENTION, f"history is kept in memory only: {unkept}")
    for certificate in snapshot.certificates:
        if (finding := certificate_finding(certificate, now)) is not None:
            yield finding


def certificate_finding(certificate: CertificateStatus, now: float) -> Finding | None:
    """That a certificate has ended, or will within 30 days; otherwise None."""
    left, whose = certificate.expires - now, whose_certificate(certificate)
    if left <= 0:
        level = Level.CRITICAL if certificate.role == "own" else Level.DEGRADED
        return Finding(codes.CERTIFICATE_ENDED, level, f"{whose} has ended", whose)
    if left > ENDS_SOON:
        return None
    level = Level.DEGRADED if left <= ENDS_NOW else Level.ATTENTION
    return Finding(codes.CERTIFICATE_ENDS, level, f"{whose} ends in {remaining(left)}", whose)


def whose_certificate(certificate: CertificateStatus) -> str:
    """Whose certificate it is, in words."""
    return {
        "own": "this site's certificate",
        "peer": f"the certificate of peer {certificate.name}",
        "ca": f"the certificate of the CA {certificate.name}",
        "listener": "the status listener's certificate",
        "clients": f"the client certificate of {certificate.name}",
    }[certificate.role]


def _of_store(snapshot: Snapshot, trend: Trend) -> Iterable[Finding]:
    aside = [alarm for alarm in snapshot.store.alarms if any(words in alarm for words in SET_ASIDE)]
    if aside:  # one alarm says why, another which copies there are: one trouble, with one remedy
        yield Finding(codes.STORE_SET_ASIDE, Level.DEGRADED, " ".join(aside))
    for alarm in snapshot.store.alarms:
        if alarm not in aside:
            yield Finding(codes.STORE_ALARM, Level.DEGRADED, alarm, _FIGURE.sub("N", alarm))
    if invalid := trend.rise(store_counter("invalid"), A_WHILE):
        words = f"{invalid:.0f} chunks of the store failed verification in the last ten minutes"
        yield Finding(codes.CHUNKS_DROPPED, Level.DEGRADED, words)
    if unlearned := trend.rise(store_counter("unlearned_bytes"), A_WHILE):
        words = f"{size(unlearned)} passed without being stored in the last ten minutes"
        yield Finding(codes.UNLEARNED, Level.ATTENTION, words)


def _of_peer(peer: PeerStatus, trend: Trend) -> Iterable[Finding]:
    if wrong := trend.rise(peer_counter(peer.name, "mismatches"), A_WHILE):
        words = f"{wrong:.0f} chunks from {peer.name} did not match their fingerprints in the last ten minutes"
        yield Finding(codes.PEER_MISBEHAVES, Level.DEGRADED, words)
    if peer.drains and peer.state == "up":
        yield Finding(codes.PEER_DRAINS, Level.ATTENTION, f"{peer.drains}; new connections to it are reset")
    if peer.references_suspended:
        words = f"{peer.name} lacks what it should hold, so data goes as literals for a while"
        yield Finding(codes.REFERENCES_SUSPENDED, Level.ATTENTION, words)
    yield from (_refusal(peer.name, each) for each in peer.refusals if each.seconds < A_WHILE)


def _refusal(peer: str, refusal: RefusalStatus) -> Finding:
    """What is wrong with a forward or export. If a peer asks for what is not exported to it, perhaps that is no fault
    of this site, so it is ATTENTION only."""
    code = codes.EXPORT_UNREACHABLE if refusal.reason == UNREACHABLE else codes.NOT_EXPORTED
    if not refusal.share:
        return Finding(code, Level.ATTENTION, f"{peer} asks for what it may not have: {refusal.words}")
    if refusal.share.startswith("forward "):
        words = f"{peer} refuses connections of {refusal.share} to its export {refusal.asked}: {refusal.words}"
    else:
        words = f"connections from {peer} to {refusal.share} fail: {refusal.words}"
    return Finding(code, Level.DEGRADED, words, f"{refusal.share} {refusal.asked}")


def _of_tunnel(peer: PeerStatus, snapshot: Snapshot, trend: Trend) -> Iterable[Finding]:
    if peer.state != "up":
        yield _down(peer, snapshot, trend)
    if peer.short_packets:
        words = f"packets of full size to {peer.name} are lost on the way, so short ones are sent"
        yield Finding(codes.SHORT_PACKETS, Level.ATTENTION, words)
    if peer.other_congestion_control:
        yield Finding(codes.OTHER_CONGESTION_CONTROL, Level.ATTENTION, peer.other_congestion_control)
    lost = trend.rise(peer_counter(peer.name, "outages"), A_WHILE)
    if lost >= OUTAGES_TO_FLAP:
        words = f"the tunnel to {peer.name} was lost {lost:.0f} times in the last ten minutes"
        yield Finding(codes.FLAPPING, Level.ATTENTION, words)


def _down(peer: PeerStatus, snapshot: Snapshot, trend: Trend) -> Finding:
    """There is no tunnel. That is no fault yet where the site has just started, or met the peer, nor of a peer that has
    just ended in order: it is likely being restarted."""
    why = _why_down(peer, snapshot, trend)
    if peer.ended_seconds is not None:
        reason = f" ({peer.farewell})" if peer.farewell else ""
        words = f"{peer.name} has ended in order{reason}, and is not back: {why}"
        if peer.ended_seconds < A_WHILE:
            return Finding(codes.PEER_ENDED, Level.ATTENTION, words)
        return Finding(codes.TUNNEL_DOWN, Level.CRITICAL, words)
    patient = not peer.outages and peer.known_seconds < PATIENCE_AT_START
    level = Level.ATTENTION if patient else Level.CRITICAL
    return Finding(codes.TUNNEL_DOWN, level, f"there is no tunnel to {peer.name}: {why}")


def _why_down(peer: PeerStatus, snapshot: Snapshot, trend: Trend) -> str:
    rest = f"; {number_of_streams(peer.streams)} {'waits' if peer.streams == 1 else 'wait'}" if peer.streams else ""
    waited = _waited(snapshot, trend) if peer.state == "waiting" else "it does not answer"
    why = "nothing is heard on its lanes" if peer.lanes else peer.last_error or waited
    return f"{why}{rest}"


def _waited(snapshot: Snapshot, trend: Trend) -> str:
    """Why a peer that dials is not there. Whoever was refused has shown no certificate that is known here, so nobody
    can tell whether it was the peer."""
    if not trend.rise(REFUSED_COUNTER, A_WHILE):
        return "it has not dialled in"
    return f"it has not dialled in, unless it is what was refused: {snapshot.last_refusal}"


def _of_lane(lane: LaneStatus, loss: float, lossy: float) -> Iterable[Finding]:
    """`loss`: the lane's in the last minute; `lossy`: the share above which that is too much."""
    if lane.silent:
        yield Finding(codes.LANE_SILENT, Level.DEGRADED, "nothing is heard on it")
    if loss > lossy:
        words = f"{loss:.1%} of what it sent in the last minute had to be sent again"
        bears = lane.congestion_control.startswith(BEARS_LOSS)
        yield Finding(codes.LOSSY, Level.ATTENTION, words, remedy=LOSSY_REMEDY if bears else "")


def _loss_of_minute(peer: str, lane: LaneStatus, trend: Trend) -> float:
    """Share of a lane's bytes that had to be sent again in the last minute; 0 if too little was sent to tell."""
    sent, again = (trend.rise(lane_counter(peer, lane.number, what), A_MINUTE) for what in ("sent", "retransmitted"))
    return _loss(sent, again) if sent + again > LOSS_LEAST_BYTES else 0.0


def _loss(sent: float, again: float) -> float:
    return round(again / (sent + again), 5) if again else 0.0


def _together(peers: list[PeerHealth]) -> Level:
    """What the peers make of the site's level: critical only if all of them are, degraded if some are."""
    levels = [peer.level for peer in peers]
    if levels and any(level is not Level.CRITICAL for level in levels):
        levels = [Level.DEGRADED if level is Level.CRITICAL else level for level in levels]
    return worst(levels)


def _words(reasons: list[Reason], store: StoreHealth, peers: list[PeerHealth]) -> str:
    """The words of the worst reason. Those of a lane speak of "it", so the lane is named."""
    every = [(reason, "") for reason in (*reasons, *store.reasons)]
    for peer in peers:
        every += [(reason, "") for reason in (*peer.tunnel.reasons, *peer.reasons)]
        for lane in peer.tunnel.lanes:
            every += [(reason, f"lane {lane.number} of peer {peer.name}: ") for reason in lane.reasons]
    found, whose = max(every, key=lambda each: _ORDER.index(each[0].level), default=(None, ""))
    return "replication is healthy" if found is None else f"{whose}{found.words}"
