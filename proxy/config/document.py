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
whether a file is right; if not, it lists every mistake at once, each with its key, its value and the remedy. A site
does not start with a file that has a mistake. Editors that know JSON Schema can complete and check the file with
[isthmus.schema.json](isthmus.schema.json): let the file begin with `#:schema PATH-OF-THE-SCHEMA`, as the examples do.

A key that is not described here is a mistake. The file is UTF-8 without a byte order mark, at most 1 MiB. A key without
a default need not be given, unless it says "required". *Far* is at the peer's side of the line, *near* at this side.
What the other words mean: [GUIDE.md](GUIDE.md#words).

**What a running site takes over.** On `isthmus reload` (or SIGHUP) it checks the file as at a start. If there is a
mistake in it, nothing changes. Otherwise the site reads certificates, keys, pins and tokens anew, and takes over what
was changed of these:

- every `[[forward]]` and `[[export]]`, also new and removed ones. Connections whose forward or export is gone, is no
  longer for that peer, or differs in more than `priority`, `guarantee`, `maximum`, `burst` and `dscp`, are reset, and
  arrays connect anew; all others stay (a `listen` that cannot be had beside a former one, such as `0.0.0.0:3260` in
  place of `127.0.0.1:3260`, needs a restart);
- every `[[peer]]`, also new and removed ones. The streams of one that is removed are reset, and its tunnel ends. If
  only its `address` differs, lanes that are up stay, and the next one is dialled there;
- `window`, `memory` and `unacked` of `[tunnel]`, also for streams that live. Where one of them becomes less, or a part
  of `memory` goes to a new peer, streams give back what they hold beyond that as they use it up, rest or end. Until
  then the site has that much more under way;
- `lanes` and `congestion_control` of `[tunnel]`, also for lanes that live: they change over, and are added or ended,
  while data flows. `auto`, or a name that the kernel did not have before, is asked for again at each reload;
- the times of `[tunnel]`: `keepalive`, `dead_after`, `grace`, `connect_timeout`, `reconnect_max` and `drain`. Attempts
  to connect that are under way keep theirs. In an outage that has lasted for a shorter `grace` streams are reset;
- `log.level`.

Everything else takes effect at the next start. If anything else was changed as well, so does all of it, since only the
whole file was checked; `isthmus reload` names what awaits a restart. A site that drains takes over nothing more, and
its next start does. These count at once in any case:

- If `[identity]`, or `certificate` of a peer, names another file than before, the site uses that one from then on.
- A peer that is no longer in the file is no longer trusted, and its lanes end. If its removal awaits a restart, it is
  reported until then as an outage, with this reason.
- For `[status]`, the content of the files is read again. Other file names count at the next start.
- `isthmus reload` shows the site the token in the file `status.control_token`, and the site knows only the one that it
  read last. Once that file has been replaced, the site refuses the command: use `systemctl reload` or `kill -HUP`.

## How values are written

Everything except numbers, lists, `true` and `false` is text in quotes. It matters whether letters are capital or small,
unless said otherwise.
"""

_VALUES = {
    "size": f'a number and one of {" ".join(SIZE.factors)}, without a space: `"10GiB"`, `"1.5GB"`. Units'
    " with an i are powers of 1024 (a KiB is 1,024 bytes, a MiB 1,048,576), the others of 1000; KB and kB are the same."
    " It must be a whole number of bytes",
    "rate": f'likewise with {" ".join(RATE.factors)}; it is meant per second: `"45Mbit"`. Units are powers of 1000. It'
    " must be a whole number of bits",
    "duration": f'likewise with {" ".join(DURATION.factors)} (m: minutes, d: days of 24 hours): `"30s"`, `"1.5s"`.'
    " It must be a whole number of milliseconds",
    "name": f"{NAME_RULE}. A congestion control: as `sysctl net.ipv4.tcp_available_congestion_control` shows it",
    "path": "absolute, or relative to the directory of this file",
    "address": 'host name or IP address, and port, 1 to 65535: `"198.18.0.1:4500"`, `"[2001:db8::1]:4500"`,'
    ' `"host.example:3260"`',
    "IP address and port": 'like an address, but without a host name. `"0.0.0.0:4500"` stands for all IPv4 addresses of'
    ' the host, `"[::]:4500"` for all IPv6 ones',
    "host name": "without a port; capital and small letters are the same",
    "network and port": '`"10.1.0.0/24"` or `"2001:db8::/64"` with port 3260, `"10.1.0.0/24:3261"` or'
    ' `"[2001:db8::/64]:3261"` with another one. The bits behind the prefix must be 0',
    "ports": 'the first and the last of at most 256 ports: `"3261-3276"`; a single one: `"3261-3261"`',
    "days": "one or more of mon tue wed thu fri sat sun, or ranges of them, separated by commas without spaces:"
    ' `"mon-fri"`, `"mon,wed,sat-sun"`. A range may pass Sunday: `"fri-mon"`',
    "time of day": 'hours and minutes, two digits each: `"00:00"` to `"23:59"`, and `"24:00"`, the end of the day. The'
    " minute of `from` is included, that of `to` is not. It is the host's local time; in a container, that of"
    " `ISTHMUS_TIME_ZONE` in `.env`, or UTC without that. When clocks are set forward, what would begin in the hour"
    " that is left out begins at its end; when they are set back, the hour that comes twice counts twice",
    "`dscp`": "a name in small letters: cs0 to cs7, af11 to af43 (1 to 4, then 1 to 3), ef, va, le; or a number"
    " without quotes, 0 to 63",
}
"""What stands in the column `value`, and how it is written."""

_TOGETHER = """\
## What is refused together

Values that are right by themselves are refused if they do not fit together. These rules hold besides what the tables
say:

- **Peers:** There must be at least one, and each needs a `certificate` unless `identity.ca` is given. No two peers may
  have the same name, nor two forwards, nor two exports, and no peer may have this site's own name; names that differ
  only by capital letters count as the same. `address` of a peer must not be `tunnel.listen`, `status.listen`, or
  `listen` of a forward to that peer. `peer` of a forward and `peers` of an export must name peers of this file, in the
  same capital and small letters.
- **Listeners:** `tunnel.listen`, `status.listen` and `listen` of all forwards must differ. Those with the same port
  need different addresses; `0.0.0.0` stands for every IPv4 address, `[::]` for every IPv6 one. At the same address, no
  listener may have a port that is among the `ports` of a forward, and no two forwards may have `ports` in common.
- **Loops:** No export may lead to a forward of this site, not even to one that leads to another peer: sites do not form
  chains. So `address` of an export must not be `listen` of a forward. If that `listen` stands for all addresses, an
  export with the same port must not have a loopback address or an address of another listener in this file. And no
  `range` of an export may contain the address of a forward's `listen`, if its port is that of `listen` or among that
  forward's `ports`. Which other addresses are the host's own shows only on the host: `isthmus check` and
  `isthmus doctor` report such a loop there, and the site does not start with it.
- **Tunnel:** `dead_after` must be longer than `keepalive`, `memory` at least `window`, and `memory` and `unacked` at
  least 1MiB for each peer.
- **Chunks:** `average` must be at least twice `minimum`, and at most `maximum`.
- **Store:** `mode = "disk"` needs `path`. If `path` is given, `mode` must be given, too.
- **Status:** `certificate` and `key` need each other, and `clients` needs both. `history` must be a file of its own:
  not this one, and none that another key names.
- **Rates:** `guarantee` must not exceed `maximum`, and `burst` needs `maximum`. The guarantees of all forwards to a
  peer, and of all exports that it may reach, must together not exceed its `rate`, nor the `rate` of any `schedule`.
- **Timetables:** `from` and `to` must differ (for whole days write `"00:00"` and `"24:00"`). A table is refused if
  tables above it cover all of its time.
- **Portals:** `range` and `ports` of a forward need each other, and `idle` needs both. Two forwards to one peer need
  different `portal`. With `protocol = "tcp"`, none of `portal`, `range`, `ports`, `idle` and `rewrite` may be given,
  whatever its value. `transparent = true` needs `range`, and excludes the other four; then `range` may be given with
  any protocol.
- **Files:** Certificates, keys and tokens must exist and be readable; keys and tokens by their owner only. A key must
  belong to its certificate. The site's own certificate and the listener's must not have expired. A certificate must
  allow what its site does: TLS client authentication if it dials, server authentication if it is dialled. No two sites
  may have the same key. `identity.ca` may hold certificates of CAs only.
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
