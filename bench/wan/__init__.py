"""A WAN on one machine: two network namespaces, east and west, joined by a line that is as bad as one wants.

    with line(Line.of(rate="45Mbit", delay="50ms", loss="1%")) as wan:
        subprocess.run([*wan.command("west"), "iperf3", "-s", "-1", "-D"])
        with wan.inside("east"):
            connection = socket.create_connection((wan.addresses["west"], 5201))
        wan.outage(True, toward="west")
        wan.stats()["west"]["outage"]

`settings` says what a line is like (`Line`, of two `Way`s), `model` what becomes of a packet, without any I/O.
`keeper` is the process that keeps a line: it makes the `namespaces`, lets a `backend` join them, obeys requests, and
removes everything at its end, which comes with that of the process that started it; a line of `isthmus wan` stays up
until it is told to end. A backend is the kernel's `netem`, where there is one, or a `carrier` for each way, which moves
packets between TUN devices; `segments` takes apart the large packets that such a device hands over. `wan` is what tests
and benches use; the command `isthmus wan` is made from the same parts.
"""

from bench.wan.errors import WanFailure
from bench.wan.settings import Line, Way
from bench.wan.wan import Wan, line

__all__ = ["Line", "Wan", "WanFailure", "Way", "line"]
