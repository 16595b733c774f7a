"""What is asked of a keeper when it is started."""

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Task:
    """The line that a keeper is to make and keep."""

    prefix: str
    """Beginning of the namespaces' names."""
    line: dict[str, Any]
    """As `Line.as_dict` gives it."""
    seed: int | None = None
    """Seed of the random numbers; with None they differ each time. netem has random numbers of its own."""
    backend: str = "auto"
    """netem, tun, or auto: netem where there is one and it can do this line."""
    path: str = ""
    """Where the keeper listens for requests on a Unix socket; empty: nowhere."""

    def to_json(self) -> str:
        """For the command line."""
        return json.dumps(asdict(self))
