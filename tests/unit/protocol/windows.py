"""Windows by themselves, and arrays that take what comes at some speed."""

from proxy.protocol.window import ReceiveWindow, WindowBudget

KIB, MIB = 1 << 10, 1 << 20


def window(budget: WindowBudget, initial: int = MIB, maximum: int = 64 * MIB) -> ReceiveWindow:
    assert budget.reserve(initial)
    return ReceiveWindow(budget, initial, maximum)


def pass_through(receiver: ReceiveWindow, total: int, start: float, rate: float, round_trip: float = 0.1) -> float:
    """The array takes `total` at `rate` bytes a second, 16 KiB at a time; when it has."""
    now = start
    for _ in range(total // (16 * KIB)):
        now += 16 * KIB / rate
        receiver.arrive(16 * KIB, now, round_trip)
        receiver.consume(16 * KIB, 16 * KIB, now, round_trip)
        if receiver.due:
            receiver.tell()
    return now


def use_up(receiver: ReceiveWindow, times: int) -> None:
    """So often the peer sends all that it may at once, and the array takes it as quickly."""
    for _ in range(times):
        receiver.arrive(receiver.limit - receiver.arrived, 1.0, 0.1)
        receiver.consume(receiver.arrived - receiver.consumed, 0, 1.0, 0.1)
        receiver.press(0)
        receiver.tell()
