"""What was published of the field test: reference section 1. [F5 BIG-IP 3600 with the WAN Optimization Module]"""

TOTAL = "total"
"""All three volumes together: 6.66 GB, taken for 6,660 MB, divided by the time of the last one."""

_TABLE: dict[str, tuple[tuple[str, float], ...]] = {
    "singly/f5vol4/memory": (("1m48s", 1241), ("1m35s", 1411)),
    "singly/f5vol4/disk": (("2m33s", 876), ("1m50s", 1219), ("1m35s", 1411)),
    "singly/f5vol2/disk": (("17m06s", 137), ("4m05s", 576)),
    "singly/f5vol3/disk": (("28m21s", 78), ("3m05s", 724), ("3m05s", 724)),
    "together/f5vol2/disk": (("31m17s", 75), ("5m39s", 416), ("5m50s", 403)),
    "together/f5vol3/disk": (("34m39s", 64), ("4m35s", 487), ("5m05s", 439)),
    "together/f5vol4/disk": (("10m28s", 213), ("2m09s", 1039), ("2m07s", 1055)),
    "together/total/disk": (("", 192), ("", 1178), ("", 1142)),
}
"""Elapsed time and MB/min of each pass."""


def throughput(how: str, volume: str, store: str, number: int) -> float | None:
    """MB/min; None where nothing was published. `how`: singly or together; `number`: of the pass, from 1."""
    found = _find(how, volume, store, number)
    return found[1] if found else None


def elapsed(how: str, volume: str, store: str, number: int) -> str:
    """The elapsed time as published; empty where nothing was published."""
    found = _find(how, volume, store, number)
    return found[0] if found else ""


def _find(how: str, volume: str, store: str, number: int) -> tuple[str, float] | None:
    passes = _TABLE.get(f"{how}/{volume}/{store}", ())
    return passes[number - 1] if number <= len(passes) else None
