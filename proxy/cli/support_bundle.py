"""`isthmus support-bundle`: all that is needed to find out what is wrong at a site, and nothing secret.

A part that cannot be had is left out, and `contents.txt` says why: bundles are wanted most when something is broken.
"""

import gzip
import io
import json
import os
import platform
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from proxy import __version__, identity
from proxy.cli import logs
from proxy.cli.api import Api
from proxy.cli.doctor import Line, examine
from proxy.cli.doctor_report import as_data
from proxy.cli.ending import ended_in_order
from proxy.cli.events import events_after, kept_events
from proxy.cli.output import say
from proxy.cli.secrets import Secrets
from proxy.config.loading import LARGEST_FILE, load
from proxy.config.model import SiteConfig
from proxy.config.reading import A_SITES_FILE, OTHER_FILE, is_configuration
from proxy.errors import ExitCode, OperatorError
from proxy.files import NotAFile, read, undisturbed
from proxy.observe.journal import EVENTS_MAX
from proxy.text import printable

LARGEST_PART = 16 << 20
"""Bytes of one file in the bundle, before compression; what is longer is cut at its beginning."""
_ANSWERS = {
    "health.json": "health",
    "warnings.json": "warnings",
    "store.json": "store",
    "streams.json": "streams?limit=1000",
    "history-1h.json": "history?range=1h",
    "history-1d.json": "history?range=1d",
    "history-30d.json": "history?range=30d",
}


@dataclass(slots=True)
class Bundle:
    """Parts by name, and the words of `contents.txt`, one line a part."""

    secrets: Secrets
    parts: dict[str, bytes] = field(default_factory=dict)
    contents: list[str] = field(default_factory=list)

    def add(self, name: str, make: Callable[[], bytes | None]) -> None:
        """Add what `make` gives, without secrets; or note why there is nothing."""
        try:
            content = make()
        except Exception as error:  # one part that cannot be had must not cost the others
            self.contents.append(f"{name}: missing: {printable(_reason(error))}")
            return
        if content is None:
            self.contents.append(f"{name}: there is none")
            return
        clean = self.secrets.removed(content)
        cut = len(clean) > LARGEST_PART
        self.parts[name] = clean[-LARGEST_PART:]
        self.contents.append(f"{name}: {len(self.parts[name])} bytes{', its end' if cut else ''}")


def _reason(error: Exception) -> str:
    """The error in words for an operator; only one that nobody foresaw is shown with the name of its class."""
    if isinstance(error, OperatorError):
        return error.message
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error} (a defect of Isthmus: please report it)"


def run(config: Path, output: Path | None) -> None:
    """Collect, write, say where it is. Raises OperatorError if it cannot be written, or `config` is no file."""
    _refuse_mistyped(config)
    now = datetime.now(UTC)
    site, mistakes = _loaded(config)
    name = site.site.name if site else config.stem
    output = output or Path(f"isthmus-{name}-{now:%Y%m%d-%H%M%S}.tar.gz")
    with ended_in_order(), _created(output) as file:
        bundle = collect(config, site, mistakes)
        _write(file, bundle, output.name.removesuffix(".tar.gz"), now)
    missing = [line for line in bundle.contents if ": missing: " in line]
    say(f"{output}: {len(bundle.parts)} parts, {output.stat().st_size:,} bytes, readable by its owner only")
    for line in missing:
        say(f"  {line}")
    say("No key and no token is in it; names and addresses are. Look into it before you give it away.")


def _refuse_mistyped(config: Path) -> None:
    """Raises OperatorError if no file is there: a path may be mistyped. A file that is broken is no reason."""
    try:
        read(config, 0)
    except (FileNotFoundError, NotADirectoryError):
        wrong = "does not exist"
    except NotAFile as error:
        wrong = f"is {error.found}"
    except (OSError, ValueError):
        return  # the bundle says why it cannot be read
    else:
        return
    raise OperatorError(f"{config} {wrong}; {A_SITES_FILE}", ExitCode.CONFIGURATION)


def collect(config: Path, site: SiteConfig | None, mistakes: str | None) -> Bundle:
    """Everything that can be had."""
    bundle = Bundle(Secrets(_content(config), config.parent))
    bundle.add("configuration.toml", lambda: _configuration(config))
    bundle.add("mistakes.txt", lambda: mistakes.encode() if mistakes else None)
    bundle.add("versions.txt", _versions)
    if site is not None:
        bundle.add("certificates.txt", lambda: _certificates(site))
        bundle.add("doctor.json", lambda: _json(as_data(site.site.name, list(examine(site, Line(None, None))))))
        _ask_site(bundle, site)
    _find_logs(bundle, config, site)
    return bundle


def _loaded(config: Path) -> tuple[SiteConfig | None, str | None]:
    """The configuration if it can be read at all, and what is wrong with it or with the files that it names."""
    try:
        site = load(config, files=False)
    except OperatorError as error:
        return None, error.message
    try:
        load(config)
    except OperatorError as error:
        return site, error.message
    return site, None


def _configuration(config: Path) -> bytes:
    content = read(config, LARGEST_FILE)
    if content and not is_configuration(content):
        raise OperatorError(f"{config} {OTHER_FILE}; {A_SITES_FILE}")
    return content


def _content(config: Path) -> bytes:
    try:
        return read(config, LARGEST_FILE)
    except OSError:
        return b""  # its content is not in the bundle then, either


def _ask_site(bundle: Bundle, site: SiteConfig) -> None:
    """Ask the running site. If it does not answer the first question it is not asked the others."""
    with Api(site) as api:
        bundle.add("status.json", lambda: _json(api.status()))
        if "status.json" not in bundle.parts:
            bundle.add("events.json", lambda: _json(kept_events(site, EVENTS_MAX)))
            return
        for name, path in _ANSWERS.items():
            bundle.add(name, partial(_answer, api, path))
        bundle.add("events.json", lambda: _json(events_after(api.get, 0)))
        bundle.add("metrics.txt", api.metrics)


def _answer(api: Api, path: str) -> bytes:
    return _json(api.get(path))


def _find_logs(bundle: Bundle, config: Path, site: SiteConfig | None) -> None:
    found = logs.of_process(config, site.identity.key if site else None)
    bundle.add("log.txt", lambda: found[1] if found else None)
    bundle.add("journal.txt", lambda: logs.of_journal(config.stem))
    if bundle.parts.keys().isdisjoint({"log.txt", "journal.txt"}):
        bundle.contents.append("the log: missing: no file and no journal has it; send it, too (docker compose logs)")


def _versions() -> bytes:
    try:
        packages = metadata.requires("isthmus") or []
    except metadata.PackageNotFoundError:  # it runs from a checkout
        packages = []
    names = sorted({entry.split(">")[0].split(";")[0].strip() for entry in packages if "extra" not in entry})
    lines = [
        f"isthmus {__version__}",
        f"python {sys.version}",
        f"system {platform.platform()}",
        f"processors {os.cpu_count()}",
        *(f"{name} {metadata.version(name)}" for name in names),
    ]
    return "\n".join(lines).encode() + b"\n"


def _certificates(site: SiteConfig) -> bytes:
    """The certificates of the site and of those that it trusts, by name, dates and fingerprint."""
    named = [site.identity.certificate, site.identity.ca, *(peer.certificate for peer in site.peers)]
    words = "".join(_described(path) for path in named if path is not None)
    return words.encode(errors="backslashreplace")  # a path may have any bytes


def _described(path: Path) -> str:
    try:
        found = identity.read_certificates(path)
    except OperatorError as error:
        return f"{error.message}\n"
    lines = (
        f"{path}: {printable(each.name)}, {each.begins:%Y-%m-%d %H:%M} to {each.expires:%Y-%m-%d %H:%M} UTC,"
        f" SHA-256 {identity.show_fingerprint(each.fingerprint)}\n"
        for each in found
    )
    return "".join(lines)


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()


@contextmanager
def _created(path: Path) -> Iterator[io.BufferedWriter]:
    """A new file that only its owner can read; removed if the `with` block fails. Raises OperatorError."""
    made = False
    try:
        with undisturbed():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            made = True
        with open(descriptor, "wb") as file:
            yield file
    except BaseException as error:
        if made:
            path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            what = "written" if made else "made"
            raise OperatorError(f"{path} cannot be {what}: {error.strerror}; name another file with -o") from None
        raise


def _write(file: io.BufferedWriter, bundle: Bundle, directory: str, now: datetime) -> None:
    head = f"Made by isthmus {__version__} on {platform.node()} at {now:%Y-%m-%d %H:%M:%S} UTC.\n"
    parts = {"contents.txt": (head + "\n".join(bundle.contents) + "\n").encode(), **bundle.parts}
    # gzip has no times after 2106, which a clock that is wrong may show; the parts have times of their own.
    with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in parts.items():
            entry = tarfile.TarInfo(f"{directory}/{name}")
            entry.size, entry.mode, entry.mtime = len(content), 0o600, int(time.time())
            archive.addfile(entry, io.BytesIO(content))
