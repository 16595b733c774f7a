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

Each site has one TOML file. Two files that work together are in [examples/](examples). `isthmus check FILE` says
whether a file is right; if not, it lists every mistake at once, each with its key, its value and the remedy. Nothing
starts with a file that has a mistake. Editors that know JSON Schema can complete and check the file with
[isthmus.schema.json](isthmus.schema.json): begin it with `#:schema PATH-OF-THE-SCHEMA`, as the examples do.

Unknown keys are mistakes. The file is UTF-8 without a byte order mark, at most 1 MiB. What the words mean:
[GUIDE.md](GUIDE.md#words).

**What a running site reads again.** On SIGHUP (`isthmus reload`) it checks the file, and reads certificates, keys, pins
and tokens anew. Everything else takes effect at the next start.

- If `[identity]`, or `certificate` of a peer, names another file, that file counts from then on.
- A peer that is no longer in the file is no longer trusted, and its tunnel ends. Until the next start that is reported
  as an outage, with this reason. A new peer is let in after the next start.
- `[status]` keeps the files that it was started with.
- `isthmus reload` shows the control token, and the site knows only the token that it read last. Once that file has
  been replaced, the site refuses the command: use `systemctl reload` or `kill -HUP`.

## How values are written

Everything except numbers, lists, `true` and `false` is text in quotes. Capital and small letters differ.
"""

_VALUES = {
    "size": f'a number and one of {" ".join(SIZE.factors)}, without a space: `"10GiB"`, `"1.5GB"`. With an i the'
    " factor is 1024 (KiB 1,024, MiB 1,048,576 bytes), without it 1000; KB and kB are the same. The result must be"
    " whole bytes",
    "rate": f'likewise with {" ".join(RATE.factors)}, per second: `"45Mbit"`. The factor is 1000; the result'
    " must be whole bits",
    "duration": f'likewise with {" ".join(DURATION.factors)} (m: minutes, d: days of 24 hours): `"30s"`, `"1.5s"`.'
    " Nothing finer than a millisecond",
    "name": f"{NAME_RULE}; of a congestion control as `sysctl net.ipv4.tcp_available_congestion_control` shows it",
    "path": "absolute, or relative to the file",
    "address": 'host and port, 1 to 65535: `"198.18.0.1:4500"`, `"[2001:db8::1]:4500"`, `"host.example:3260"`',
    "IP address and port": 'likewise, but no host name. `"0.0.0.0:4500"` stands for all IPv4 addresses of the host,'
    ' `"[::]:4500"` for all IPv6 ones',
    "host name": "without a port; capitals make no difference",
    "network and port": '`"10.1.0.0/24"` or `"2001:db8::/64"` with port 3260, `"10.1.0.0/24:3261"` or'
    ' `"[2001:db8::/64]:3261"` with another one. The bits after the prefix must be 0',
    "ports": 'first and last, at most 256 ports: `"3261-3276"`; a single one: `"3261-3261"`',
    "days": "one or more of mon tue wed thu fri sat sun, or ranges of them, separated by commas without spaces:"
    ' `"mon-fri"`, `"mon,wed,sat-sun"`. A range may pass Sunday: `"fri-mon"`',
    "time of day": 'hours and minutes, two digits each: `"00:00"` to `"23:59"`, and `"24:00"`, the end of the day. The'
    " minute of `from` is included, that of `to` is not. It is the host's local time; in a container, that of"
    " `ISTHMUS_TIME_ZONE` in `.env`, or UTC. What begins in the hour that is left out when clocks are set forward"
    " begins at the end of that hour; an hour that comes twice counts twice",
    "`dscp`": "a name in small letters: cs0 to cs7, af11 to af43 (1 to 4, then 1 to 3), ef, va, le; or a number"
    " without quotes, 0 to 63",
}
"""What stands in the column `value`, and how it is written."""

_TOGETHER = """\
## What is refused together

Values that are right by themselves are refused when they do not fit together. Besides what the tables say:

- **Peers:** there is at least one, and each has a `certificate` unless `identity.ca` is given. No two peers have the
  same name, nor two forwards or two exports; names that differ only by capitals are the same. No peer has this site's
  own name. `address` of a peer is neither `tunnel.listen` nor `status.listen`, nor `listen` of a forward to that peer.
  `peer` of a forward and `peers` of an export are names of peers in this file, letter by letter.
- **Listeners:** `tunnel.listen`, `status.listen` and `listen` of all forwards differ. Two with the same
  port need different addresses, and `0.0.0.0` stands for every IPv4 address, `[::]` for every IPv6 one. At one address,
  no listener has a port that is among the `ports` of a forward, and no two forwards have `ports` in common.
- **Loops:** no `address` of an export is the `listen` of a forward. Where that `listen` stands for all addresses, no
  export has its port at a loopback address, or at an address of another listener of this file. No `range` of an export
  has such an address with that port, or with one of that forward's `ports`. Whether other addresses are its own only
  the host can tell: `check` and `doctor` report it there, and the site does not start with such a loop. That holds also
  where a forward leads to another peer: sites do not form chains.
- **Tunnel:** `dead_after` is longer than `keepalive`; `memory` is at least `window`; `memory` and `unacked` have
  1MiB for each peer.
- **Chunks:** twice `minimum` is at most `average`, and that at most `maximum`.
- **Store:** `mode = "disk"` needs `path`, and `path` needs `mode` (either one).
- **Status:** `certificate` and `key` need each other, `clients` needs both. `history` is a file of its own:
  not this one, and not one that another key names.
- **Rates:** `guarantee` is at most `maximum`; `burst` needs `maximum`. The guarantees of a peer's forwards,
  and of exports that it may reach, add up to at most its `rate`, and to at most the rate of each `schedule`.
- **Timetables:** `from` and `to` differ (whole days: `"00:00"` and `"24:00"`). A table whose time is all taken by
  tables above it is refused.
- **Portals:** `range` and `ports` of a forward need each other, `idle` needs both; two forwards to one peer have
  different `portal`. With `protocol = "tcp"`, none of `portal`, `range`, `ports`, `idle` and `rewrite` may be
  given, whatever its value. `transparent = true` needs `range`, with any protocol, and excludes the other four.
- **Files:** certificates, keys and tokens exist and can be read; keys and tokens by their owner only. A key belongs to
  its certificate. The site's own certificate and the listener's have not expired. A certificate allows what its site
  does: TLS client authentication where it dials, server authentication where it is dialled. No two sites have the same
  key. All certificates in `identity.ca` are those of CAs.
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
