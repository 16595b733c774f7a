"""Writes what is derived from the models: deploy/CONFIGURATION.md and deploy/isthmus.schema.json.

`python -m proxy.config.document` does it, in a checkout; a test fails when that was forgotten.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proxy.config.model import NAME_RULE
from proxy.config.schema import schema
from proxy.config.units import DURATION, RATE, SIZE
from proxy.errors import ExitCode

DEPLOY = Path(__file__).parents[2] / "deploy"

_HEAD = """\
# Configuration

Written by `python -m proxy.config.document`; change the descriptions in `proxy/config/model.py`.

One TOML file a site. Two that work together are in [examples/](examples). `isthmus check FILE` says whether a file is
right, and otherwise every mistake at once, each with its key, its value and the remedy; nothing starts with a file
that has one. Editors that know JSON Schema complete and check the file with
[isthmus.schema.json](isthmus.schema.json): begin it with `#:schema PATH-OF-THE-SCHEMA`, as the examples do.

- Paths are relative to the file.
- Quantities are text with a unit, without a space: {units}.
- Addresses are `"198.18.0.1:4500"`, `"[2001:db8::1]:4500"` or, where something is connected to, `"host.example:3260"`.
- Names are {names}.
- Unknown keys are mistakes.
- What the words mean: [GUIDE.md](GUIDE.md#words).

The running site reads certificates, keys, pins and tokens anew on SIGHUP (`isthmus reload`); everything else at the
next start. A control token that was replaced it does not know until then, and refuses `isthmus reload`, which shows it:
have it read by `systemctl reload` or `kill -HUP`.
"""


def documents() -> dict[str, str]:
    """The content of each file, by its name within deploy/."""
    described = schema()
    return {
        "CONFIGURATION.md": "\n".join(_page(described)) + "\n",
        "isthmus.schema.json": json.dumps(described, indent=2) + "\n",
    }


def _page(described: dict[str, Any]) -> Iterator[str]:
    units = ", ".join(
        f'{unit.name.split()[1]}s in {" ".join(unit.factors)} (`"{unit.example}"`)' for unit in (SIZE, RATE, DURATION)
    )
    yield _HEAD.format(units=units, names=NAME_RULE)
    for section, reference in described["properties"].items():
        many = "items" in reference
        model = described["$defs"][(reference["items"] if many else reference)["$ref"].rpartition("/")[2]]
        yield from _section(f"[[{section}]]" if many else f"[{section}]", model)
        for key, value in model["properties"].items():
            if inner := value.get("items", {}).get("$ref"):
                yield from _section(f"[[{section}.{key}]]", described["$defs"][inner.rpartition("/")[2]])
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
