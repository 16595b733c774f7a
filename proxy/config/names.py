"""What names of sites, forwards and exports can be."""

import re

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$"
NAME_RULE = (
    "1 to 63 letters, digits, dots, dashes and underscores; the first is a letter or digit, no dot is last or beside"
    " another"
)
NAME_REMEDY = f"write {NAME_RULE}"


def is_name(text: str) -> bool:
    """Fit for a site, a forward or an export; also for a certificate and for the tunnel's HELLO."""
    return len(text) <= 63 and re.fullmatch(NAME_PATTERN.strip("^$"), text) is not None
