"""Would a faster line help? The zones of `proxy.plan.zones`, by what has been written through this site."""

from proxy.figures import byte_rate, size
from proxy.observe.snapshot import AdviceStatus, ZoneStatus
from proxy.observe.verdict import Limit, Verdict
from proxy.plan.zones import Zone, by_rate, by_size, together


def advise(rate: float, average: float, verdict: Verdict | None = None) -> AdviceStatus | None:
    """Whether a faster line would help; None if nothing was written.

    `rate`: bytes a second that were written in the busiest seconds; `average`: bytes of a write. `verdict`: the peer's,
    if all writes to it are judged together: what a full line holds back does not show in the rate.
    """
    if not average:
        return None
    zones = by_rate(rate), by_size(average)
    both = together(*zones)
    words = f"{_advice(both)}: {byte_rate(rate)} written in the busiest ten seconds ({zones[0].colour})"
    words += f", {size(average)} a write on average ({zones[1].colour})"
    if verdict is not None and verdict.limit is Limit.WAN_RATE and both is not Zone.LIKELY:
        words += (
            f"; but the line was full for {verdict.share:.0%} of the last ten seconds: arrays may have more to write"
        )
    return AdviceStatus(
        zone=both.value,
        colour=both.colour,
        words=words,
        write_rate=ZoneStatus(round(rate), zones[0].value, zones[0].colour),
        write_size=ZoneStatus(round(average), zones[1].value, zones[1].colour),
    )


def _advice(zone: Zone) -> str:
    return f"a faster line {'' if zone is Zone.PERHAPS else 'is '}{zone.value}"
