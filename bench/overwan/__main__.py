"""`python -m bench.overwan`: see the package."""

from bench.ending import program
from bench.overwan import iperf
from bench.overwan.cases import CASES
from bench.suite import Suite
from bench.wan import Line, WanFailure, line


def no_line() -> str:
    """Why no line can be emulated here, or nothing: found out by trying."""
    try:
        with line(Line()):
            return ""
    except WanFailure as error:
        return str(error)


SUITE = Suite(
    "bench-wan",
    "bench.overwan",
    "What a pair does over slow, long and lossy lines, beside iperf3 on the same lines.",
    CASES,
    lambda: iperf.lacking() or no_line(),
    (WanFailure,),
)

if __name__ == "__main__":
    program(SUITE.run)
