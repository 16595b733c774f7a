"""The source of a volume waits until all are told to begin; what is given up is compared as far as it was sent."""

import json
import signal
import socket
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from bench.datasets import Dataset
from bench.lines import Setting
from bench.overwan.streams import ENDLESS
from bench.replay.flow import READY, send
from bench.replay.published_lines import steady
from bench.replay.trial import Stage
from bench.replicator import Sink
from bench.sites import Address, environment
from tests.integration.bench.no_line import NO_LINE
from tests.patience import PATIENCE


def start(to: Address) -> "subprocess.Popen[str]":
    """A source that is ready to send 1,000 bytes."""
    volume = json.dumps(asdict(Dataset("gate", 1000)))
    command = [sys.executable, "-m", "bench.replay.flow", volume, *map(str, to)]
    source = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment())
    assert source.stdout is not None
    assert source.stdout.readline() == READY
    return source


def test_it_does_not_connect_before_it_is_told_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, start(listener.getsockname()) as source:
        listener.settimeout(0.3)
        with pytest.raises(TimeoutError):
            listener.accept()
        assert source.stdin is not None
        source.stdin.write("\n")
        source.stdin.flush()
        listener.settimeout(PATIENCE)
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(10)
        told, _ = source.communicate(timeout=PATIENCE)
    assert not json.loads(told)["verified"], "there was no receipt"


def test_who_has_sent_everything_may_be_given_up_while_it_ends() -> None:
    """When Python ends, it forgets functions that handle signals some 10 ms before the process has ended."""
    with Sink() as end, start(end.address) as source:
        assert source.stdin is not None
        source.stdin.write("\n")
        source.stdin.flush()
        assert source.stdout is not None
        assert json.loads(source.stdout.readline())["verified"]
        while source.poll() is None:
            source.send_signal(signal.SIGTERM)
    assert source.returncode == 0


def test_what_is_given_up_is_compared_as_far_as_it_was_sent() -> None:
    volumes = [Dataset(name, ENDLESS) for name in ("one", "other")]
    with Sink() as one, Sink() as other:
        flow = send(NO_LINE, volumes, [one.address, other.address], [one, other], most=0.2)
        received = [one.received, other.received]
    assert flow.given_up is not None
    assert not flow.finished
    assert [transfer.bytes for transfer in flow.transfers if transfer] == received
    assert all(transfer and transfer.verified for transfer in flow.transfers)
    assert (flow.complaint, flow.uncompared) == ("", "")


def test_what_is_more_than_the_line_carries_has_a_note(tmp_path: Path) -> None:
    """As loopback is, taken for a line of 45 Mb/s."""
    with Sink() as end:
        stage, setting = Stage(tmp_path, 1 / 65536), Setting(round_trip=0)
        found = steady(NO_LINE, setting, stage, "a", end.address, end)
    throughput = found.figures[0]
    assert throughput.value
    assert throughput.value > 45
    assert throughput.remark.startswith("more than the line carries")


def test_what_came_to_its_end_was_not_given_up() -> None:
    with Sink() as end:
        flow = send(NO_LINE, [Dataset("short", 300_000)], [end.address], [end], most=PATIENCE)
    assert flow.finished
    assert [transfer.bytes for transfer in flow.transfers if transfer] == [300_000]
