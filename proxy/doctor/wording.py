"""Commands to be typed as they are."""

SYSCTL_FILE = "/etc/sysctl.d/91-isthmus-local.conf"
"""Beside 90-isthmus.conf, which comes with Isthmus and may be installed anew."""
THEN_RESTART = "first this, then restart the site, if it runs"
"""Before a command, so that this can be typed as it stands: a connection keeps the window scale that it began with."""
THEN_RELOAD = "first this, then `isthmus reload`, if the site runs"
"""Likewise: at each reload a site asks anew which congestion controls there are, and its lanes change over."""


def sysctl(*settings: str) -> str:
    """What root types to set them now and at each start."""
    quoted = " ".join(f"'{setting}'" for setting in settings)
    return f"printf '%s\\n' {quoted} >> {SYSCTL_FILE}; sysctl --system"
