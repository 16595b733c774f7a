"""Figures as an operator reads them, to three figures; and commands to be typed as they are."""

SYSCTL_FILE = "/etc/sysctl.d/91-isthmus-local.conf"
"""Beside 90-isthmus.conf, which comes with Isthmus and may be installed anew."""
THEN_RESTART = "first this, then restart the site, if it runs"
"""Before a command, so that this can be typed as it stands: a connection keeps the congestion control and the window
scale that it began with, and a site asks once, as it starts, which congestion controls there are."""


def sysctl(*settings: str) -> str:
    """What root types to set them now and at each start."""
    quoted = " ".join(f"'{setting}'" for setting in settings)
    return f"printf '%s\\n' {quoted} >> {SYSCTL_FILE}; sysctl --system"


def size(value: int) -> str:
    """Bytes: 1.5 GiB."""
    for factor, unit in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}" if value < 999.5 * factor else f"{value / factor:,.0f} {unit}"
    return f"{value} bytes"


def rate(value: float) -> str:
    """Bits a second: 45 Mbit/s."""
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}" if value < 999.5 * factor else f"{value / factor:,.0f} {unit}"
    return f"{value:.3g} bit/s"


def milliseconds(seconds: float) -> str:
    """100 ms."""
    value = seconds * 1000
    return f"{value:.3g} ms" if value < 999.5 else f"{value:,.0f} ms"
