"""Writes what is derived from the models: deploy/CONFIGURATION.md and deploy/isthmus.schema.json.

`python -m proxy.config.document` does it, in a checkout; a test fails when that was forgotten.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proxy.config.names import NAME_RULE
from proxy.config.schema import schema
from proxy.config.units import DURATION, RATE, SIZE
from proxy.errors import ExitCode

DEPLOY = Path(__file__).parents[2] / "deploy"

_HEAD = """\
# Configuration

Written by `python -m proxy.config.document`; change the descriptions in `proxy/config/model.py`, or that file.

One TOML file a site. Two that work together are in [examples/](examples). `isthmus check FILE` says whether a file is
right, and otherwise every mistake at once, each with its key, its value and the remedy; nothing starts with a file
that has one. Editors that know JSON Schema complete and check the file with
[isthmus.schema.json](isthmus.schema.json): begin it with `#:schema PATH-OF-THE-SCHEMA`, as the examples do.

Unknown keys are mistakes. The file is UTF-8 without a byte order mark, 1 MiB at most. What the words mean:
[GUIDE.md](GUIDE.md#words).

The running site reads certificates, keys, pins and tokens anew on SIGHUP (`isthmus reload`); everything else at the
next start. `isthmus reload` shows the control token, and the running site knows only the one that it read last: where
that file was replaced it refuses the command, so use `systemctl reload` or `kill -HUP` there. For that the file itself
is read and checked as well. If `[identity]` or `certificate` of a peer names another file, that one counts from then
on; a peer that is not in it any more is no longer trusted, and its tunnel ends (which is told of as an outage, with
that reason, until the next start); one that is new is let in after the next start. `[status]` stays with the files that
it was started with.

## How values are written

All but numbers, lists, `true` and `false` are text in quotes; capital and small letters differ.
"""

_VALUES = {
    "size": f'a number and one of {" ".join(SIZE.factors)}, without a space: `"10GiB"`, `"1.5GB"`. With an i the'
    " factor is 1024 (KiB 1,024, MiB 1,048,576 bytes), without one 1000; KB and kB are the same. It has to come to"
    " whole bytes",
    "rate": f'likewise with {" ".join(RATE.factors)}, a second: `"45Mbit"`. The factor is 1000; it has to come to'
    " whole bits",
    "duration": f'likewise with {" ".join(DURATION.factors)} (m: minutes, d: days of 24 hours): `"30s"`, `"1.5s"`.'
    " Nothing finer than a millisecond",
    "name": f"{NAME_RULE}; of a congestion control as `sysctl net.ipv4.tcp_available_congestion_control` shows it",
    "path": "absolute, or relative to the file",
    "address": 'host and port, 1 to 65535: `"198.18.0.1:4500"`, `"[2001:db8::1]:4500"`, `"host.example:3260"`',
    "IP address and port": 'likewise, but no host name. `"0.0.0.0:4500"` stands for all IPv4 addresses of the host,'
    ' `"[::]:4500"` for all IPv6 ones',
    "host name": "without a port; capitals make no difference",
    "network and port": '`"10.1.0.0/24"` or `"2001:db8::/64"` with port 3260, `"10.1.0.0/24:3261"` or'
    ' `"[2001:db8::/64]:3261"` with another one. The bits behind the network\'s are 0',
    "ports": 'first and last, both included, 256 at most: `"3261-3276"`; one alone: `"3261-3261"`',
    "days": "one or more of mon tue wed thu fri sat sun, or ranges of them, with commas and without spaces:"
    ' `"mon-fri"`, `"mon,wed,sat-sun"`. A range may pass Sunday: `"fri-mon"`',
    "time of day": 'hours and minutes, two digits each: `"00:00"` to `"23:59"`, and `"24:00"`, the end of the day. The'
    " minute of `from` counts, that of `to` does not. It is the host's local time, in a"
    " container that of `ISTHMUS_TIME_ZONE` in `.env`, UTC otherwise: what begins in an hour that is left"
    " out when clocks are set forward begins at its end, and an hour that comes twice counts twice",
    "`dscp`": "a name in small letters: cs0 to cs7, af11 to af43 (1 to 4, then 1 to 3), ef, va, le; or a number"
    " without quotes, 0 to 63",
}
"""What stands in the column `value`, and how it is written."""

_TOGETHER = """\
## What is refused together

Each value may be right by itself, and the file is refused all the same. Beside what the tables say:

- **Peers:** there is one at least, and each has a `certificate`, unless `identity.ca` is given. Names of peers, of
  forwards and of exports differ among themselves by more than capitals; no peer has this site's own name, or
  `tunnel.listen` for its `address`. `peer` of a forward and `peers` of an export are names of peers in this file,
  letter by letter.
- **Listeners:** `tunnel.listen`, `status.listen` and `listen` of all forwards differ. Two with one port need
  different addresses, and `0.0.0.0` is the same as every IPv4 address, `[::]` as every IPv6 one. None of them has a
  port that is among the `ports` of a forward at the same address, and no two forwards there have `ports` in common.
- **Loops:** no `address` of an export is a forward's `listen`, or where that stands for all addresses, has its port
  and is a loopback address or one that another listener of this file has. No `range` of an export has that address
  with that port, or with one of that forward's `ports`. Of other addresses only the host can tell whether they are
  its own: `check` and `doctor` say so there, and the site does not start with such a loop. What would lead on to
  another peer than it came from is refused as well: sites make no chains.
- **Tunnel:** `dead_after` is longer than `keepalive`; `memory` is no less than `window`; `memory` and `unacked` have
  1MiB for each peer.
- **Chunks:** twice `minimum` is at most `average`, and that at most `maximum`.
- **Store:** `mode = "disk"` needs `path`, and `path` needs `mode`, whichever it is.
- **Status:** `certificate` and `key` need each other, `clients` needs both. `history` names a file that is neither
  this one nor named by another key.
- **Rates:** `guarantee` is at most `maximum`; `burst` needs `maximum`. The guarantees of a peer's forwards, and of
  exports that it may reach, together are at most its `rate` and the rate of each `schedule`.
- **Timetables:** `from` and `to` differ (whole days: `"00:00"` and `"24:00"`). A table whose time is all taken by
  tables above it is refused.
- **Portals:** `range` and `ports` of a forward need each other, `idle` needs both; two forwards to one peer have
  different `portal`. With `protocol = "tcp"` none of `portal`, `range`, `ports`, `idle` and `rewrite` may stand there,
  whatever its value. `transparent = true` needs `range`, with any protocol, and excludes the other four.
- **Files:** certificates, keys and tokens are there, and can be read; keys and tokens by their owner only. A key
  belongs to its certificate. The site's own certificate and the listener's have not expired. A certificate is for what
  its site does: TLS client authentication where it dials, server authentication where it is dialled. No two sites have
  the same key. All certificates in `identity.ca` are those of CAs.
"""


def documents() -> dict[str, str]:
    """The content of each file, by its name within deploy/."""
    described = schema()
    return {
        "CONFIGURATION.md": "\n".join(_page(described)) + "\n",
        "isthmus.schema.json": json.dumps(described, indent=2) + "\n",
    }


def _page(described: dict[str, Any]) -> Iterator[str]:
    yield _HEAD
    yield "| value | written as |\n|---|---|"
    yield from (f"| {value} | {written} |" for value, written in _VALUES.items())
    yield ""
    for section, reference in described["properties"].items():
        many = "items" in reference
        model = described["$defs"][(reference["items"] if many else reference)["$ref"].rpartition("/")[2]]
        yield from _section(f"[[{section}]]" if many else f"[{section}]", model)
        for key, value in model["properties"].items():
            if inner := value.get("items", {}).get("$ref"):
                yield from _section(f"[[{section}.{key}]]", described["$defs"][inner.rpartition("/")[2]])
    yield _TOGETHER
    yield from _exit_codes()


def _section(title: str, model: dict[str, Any]) -> Iterator[str]:
    yield f"## `{title}`\n\n{model['description']}\n"
    yield "| key | value | default | meaning |\n|---|---|---|---|"
    for key, value in model["properties"].items():
        default = "required" if key in model.get("required", ()) else _literal(value.get("default"))
        yield f"| `{key}` | {_kind(value)} | {default} | {value['description']} |"
    yield ""


def _kind(value: dict[str, Any]) -> str:
    if "enum" in value or "const" in value:
        return " or ".join(_literal(choice) for choice in value.get("enum") or [value["const"]])
    if "anyOf" in value:
        return " or ".join(map(_kind, value["anyOf"]))
    if value["type"] == "integer":
        return f"number, {value['minimum']} to {value['maximum']}"
    if value["type"] == "array":
        return f"list of {value['items']['title']}s" if "title" in value["items"] else "tables, see below"
    bounds = f", {value['$comment']}" if "$comment" in value else ""
    return f"{value['title']}{bounds}"


def _literal(value: Any) -> str:
    return "" if value is None else f"`{json.dumps(value)}`"


def _exit_codes() -> Iterator[str]:
    yield "## Exit codes\n\nOf every `isthmus` command:\n"
    yield "| code | meaning |\n|---|---|"
    yield from (f"| {code.value} | {code.meaning} |" for code in ExitCode)


if __name__ == "__main__":
    for name, content in documents().items():
        (DEPLOY / name).write_text(content)
