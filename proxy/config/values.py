"""What values of a site's file can be: names, paths, levels, lanes, marks. Each tells its own mistakes and remedies."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import PlainValidator, Strict, ValidationInfo, WithJsonSchema

from proxy.config.names import NAME_PATTERN, NAME_REMEDY, NAME_RULE, is_name
from proxy.config.validators import mistaken, reader, shape

CONGESTION_CONTROL_PATTERN = r"^[a-z0-9_]{1,15}$"
LANES_MAX = 64
"""Lanes of a tunnel that a file can ask for, at most."""
DSCP_NAMES = (
    {f"cs{number}": 8 * number for number in range(8)}
    | {f"af{number}{drop}": 8 * number + 2 * drop for number in range(1, 5) for drop in range(1, 4)}
    | {"ef": 46, "va": 44, "le": 1}
)
"""RFC 2474 (cs), 2597 (af), 3246 (ef), 5865 (va), 8622 (le)."""
HOST_NAME_PATTERN = r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$"


def _name(text: str) -> str:
    if not is_name(text):
        raise ValueError("is not a name")
    return text


def _file(value: Any, info: ValidationInfo) -> Path:
    remedy = "write the path of a file, absolute or relative to this file"
    if not isinstance(value, str):
        raise mistaken("is not text in quotes", remedy)
    if not value or any(ord(character) < 32 for character in value):
        raise mistaken("is not a path", remedy)
    return Path((info.context or {}).get("base", "."), value)


def _level(value: Any) -> int | Literal["auto"]:
    if value == "auto":
        return "auto"
    if not isinstance(value, int) or isinstance(value, bool):
        raise mistaken("is not a whole number", 'write a number without quotes, or "auto"')
    if value < LEVELS[0]:
        raise mistaken("is too small", f'write at least {LEVELS[0]}, or "auto"')
    if value > LEVELS[1]:
        raise mistaken("is too large", f'write at most {LEVELS[1]}, or "auto"')
    return value


LEVELS = -5, 19
_LEVEL_SCHEMA = {
    "title": "level",
    "anyOf": [{"const": "auto"}, {"type": "integer", "minimum": LEVELS[0], "maximum": LEVELS[1]}],
}

Level = Annotated[int | Literal["auto"], PlainValidator(_level), WithJsonSchema(_LEVEL_SCHEMA)]
"""A level of zstd."""


def _congestion_control(text: str) -> str:
    if not re.fullmatch(CONGESTION_CONTROL_PATTERN, text):
        raise ValueError("is not the name of a congestion control")
    return text


def _lanes(value: Any) -> int | None:
    if value == "auto":
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LANES_MAX:
        raise mistaken(
            f'is neither "auto" nor a number from 1 to {LANES_MAX}', 'write "auto", or a number without quotes'
        )
    return value


def _dscp(value: Any) -> int:
    remedy = 'write a name such as "ef", "af21", "cs1" or "le", or a number from 0 to 63 without quotes'
    if isinstance(value, str) and value in DSCP_NAMES:
        return DSCP_NAMES[value]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 63:
        raise mistaken("is not a DSCP", remedy)
    return value


_CONGESTION_CONTROL_REMEDY = 'write "auto", or a name that `sysctl net.ipv4.tcp_available_congestion_control` shows'
CongestionControl = Annotated[
    str, reader(_congestion_control, _CONGESTION_CONTROL_REMEDY), shape("name", CONGESTION_CONTROL_PATTERN)
]
"""A congestion control by the kernel's name, or "auto"."""
Lanes = Annotated[
    int | None,
    PlainValidator(_lanes),
    WithJsonSchema(
        {"title": "number", "anyOf": [{"const": "auto"}, {"type": "integer", "minimum": 1, "maximum": LANES_MAX}]}
    ),
]
"""A number of lanes; None, for "auto": to be found out."""
Dscp = Annotated[
    int,
    PlainValidator(_dscp),
    WithJsonSchema(
        {
            "title": "DSCP",
            "anyOf": [
                {"title": "name", "type": "string", "pattern": "^(cs[0-7]|af[1-4][1-3]|ef|va|le)$"},
                {"type": "integer", "minimum": 0, "maximum": 63},
            ],
        }
    ),
]
"""The mark of a packet."""
Name = Annotated[str, reader(_name, NAME_REMEDY), shape("name", NAME_PATTERN, maxLength=63, description=NAME_RULE)]
"""The name of a site, a forward or an export."""
FilePath = Annotated[Path, PlainValidator(_file), shape("path", "^[^\\u0000-\\u001f]+$")]
"""A path; one that is not absolute begins at the directory of the site's file."""
Integer = Annotated[int, Strict()]
Switch = Annotated[bool, Strict(), WithJsonSchema({"title": "`true` or `false`", "type": "boolean"})]


def _host_name(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(HOST_NAME_PATTERN, value):
        raise mistaken("is not the name of a host", 'write a name without port, such as "east.example"')
    return value.lower()


HostName = Annotated[str, PlainValidator(_host_name), shape("host name", HOST_NAME_PATTERN)]
"""A host name as in a Host header, in small letters."""
