"""What owns lanes in tests that are about something else."""

from proxy.net.lane import Lane


class TrustingOwner:
    """Lets everybody in, with whichever congestion control the kernel uses."""

    congestion_control = ""

    def bars(self, lane: Lane) -> bool:
        return False

    def flooded(self, lane: Lane, reason: str) -> None:
        raise AssertionError(reason)
