"""What one TCP connection gets of a line on which packets are lost at random.

The formulas describe a long transfer in its steady state: they leave out slow start, which short transfers gain by,
and time-outs, which high loss costs. Measured figures are half to a little over twice as high (tests/unit/plan).
"""

from math import ceil, inf, pow, sqrt

from proxy.plan.line import Line

CUBIC_C, CUBIC_BETA = 0.4, 0.7
"""RFC 9438, sections 5 and 4.6."""
BBR_LOSS_MAX = 0.05
"""Share up to which BBR keeps a line full: Cardwell et al., BBR, ACM Queue 14(5), 2016, figure 8."""


def reno_window(loss: float) -> float:
    """Segments under way on average, sqrt(3 / 2p): Mathis et al., Computer Communication Review 27(3), 1997."""
    return sqrt(1.5 / loss) if loss else inf


def cubic_window(loss: float, round_trip: float) -> float:
    """Segments under way on average: RFC 9438, section 5, but never fewer than Reno has (section 4.3)."""
    if not loss:
        return inf
    factor = pow(CUBIC_C * (3 + CUBIC_BETA) / (4 * (1 - CUBIC_BETA)), 1 / 4)
    return max(factor * pow(round_trip / loss, 3 / 4), reno_window(loss))


def reno(line: Line) -> float:
    """Bits a second."""
    return _limited(line, reno_window(line.loss))


def cubic(line: Line, connections: int = 1) -> float:
    """Bits a second of so many connections together."""
    return _limited(line, connections * cubic_window(line.loss, line.round_trip))


def cubic_lanes(line: Line) -> int:
    """Connections that fill the line together."""
    return ceil(line.goodput / cubic(line))


def bbr(line: Line) -> float:
    """Bits a second. BBR paces by what arrives, and takes loss at random for no sign of anything."""
    return line.goodput


def _limited(line: Line, segments: float) -> float:
    return min(line.goodput, segments * line.segment * 8 / line.round_trip)
