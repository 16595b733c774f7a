"""A reload is done as a whole, whoever waits for it; and what interrupts mean."""

import asyncio
import subprocess
import sys
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import AsyncMock, MagicMock

import pytest

from proxy.net.service import Front, Interrupt, StatusListener, reload_when_told
from proxy.net.site import Site
from proxy.net.supervisor import Supervisor
from proxy.net.watching import Watching
from proxy.observe.answers import ReloadAnswer
from proxy.observe.journal import Journal


class Stage:
    """A site whose certificates take as long to read as a test wants, and what its supervisor is told."""

    def __init__(self, problem: str = "") -> None:
        self.begun, self.read = asyncio.Event(), asyncio.Event()
        self.stop = asyncio.Event()
        self.told: list[str] = []
        self.defects = 0  # reloads that are still to fail
        self.journal = Journal()
        site: Any = SimpleNamespace(
            config=SimpleNamespace(site=SimpleNamespace(name="east")),
            reload=self.reload,
            alarms=list,
            reload_problem=problem,
            awaiting=("tunnel.window",),
            draining=False,
        )
        supervisor: Any = SimpleNamespace(reloading=lambda: self.told.append("reloading"), ready=self.told.append)
        watching: Any = SimpleNamespace(journal=self.journal, note_host=lambda: None)
        self.front = Front(
            cast(Site, site), cast(Watching, watching), self.stop, cast(Supervisor, supervisor), listener=None
        )

    async def reload(self) -> tuple[str, ...]:
        self.begun.set()
        await self.read.wait()
        if self.defects:
            self.defects -= 1
            raise RuntimeError("a defect")
        return ("forward array",)

    async def hang_up(self) -> None:
        """Ask for a reload, and go when it has begun."""
        asking = asyncio.create_task(self.front.reload())
        await self.begun.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    @property
    def events(self) -> list[str]:
        return [event.code for event in self.journal.after(0, 10).events]


def test_a_reload_is_finished_though_who_asked_has_gone() -> None:
    async def scene() -> None:
        stage = Stage()
        await stage.hang_up()
        stage.read.set()
        answer = await stage.front.reload()  # waits for the one before
        assert answer == ReloadAnswer(True, "", ("forward array",), ("tunnel.window",), draining=False)
        assert stage.told == ["reloading", "site east"] * 2
        assert stage.events == ["IST-205"]

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("certificates", "listener", "told"),
    [
        ("", "", ""),
        ("the old ones stay in use: a is missing", "", "the old ones stay in use: a is missing"),
        ("", "status.token: is missing", "status.token: is missing"),
        ("the old ones stay in use: a", "status.token: b", "the old ones stay in use: a; status.token: b"),
        ("the old ones stay in use: token: b", "token:\n  b", "the old ones stay in use: token: b"),
    ],
)
def test_what_two_parts_have_found_is_told_once(certificates: str, listener: str, told: str) -> None:
    """The site's whole file is checked for certificates, the listener's part of it for the listener."""

    async def listens() -> str:
        return listener

    async def scene() -> None:
        stage = Stage(certificates)
        stage.read.set()
        stage.front.listener = cast(StatusListener, SimpleNamespace(reload=listens))
        answer = await stage.front.reload()
        assert (answer.reloaded, answer.problem) == (not told, told)

    asyncio.run(scene())


def test_who_is_told_that_the_site_stops_is_not_told_that_it_is_ready() -> None:
    async def scene() -> None:
        stage = Stage()
        await stage.hang_up()
        stage.stop.set()
        stage.read.set()
        await stage.front.reload()
        assert stage.told == ["reloading"]

    asyncio.run(scene())


def test_a_defect_in_a_reload_is_logged_and_the_next_one_is_done(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        stage, told = Stage(), asyncio.Event()
        stage.defects = 1
        stage.read.set()
        reloads = asyncio.create_task(reload_when_told(stage.front, told))
        for _ in range(2):
            stage.begun.clear()
            told.set()
            await stage.begun.wait()
            await asyncio.sleep(0)
        await stage.front.reload()  # waits for the one before
        reloads.cancel()
        assert stage.told == ["reloading", *["reloading", "site east"] * 2]
        assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["a defect"]

    asyncio.run(scene())


def test_interrupts_that_come_at_once_are_one() -> None:
    """`timeout -s INT` sends it to the process and to its group: that must not end the drain that it begins."""
    stop, hurry = asyncio.Event(), asyncio.Event()
    times = iter([10.0, 10.001, 11.5])
    interrupt = Interrupt(stop, hurry, lambda: next(times))
    interrupt.came()
    interrupt.came()
    assert (stop.is_set(), hurry.is_set()) == (True, False)
    interrupt.came()
    assert hurry.is_set()


IGNORING = """
import signal
from proxy.net import service

def ignored(number):
    (mask,) = (line.split()[1] for line in open("/proc/self/status") if line.startswith("SigIgn:"))
    return bool(int(mask, 16) >> (number - 1) & 1)

change, before = signal.signal, []
for number in service.HEEDED:
    change(number, lambda *_: None)

def seen(number, handler):
    before.append(ignored(number))
    return change(number, handler)

signal.signal = seen
service.ignore_signals()
print(before, [signal.getsignal(number) is signal.SIG_IGN for number in service.HEEDED])
"""


def test_at_the_end_the_kernel_is_told_of_signals_before_the_interpreter() -> None:
    """One that came between had "Signal 2 ignored due to race condition" and a traceback in the log, now and then."""
    told = subprocess.run([sys.executable, "-c", IGNORING], capture_output=True, text=True, check=True)
    assert told.stdout == f"{[True] * 3} {[True] * 3}\n"


def test_trust_is_withdrawn_whatever_becomes_of_the_rest_of_the_file() -> None:
    """Otherwise a defect in taking that over left a peer its lanes that it was to lose."""

    async def reload() -> None:
        site = MagicMock(draining=False, **{"_take_over.side_effect": RuntimeError("a defect")})
        site.certificates.reload = AsyncMock()
        with pytest.raises(RuntimeError):
            await Site.reload(site)
        site.peers.review.assert_called_once()

    asyncio.run(reload())
