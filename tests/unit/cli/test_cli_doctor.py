"""`isthmus doctor`: what the running site says is taken for what it is, and what is shown is text."""

import json
import os
import pwd
import re
import resource
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dedupstore import open_store
from proxy.cli.users import as_user
from proxy.config.model import Export, Forward, SiteConfig
from proxy.errors import ExitCode
from proxy.history.file import open_history
from tests.certificates import make
from tests.unit.cli.called import called_as_a_site
from tests.unit.cli.conftest import OUTLINE, Isthmus, StatusSite, change

TAKE_OVER = "isthmus reload, and restart the site if that says so"


@pytest.fixture
def at_home(local_pair: Path) -> Path:
    """East's file, whose addresses are all of this host."""
    return local_pair / "east.toml"


def all_findings(isthmus: Isthmus, config: Path) -> list[dict[str, str]]:
    shown = isthmus("doctor", config, "--json")
    assert (shown.exit_code, shown.stderr) == (ExitCode.FAILED, "")
    found: list[dict[str, str]] = json.loads(shown.stdout)["findings"]
    return found


def findings(isthmus: Isthmus, config: Path) -> dict[str, dict[str, str]]:
    return {finding["about"]: finding for finding in all_findings(isthmus, config)}


def test_a_site_that_does_not_run(isthmus: Isthmus, at_home: Path) -> None:
    found = findings(isthmus, at_home)
    assert found["peer west"]["level"] == "problem"
    assert found["forward replication"]["found"].endswith(" is free")
    assert not {"tunnel to west", "running site"} & set(found)
    assert found["clock"]["found"]


def test_a_site_that_runs(isthmus: Isthmus, east: StatusSite, at_home: Path) -> None:
    peer = {"name": "west", "state": "up", "lanes": [{}], "round_trip_seconds": 0.25}
    east.answers({"site": "east", "peers": [peer], "alarms": ["the disk is full"], "store": {"prepared": True}})
    found = findings(isthmus, at_home)
    assert found["tunnel to west"]["found"] == "up, 1 lane, round trip 250 ms"
    assert "at 250 ms" in found["socket buffers"]["found"], "what the site measured serves as the round trip"
    assert (found["running site"]["level"], found["running site"]["found"]) == ("attention", "the disk is full")
    assert found["forward replication"]["remedy"] == "isthmus reload"
    assert found["memory"]["found"].endswith("beside the running site's store")


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_a_site_that_does_not_tell_its_health_runs_all_the_same(
    isthmus: Isthmus, east: StatusSite, at_home: Path, status: int
) -> None:
    east.answers({"site": "east", "peers": [{"name": "west", "state": "up", "lanes": [{}]}]})
    east.known, east.unknown = (OUTLINE,), status
    found = findings(isthmus, at_home)
    assert found["tunnel to west"]["found"] == "up, 1 lane"
    assert found["history"]["level"] == "ok"


def test_lanes_that_are_given_up_before_they_are_answered(isthmus: Isthmus, east: StatusSite, at_home: Path) -> None:
    """The round trip is the one that the running site has measured, or as the operator says."""
    change(at_home, "[tunnel]", '[tunnel]\nkeepalive = "1s"\ndead_after = "1200ms"')
    east.answers({"site": "east", "peers": [{"name": "west", "state": "up", "round_trip_seconds": 0.25}]})
    found = findings(isthmus, at_home)["idle lanes"]
    assert (found["level"], found["remedy"]) == ("attention", 'dead_after = "5s" in [tunnel], then isthmus reload')
    assert "idle lanes" not in isthmus("doctor", at_home, "--round-trip", "199ms").stdout


def test_what_a_peer_refuses(isthmus: Isthmus, east: StatusSite, at_home: Path) -> None:
    """All was said to be well at both sites, where each of the array's connections was reset."""
    refused = {"share": "forward volumes", "asked": "array", "reason": "not_exported", "words": "not exported"}
    down = refused | {"share": "forward down", "reason": "unreachable", "words": "Connection refused", "seconds": 599}
    asks = refused | {"share": "", "seconds": 3.5, "words": "'x' is not exported"}
    old = refused | {"share": "forward old", "seconds": 600}
    told = [refused | {"seconds": 1}, down, asks, old, refused | {"share": "export array", "seconds": 1}, {}, "x"]
    peer = {"name": "west", "state": "up", "lanes": [{}], "refusals": told}
    east.answers({"site": "east", "peers": [peer]})
    found = [each for each in all_findings(isthmus, at_home) if "not" in each["found"] or "refuse" in each["found"]]
    by = {each["about"]: each for each in found if each["about"] != "forward replication"}
    assert by["forward volumes"]["found"] == "west refuses its connections to export array: not exported"
    assert by["forward volumes"]["level"] == "problem"
    assert "of the export at the other agree; then isthmus reload" in by["forward volumes"]["remedy"]
    assert "isthmus doctor on the host of west tries it" in by["forward down"]["remedy"]
    assert {"forward old", "export array"}.isdisjoint(by)
    assert ("attention", "it asks for what it may not have: 'x' is not exported") in [
        (each["level"], each["found"]) for each in found
    ]


def test_whose_limits_are_told(isthmus: Isthmus, at_home: Path) -> None:
    """Those of the shell say little of a unit or a container, which has its own."""
    found = findings(isthmus, at_home)
    assert found["limits"]["found"].startswith("those of this shell are told, since the site does not run")
    place = at_home.parent, at_home.name
    with called_as_a_site(*place), called_as_a_site(*place) as process:  # the first could be what started the site
        resource.prlimit(int(process), resource.RLIMIT_NOFILE, (64, 77))
        found = findings(isthmus, at_home)
    assert f"those of the running site, process {process}, are told" in found["limits"]["found"]
    assert found["file descriptors"]["found"].startswith("77 are allowed; ")


def test_a_running_site_whose_limits_are_not_seen(isthmus: Isthmus, east: StatusSite, at_home: Path) -> None:
    east.answers({"site": "east"})
    unseen = findings(isthmus, at_home)["limits"]
    assert (unseen["level"], unseen["found"]) == (
        "attention",
        "those of this shell are told, since the running site's process is not seen from here",
    )


def with_store(config: Path, mode: str) -> Path:
    """The site's store has a path, which may stay in the file while it is in memory."""
    path = config.with_name("store")
    section = f'[store]\nmode = "{mode}"\nsize = "64MiB"\npath = "{path}"\n'
    config.write_text(re.sub(r"^\[store\]\n([a-z].*\n)+", section, config.read_text(), flags=re.MULTILINE))
    return path


def of_store(isthmus: Isthmus, config: Path) -> list[str]:
    """What is found of the store, the words only where it is not well."""
    return [
        "ok" if each["level"] == "ok" else f"{each['level']}: {each['found']}; {each['remedy']}"
        for each in all_findings(isthmus, config)
        if each["about"] == "store"
    ]


def test_a_store_that_another_process_has(isthmus: Isthmus, at_home: Path) -> None:
    """All was said to be well, and the site did not start."""
    path = with_store(at_home, "disk")
    assert of_store(isthmus, at_home) == ["ok"]
    with closing(open_store("disk", 64 << 20, path)):
        wrong, beside = of_store(isthmus, at_home)
    assert wrong.startswith(f"problem: {path} is in use by process {os.getpid()} ")
    assert wrong.endswith("; stop that, or name another store.path")
    assert [beside] == of_store(isthmus, at_home) == ["ok"]


def test_a_running_site_has_its_store(isthmus: Isthmus, east: StatusSite, at_home: Path) -> None:
    east.answers({"site": "east", "peers": []})
    with closing(open_store("disk", 64 << 20, with_store(at_home, "disk"))):
        assert of_store(isthmus, at_home) == ["ok"]


def test_a_store_in_memory_whose_disk_has_died(isthmus: Isthmus, at_home: Path) -> None:
    """The path may stay in the file: its disk is of no use, and of no harm."""
    with_store(at_home, "memory").write_bytes(b"no directory")
    assert findings(isthmus, at_home)["store"]["found"] == "in memory, 64 MiB; it is empty after a restart"


def test_a_history_file_of_another_site(isthmus: Isthmus, at_home: Path) -> None:
    """A site leaves it alone; that it is kept there was said to be well."""
    history = at_home.with_name("east-history.db")
    file, _ = open_history(history, 0.0)
    for site, level in (("east", "ok"), ("north", "attention")):
        file.write({}, [], {"site": site}, 0.0)
        assert findings(isthmus, at_home)["history"]["level"] == level
    file.close()
    found = findings(isthmus, at_home)["history"]
    lost = "history and events are kept in memory, and a restart forgets them"
    assert (found["found"], found["remedy"]) == (
        f"{history} is that of site north: {lost}",
        "name another file as status.history",
    )


def test_a_history_that_is_something_else(isthmus: Isthmus, at_home: Path) -> None:
    history = at_home.with_name("east-history.db")
    history.write_text("a volume")
    found = findings(isthmus, at_home)["history"]
    assert found["level"] == "attention"
    assert found["found"].startswith(f"{history} holds something else than the history of a site, and is left as it is")


def test_a_history_that_the_running_site_does_not_keep(isthmus: Isthmus, east: StatusSite, at_home: Path) -> None:
    """Its file could not be opened as it started, and could by now: that it is kept there was said to be well."""
    unkept = {"code": "IST-404", "words": "history is kept in memory only: unable to open database file"}
    east.answers({"site": "east", "reasons": [{"code": "IST-203", "words": "x"}, unkept]})
    found = findings(isthmus, at_home)["history"]
    assert (found["level"], found["found"]) == ("attention", f"the running site says: {unkept['words']}")
    assert found["remedy"].endswith("if it says the same in a minute, restart the site")
    east.answers({"site": "east", "reasons": [{"code": "IST-203", "words": "x"}]})
    assert findings(isthmus, at_home)["history"]["level"] == "ok"


def test_who_is_waited_for_may_be_who_was_refused(isthmus: Isthmus, east: StatusSite, at_home: Path) -> None:
    east.answers({"site": "east", "peers": [{"name": "west", "state": "waiting"}], "last_refusal": "192.0.2.2:5, why"})
    said = findings(isthmus, at_home)["tunnel to west"]["found"]
    assert said == "it has not dialled in, unless it is what was refused last: 192.0.2.2:5, why"


def test_a_peer_that_was_added(isthmus: Isthmus, east: StatusSite, at_home: Path) -> None:
    """One that `isthmus pair` has written is refused until the site takes that over."""
    east.answers({"site": "east", "peers": [{"name": "north", "state": "up", "lanes": [{}]}]})
    found = findings(isthmus, at_home)["tunnel to west"]
    assert (found["level"], found["remedy"]) == ("problem", TAKE_OVER)
    assert "the running site does not know it" in found["found"]


def test_a_peer_that_was_removed(isthmus: Isthmus, east: StatusSite, at_home: Path) -> None:
    east.answers({"site": "east", "peers": [{"name": "west", "state": "up"}, {"name": "north", "state": "waiting"}]})
    found = findings(isthmus, at_home)["tunnel to north"]
    assert "it is not in the file any more" in found["found"]
    assert found["remedy"] == f"{TAKE_OVER}; or write it into the file again"


def test_another_user_than_the_sites(isthmus: Isthmus, at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "user" not in findings(isthmus, at_home)
    name = pwd.getpwuid(os.geteuid()).pw_name
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    told = findings(isthmus, at_home)["user"]
    assert (told["level"], told["remedy"]) == ("attention", as_user(name, "isthmus", "doctor", at_home))


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"peers": None, "alarms": None, "store": None},
        {"peers": [7, {}, {"name": "west"}, {"name": ["west"]}], "alarms": {"a": 1}, "store": ["prepared"]},
        {"peers": [{"name": "west", "state": {}, "lanes": 5, "last_error": 1, "round_trip_seconds": "long"}]},
        {"peers": "west", "alarms": [None, {}], "store": {"prepared": "no"}, "reasons": [{"code": "IST-404"}, 7]},
    ],
)
def test_a_status_of_another_version(isthmus: Isthmus, east: StatusSite, at_home: Path, status: dict[str, Any]) -> None:
    east.answers(status)
    assert "peer west" in findings(isthmus, at_home)


def test_hostile_text_is_shown_as_text(isthmus: Isthmus, east: StatusSite, at_home: Path) -> None:
    east.answers({"site": "east", "alarms": ["[red]\x1b[2J"]})
    shown = isthmus("doctor", at_home)
    assert shown.exit_code == ExitCode.FAILED
    assert "[red]" in shown.stdout
    assert "\x1b" not in shown.stdout


def test_an_export_that_leads_back(
    isthmus: Isthmus, at_home: Path, monkeypatch: pytest.MonkeyPatch, free_port: Callable[[], int]
) -> None:
    """It is told that; that nothing listens there while the site does not run would send operators to the array."""
    address = f"127.0.0.1:{free_port()}"
    at_home.write_text(f'{at_home.read_text()}\n[[export]]\nname = "own"\naddress = "{address}"\npeers = ["west"]\n')
    assert "connection refused" in findings(isthmus, at_home)["export own"]["found"]

    def loops(site: SiteConfig) -> list[tuple[Export, Forward]]:
        return [(site.exports[0], site.forwards[0])]

    monkeypatch.setattr("proxy.cli.doctor.loops", loops)
    told = [each for each in all_findings(isthmus, at_home) if each["about"] == "export own"]
    assert [each["level"] for each in told] == ["problem"]
    assert f"{address} is this host itself" in findings(isthmus, at_home)["export own"]["found"]


def test_a_file_with_mistakes(isthmus: Isthmus, at_home: Path) -> None:
    change(at_home, "[store]", "[stoer]")
    shown = isthmus("doctor", at_home)
    assert (shown.exit_code, shown.stdout) == (ExitCode.CONFIGURATION, "")
    assert "stoer" in shown.stderr


def test_files_with_mistakes_are_findings(isthmus: Isthmus, at_home: Path) -> None:
    (at_home.parent / "west.crt").write_text("nonsense")
    found = findings(isthmus, at_home)
    assert found["peer[0].certificate"]["level"] == "problem"
    assert "BEGIN CERTIFICATE" in found["peer[0].certificate"]["remedy"]
    assert found["own certificate"]["level"] == "ok"
    assert "peer[0].certificate" in isthmus("doctor", at_home).stdout


def test_a_pinned_certificate_for_another_name(isthmus: Isthmus, at_home: Path) -> None:
    make(at_home.with_name("west"), "nord", days=(-1, 100))
    (_, wrong) = [each for each in all_findings(isthmus, at_home) if each["about"] == "certificate of west"]
    assert (wrong["level"], wrong["found"].partition(":")[0]) == ("attention", "it is for nord")
