"""Tests of real processes are run once more when they fail, and named; others are not."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = """
import pathlib, socket, time, pytest
from tests.integration.bed.ends import END, RESET, Heard, hears, prefix_of, same, torn, whole

def first(name):
    mark = pathlib.Path(__file__).with_name(name)
    return not mark.exists() and not mark.touch()

@pytest.fixture
def late():
    yield
    assert not first("late")

@pytest.fixture(scope="module")
def broken():
    return first("broken")

def test_what_the_file_shares(broken):
    assert not broken

def test_well():
    pass

def test_once():
    assert not first("once")

def test_once_and_something_is_left_open():
    left = socket.socket() if "integration" in __file__ else None
    assert left is None or not first("open")
    if left:
        left.close()

def test_cleaning_up(late):
    pass

@pytest.fixture
def untidy():
    yield
    assert not first("untidy"), "a word"

@pytest.fixture
def messy():
    yield
    if first("messy"):
        raise OSError("another word")

def test_cleaning_up_both(untidy, messy):
    pass

def test_never():
    assert False, "as ever"

def identical(one, other):
    return one == other

def test_volumes_that_differ():
    assert identical(first("volume"), False)

def heard(name, wrong, right):
    return Heard(wrong, END) if first(name) else right

def test_other_bytes():
    whole(b"sent", heard("other", b"lent", Heard(b"sent", END)))

def test_bytes_too_many():
    whole(b"sent", heard("many", b"sentence", Heard(b"sent", END)))

def test_an_end_too_early():
    prefix_of(b"sent", heard("early", b"sen", Heard(b"sen", RESET)))

def test_an_end_that_nobody_made():
    torn(b"sent", heard("end", b"sent", Heard(b"sent", RESET)))

def test_an_end_in_place_of_what_comes():
    near, far = socket.socketpair()
    with near, far:
        far.sendall(b"se" if first("place") else b"sent")
        far.shutdown(socket.SHUT_WR)
        hears(near, b"sent")

def test_other_bytes_on_a_disk():
    same(b"sent", b"lent" if first("disk") else b"sent")

def test_a_reset_of_a_stall():
    whole(b"sent", Heard(b"sen", RESET) if first("stall") else Heard(b"sent", END))

@pytest.mark.timeout(1)
def test_that_hangs():
    time.sleep(600)
"""
CONFTEST = """
from pathlib import Path
from tests import second_chance
second_chance.GIVEN_TO = [Path(__file__).parent / "integration"]

def pytest_configure(config):
    config.pluginmanager.register(second_chance.SecondChance(config))

def pytest_collection_modifyitems(items):
    second_chance.give(items)
"""


def test_who_is_run_again(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for kind in ("integration", "unit"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "test_it.py").write_text(TESTS)
    options = ["-n", "1", "-W", "error", "--import-mode=importlib", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, "."]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}  # whose add to what it says
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "21 failed, 13 passed, 2 errors, 8 rerun in" in done.stdout
    for name in re.findall("test_(?:other|bytes|an_end|volumes)\\w*", TESTS):
        assert f"FAILED integration/test_it.py::{name} - " in done.stdout
    at_once = done.stdout.partition("= FAILURES =")[0]
    assert "integration/test_it.py::test_once (call): AssertionError: assert not True" in at_once
    assert "unit/test_it.py::test_cleaning_up_both (teardown): " in at_once
    held = done.stdout.partition("held only the second time")[2].partition("short test summary")[0]
    assert [line.partition(": ")[0] for line in held.splitlines() if "::" in line] == [
        "integration/test_it.py::test_a_reset_of_a_stall",
        "integration/test_it.py::test_cleaning_up",
        "integration/test_it.py::test_cleaning_up_both",
        "integration/test_it.py::test_once",
        "integration/test_it.py::test_once_and_something_is_left_open",
        "integration/test_it.py::test_what_the_file_shares",
    ]
    assert "(2 sub-exceptions); AssertionError: a word; OSError: another word" in held
    line = TESTS.splitlines().index('    assert not first("once")') + 1
    assert f"test_once: AssertionError: assert not True\n    integration/test_it.py:{line}\n" in held.replace("\r", "")
