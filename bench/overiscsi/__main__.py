"""`python -m bench.overiscsi`: see the package."""

from bench.array import ArrayFailure, IscsiTarget
from bench.ending import program
from bench.initiator.initiator import Protocol
from bench.initiator.login import LoginRefused
from bench.overiscsi.cases import CASES
from bench.suite import Suite

SUITE = Suite(
    "bench-iscsi",
    "bench.overiscsi",
    'What it costs and brings that the pair understands iSCSI, beside protocol = "tcp".',
    CASES,
    IscsiTarget.lacking,
    (ArrayFailure, LoginRefused, Protocol),
)

if __name__ == "__main__":
    program(SUITE.run)
