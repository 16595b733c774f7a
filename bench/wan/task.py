"""What is asked of a keeper when it is started."""

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Task:
    """What line to keep."""

    prefix: str
    """Of the namespaces' names."""
    line: dict[str, Any]
    """As `Line.as_dict` gives it."""
    seed: int | None = None
    """For the random numbers; None takes others each time. netem has its own."""
    backend: str = "auto"
    """netem, tun, or auto: netem where there is one and it can do this line."""
    path: str = ""
    """Where a Unix socket listens for requests, or empty."""

    def to_json(self) -> str:
        """For the command line."""
        return json.dumps(asdict(self))
