"""The demo with the sites left out: what it does with figures, differences and failures."""

import json
import os
import signal
from pathlib import Path
from shutil import disk_usage
from types import SimpleNamespace
from typing import Any, Self

import pytest

from bench import demo, machine
from bench.array import IscsiTarget
from bench.replicator import Sink
from bench.sites import Address, Pair, SiteFailure
from proxy.doctor.facts import Memory


class DirectSite:
    """Counts as a site that halves everything twice would; each look sees 1000 bytes more."""

    def __init__(self) -> None:
        self.looks = 0

    def status(self) -> dict[str, Any]:
        self.looks += 1
        raw = 1000 * self.looks
        counted = {"raw": raw, "after_deduplication": raw // 2, "after_compression": raw // 4, "wire": raw // 4 + 1}
        return {"bytes": counted}


class DirectPair(Pair):
    """No sites: every forward leads straight to what is exported."""

    def __init__(self, exports: dict[str, Address], **_: object) -> None:
        self.forwards = exports
        self.east = DirectSite()  # type: ignore[assignment]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class DeafSink(Sink):
    """Sends its receipts elsewhere: every transfer ends unverified."""

    @property
    def address(self) -> Address:
        return "127.0.0.1", 1


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(demo, "Pair", DirectPair)
    monkeypatch.setattr(IscsiTarget, "lacking", staticmethod(lambda: "no array today"))
    return monkeypatch


@pytest.mark.usefixtures("direct")
def test_json_has_all_passes_and_nothing_else_is_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.run(1 << 20, "memory", True) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["identical"] is True
    assert found["skipped"] == "no array today"
    assert [(each["volume"], each["name"]) for each in found["passes"]] == [
        (volume, name) for volume in ("f5vol2", "f5vol3", "f5vol4") for name in ("cold", "warm")
    ]
    first = found["passes"][0]
    assert (first["raw"], first["wire"]) == (1000, 250)
    assert (first["saved_by_deduplication"], first["saved_by_compression"]) == (50, 25)
    assert first["verified"] is True


@pytest.mark.usefixtures("direct")
def test_the_table_says_what_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.run(1 << 20, "disk", False) == 0
    out = capsys.readouterr().out
    assert "f5vol4" in out
    assert "No volume went over iSCSI: no array today." in out
    assert "all identical" in out


def test_anything_unverified_is_exit_status_1(direct: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    direct.setattr(demo, "Sink", DeafSink)
    assert demo.run(1 << 20, "memory", False) == 1
    out = capsys.readouterr().out
    assert "f5vol2, cold: the connection failed" in out
    assert "all identical" not in out


def test_a_failing_site_is_one_message(direct: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(self: Pair) -> Pair:
        raise SiteFailure("site east ended by itself; the end of its log:\n[red]no such port")

    direct.setattr(DirectPair, "__enter__", fail)
    assert demo.run(1 << 20, "memory", True) == 1
    captured = capsys.readouterr()
    assert "The demo failed: site east ended by itself" in captured.err
    assert "[red]no such port" in captured.err
    assert not captured.out


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_its_files_are_removed_leaves_none(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    remove = os.rmdir

    def interrupted(name: Any, **more: Any) -> None:
        monkeypatch.setattr(os, "rmdir", remove)
        signal.raise_signal(number)
        remove(name, **more)

    monkeypatch.setattr(os, "rmdir", interrupted)
    former = signal.signal(number, signal.default_int_handler)  # what would end the tests, were it not heeded
    try:
        with pytest.raises(KeyboardInterrupt):
            demo.run(1 << 20, "memory", True)
    finally:
        signal.signal(number, former)
    assert not list(tmp_path.iterdir())


def test_a_path_that_is_too_long_for_the_targets_socket_leaves_iscsi_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(IscsiTarget, "lacking", staticmethod(lambda: ""))
    short = Path("/" + "d" * (IscsiTarget.LONGEST - 1))
    monkeypatch.setattr("shutil.disk_usage", lambda directory: disk_usage(tmp_path))
    assert not demo.lacking_for_iscsi(512, short)
    assert "too long a path for tgtd's socket (see TMPDIR)" in demo.lacking_for_iscsi(512, Path(f"{short}d"))


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize(("store", "status"), [("disk", 1), ("memory", 0)])
def test_stores_that_do_not_fit_on_the_disk_are_said_before_anything_is_sent(
    store: str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda directory: SimpleNamespace(free=100 << 20))
    assert demo.run(1 << 20, store, as_json=True) == status
    said = " ".join(capsys.readouterr().err.split())
    told = "has 100 MiB free, 256 MiB are needed (see TMPDIR); give a smaller --volume-size" in said
    assert told is (store == "disk")


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize(("free", "status"), [(100 << 20, 1), (257 << 20, 0), (None, 0)])
def test_stores_that_do_not_fit_into_memory_are_said_before_anything_is_sent(
    free: int | None, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine, "memory", lambda: Memory(free, None))
    assert demo.run(1 << 20, "memory", as_json=True) == status
    said = " ".join(capsys.readouterr().err.split())
    told = "100 MiB of memory are free, 256 MiB are needed; give a smaller --volume-size, or --store disk" in said
    assert told is bool(status)
