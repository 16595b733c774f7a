"""The process that carries the packets of one way: from the TUN device of one end to that of the other.

A packet that is read may hold many TCP segments (`bench.wan.segments`), and each segment has a fate of its own. Those
of one packet that are due by the same time are written as one packet again: that saves most of the work, and at low
rates they are not due together.

The process ends when its control socket does. While there is much traffic it sleeps between small bunches of packets;
otherwise it is woken when a packet comes or is due. So it leaves the CPU to the ends of the connections.
"""

import contextlib
import ctypes
import gc
import json
import os
import select
import socket
import time
from collections import deque
from dataclasses import asdict
from typing import Any

from bench.wan.model import Fate, Model
from bench.wan.segments import LONGEST, Packet
from bench.wan.settings import Way

GRAIN, LEAST_GRAIN, MOST_GRAIN = 0.01, 100e-6, 500e-6
"""While packets follow each other, the process sleeps for this share of the delay, within these bounds, in seconds."""
BATCH = 128
"""Segments that are read, about, before the process looks again whether others are due."""
PERIOD_SECONDS = 1.0
"""Seconds over which rate and CPU are averaged."""
LATE_STEP = 50e-6
LATE_STEPS = 400
"""Lateness is counted in steps of 50 microseconds, up to 20 ms."""
MESSAGE_BYTES = 1 << 16
_PR_SET_TIMERSLACK = 29

Held = deque[tuple[Fate, Packet, int]]
"""Segments under way: the fate of each, the packet that it came in, and its number there."""


class Carrier:
    """One way of the line, between two descriptors of TUN devices, both non-blocking."""

    def __init__(self, model: Model, source: int, target: int, control: socket.socket) -> None:
        self._model, self._source, self._target, self._control = model, source, target, control
        self._in_order: Held = deque()
        self._ahead: Held = deque()
        self._delivered = self._delivered_bytes = 0
        self._late = [0] * (LATE_STEPS + 1)
        self._latest = 0.0
        self._period = _Period()

    def run(self) -> None:
        """Carry until the control socket ends."""
        _hurry()
        both: list[Any] = [self._source, self._control]
        readable: list[Any] = both
        last = 0.0
        while True:
            taken = self._take() if self._source in readable else 0
            moved = self._deliver(self._in_order) + self._deliver(self._ahead) + taken
            self._period.see(self._delivered_bytes)
            grain = min(max(self._model.delay * GRAIN, LEAST_GRAIN), MOST_GRAIN)
            now = time.monotonic()
            if moved and now - last < 2 * grain:
                time.sleep(grain)
                readable = [self._source, *select.select([self._control], [], [], 0)[0]]
            else:
                readable, _, _ = select.select(both, [], [], self._rest())
            last = now if moved else last
            if self._control in readable and not self._obey():
                return

    def _rest(self) -> float:
        """Seconds until something is due."""
        due = min((held[0][0].due for held in (self._in_order, self._ahead) if held), default=float("inf"))
        return max(0.0, min(due - time.monotonic(), PERIOD_SECONDS / 4))

    def _deliver(self, held: Held) -> int:
        """Write the segments that are due; how many. Those that came in one packet, and are due, go in one packet."""
        now, late, moved = time.monotonic(), self._late, 0
        while held and held[0][0].due <= now:
            fate, packet, first = held[0]
            self._latest = max(self._latest, now - fate.due)
            end = first
            while held and held[0][0].due <= now and held[0][1] is packet and held[0][2] == end:
                late[min(int((now - held.popleft()[0].due) / LATE_STEP), LATE_STEPS)] += 1
                end += 1
            with contextlib.suppress(OSError):  # the namespace's interface is down
                os.write(self._target, packet.cut(first, end))
            self._delivered_bytes += sum(packet.sizes[first:end])
            moved += end - first
        self._delivered += moved
        return moved

    def _take(self) -> int:
        """Read what has come in, about a batch at most; how many segments. The model gives each its fate."""
        source, take, count = self._source, self._model.take, 0
        while count < BATCH:
            try:
                packet = Packet(os.read(source, LONGEST))
            except BlockingIOError:
                break
            now = time.monotonic()
            for number, size in enumerate(packet.sizes):
                fate = take(now, size)
                if fate is not None:
                    held = self._ahead if fate.ahead else self._in_order
                    for _ in range(fate.copies):
                        held.append((fate, packet, number))
            count += len(packet.sizes)
        return count

    def _obey(self) -> bool:
        """Do what the control socket asks for and answer; False at its end."""
        message = self._control.recv(MESSAGE_BYTES)
        if not message:
            return False
        request = json.loads(message)
        if "way" in request:
            self._change(Way(**request["way"]))
        if "out" in request:
            self._switch(request["out"])
        self._control.send(json.dumps(self._stats()).encode())
        return True

    def _change(self, way: Way) -> None:
        """Change the settings. Another rate also changes the fates of segments that wait for it."""
        change = self._model.set(way, time.monotonic())
        if change.longer == 1:
            return  # the rate is as before, as mostly: going through 25,000 packets of a fast line takes 40 ms
        for held in (self._in_order, self._ahead):
            fates = change.of([fate for fate, _, _ in held])
            changed = [(fate, packet, number) for fate, (_, packet, number) in zip(fates, held, strict=True)]
            held.clear()
            held.extend(changed)

    def _switch(self, out: bool) -> None:
        """Begin an outage, in which what is under way is lost, or end it."""
        self._model.out = out
        if out:
            self._model.counts.outage += len(self._in_order) + len(self._ahead)
            self._in_order.clear()
            self._ahead.clear()
            self._model.cut()

    def _stats(self) -> dict[str, Any]:
        return {
            **asdict(self._model.counts),
            "out": self._model.out,
            "delivered": self._delivered,
            "delivered_bytes": self._delivered_bytes,
            "waiting_bytes": self._model.waiting(time.monotonic()),
            "on_the_way": len(self._in_order) + len(self._ahead),
            "late_p99": percentile(self._late, 0.99) * LATE_STEP,
            "late_max": self._latest,
            "rate": self._period.rate,
            "cpu": self._period.cpu,
            "cpu_seconds": time.process_time(),
        }


def _hurry() -> None:
    """Have the kernel wake this process in time, also on a busy machine: a line does not wait for a CPU."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1000)  # nanoseconds; the usual slack is 50 microseconds
    gc.disable()  # nothing here makes cycles, and a look at 10,000 packets takes milliseconds
    with contextlib.suppress(OSError):  # not in every container
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


class _Period:
    """Rate and CPU of the last whole period."""

    def __init__(self) -> None:
        self.rate = 0
        """Bits a second."""
        self.cpu = 0.0
        """Share of one core."""
        self._since, self._carried, self._used = time.monotonic(), 0, time.process_time()

    def see(self, carried: int) -> None:
        """Take note of the bytes that were carried since the start; at the end of a period, update rate and CPU."""
        passed = time.monotonic() - self._since
        if passed < PERIOD_SECONDS:
            return
        used = time.process_time()
        self.rate = round((carried - self._carried) * 8 / passed)
        self.cpu = (used - self._used) / passed
        self._since, self._carried, self._used = self._since + passed, carried, used


def percentile(counts: list[int], share: float) -> int:
    """Upper end, in steps, of the step in which that share of what was counted is reached; 0 if nothing was counted."""
    wanted, seen = sum(counts) * share, 0
    if not wanted:
        return 0
    for step, count in enumerate(counts, 1):
        seen += count
        if seen >= wanted:
            return step
    return len(counts)
