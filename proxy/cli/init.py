"""`isthmus init`: a new site's file, key, certificate and token, and what runs it in a container."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from proxy import identity
from proxy.cli.ending import ended_in_order
from proxy.cli.output import say
from proxy.cli.pair import dialled_at, invitation_line, read_reach
from proxy.cli.questions import ask
from proxy.config.addresses import Address, parse_listen
from proxy.config.mistakes import Mistake
from proxy.errors import ExitCode, OperatorError, way_to_write
from proxy.files import File, create_all
from proxy.setup import container, sitefile
from proxy.setup.wishes import DEFAULT_EXPORT, Way, Wishes
from proxy.text import typed

Options = Mapping[str, Any]
"""As typed, by the names of the parameters in `commands`; None or () for what was not."""

_OPTIONS = {
    ("site", "name"): "--site",
    ("tunnel", "listen"): "--listen",
    ("store", "size"): "--store-size",
    ("store", "path"): "--store-path",
    ("status", "listen"): "--status",
    ("status", "history"): "--history",
    ("peer", 0, "name"): "--peer",
    ("peer", 0, "address"): "--peer",
    ("peer", 0, "rate"): "--rate",
}
"""The option that gives a setting of the file. Settings that are not here belong to a forward or an export."""
_MISSING = {
    ("site", "name"): "name this site, such as --site east",
    (
        "tunnel",
        "listen",
    ): "add --listen 198.18.0.1:4500, or say where the other site is dialled: --peer west=198.18.0.2:4500",
    ("peer", 0, "name"): "name the other site, such as --peer west",
}
"""What to type for a setting that is missing; `proxy.config` has remedies for a file, which is not there yet."""


def run(options: Options, out: Path) -> None:
    """Ask if no option was given, check everything, write all or nothing, say what to do next. Raises OperatorError."""
    wishes = _wishes(options) if any(options.values()) else _asked(out)
    config = out / f"{wishes.site}.toml"
    found = [*_mistakes(wishes, config), *_reach_mistakes(wishes), *_present(_names(wishes.site), out)]
    if found:
        raise _refused(found)
    made, keys = identity.draft(wishes.site, out)
    token = out / f"{wishes.site}.token", identity.make_token(), 0o600
    files = [(config, sitefile.render(wishes).encode(), 0o644), *keys, token, *container.files(wishes.site, out)]
    with ended_in_order():
        _write(files, out)
    _say(wishes, config, made, _reached(wishes))


def _asked(out: Path) -> Wishes:
    if not sys.stdin.isatty():
        wrong = "--site and --peer are missing, and there is no terminal to ask at"
        raise OperatorError(f"{wrong}; give them, as `isthmus init --help` shows", ExitCode.USAGE)
    if found := [*_present(container.NAMES, out)]:  # whatever the answers are
        raise _refused(found)
    try:
        return ask()
    except click.Abort:
        say("\nisthmus: nothing was written", err=True)
        raise


def _wishes(options: Options) -> Wishes:
    peer, _, address = (options["peer"] or "").partition("=")
    forwards, exports = (tuple(map(_way, options[key])) for key in ("forward", "export"))
    named = {key: value for key, value in options.items() if key not in ("peer", "forward", "export")}
    given = {key: value for key, value in named.items() if value is not None}
    return Wishes(peer=peer, peer_address=address or None, forwards=forwards, exports=exports, **given)


def _way(text: str) -> Way:
    name, equals, address = text.rpartition("=")
    return Way(name if equals else DEFAULT_EXPORT, address)


def _mistakes(wishes: Wishes, config: Path) -> Iterator[str]:
    needed = {("site", "name"): wishes.site, ("tunnel", "listen"): wishes.listen, ("peer", 0, "name"): wishes.peer}
    for mistake in sitefile.mistakes(wishes, config):
        yield _as_option(mistake, missing=not needed.get(mistake.where, True))


def _as_option(mistake: Mistake, *, missing: bool) -> str:
    """A mistake in the file that would be written, told as one in the option that was typed."""
    where = mistake.where
    if missing:
        return f"{_OPTIONS[where]} is missing; {_MISSING[where]}"
    option = _OPTIONS.get(where) or (f"--{where[0]}" if where and where[0] in ("forward", "export") else mistake.key)
    return str(Mistake((option,), mistake.value, mistake.wrong, mistake.remedy))


def _reach_mistakes(wishes: Wishes) -> Iterator[str]:
    try:
        _reached(wishes)
    except OperatorError as error:
        yield error.message
    except ValueError:
        return  # it is about --listen, and reported there


def _reached(wishes: Wishes) -> Address | None:
    """Where the other site dials this one. Raises OperatorError, or ValueError."""
    if wishes.reach is not None:
        return read_reach(wishes.reach)
    listen = parse_listen(wishes.listen) if wishes.listen else None
    return dialled_at(listen, f"--reach is missing: {listen} is no address that the other site could dial")


def _present(names: Iterable[str], out: Path) -> Iterator[str]:
    """A line for each file that is there already: nothing is ever written over."""
    for name in names:
        if os.path.exists(out / name):  # what cannot be looked at is told of when it is written
            yield f"{out / name} exists already; choose another directory (--out), or remove it if it is not needed"


def _names(site: str) -> tuple[str, ...]:
    """The names of all files that are written."""
    return f"{site}.toml", f"{site}.key", f"{site}.crt", f"{site}.token", *container.NAMES


def _write(files: list[File], out: Path) -> None:
    """Write all files; if one cannot be written leave none, and no new directory. Raises OperatorError."""
    state = out / container.STATE
    lacking = [place for place in (state, out, *out.parents) if not os.path.exists(place)]
    try:
        out.mkdir(parents=True, exist_ok=True)
        state.mkdir(mode=0o700, exist_ok=True)
        create_all(files)
    except BaseException as error:
        for place in lacking:
            with suppress(OSError):  # it was not made, or somebody has put something there meanwhile
                place.rmdir()
        if not isinstance(error, OSError):
            raise
        place = Path(error.filename or out).absolute()
        # In a container the first remedy is the one: every other directory is gone with it.
        remedy = f"{way_to_write(place, error)}, or choose another directory (--out)"
        raise OperatorError(f"{place} cannot be written: {error.strerror}; {remedy}") from None


def _refused(reasons: list[str]) -> OperatorError:
    return OperatorError("\n".join(["nothing was written:", *(f"  {reason}" for reason in reasons)]), ExitCode.USAGE)


def _say(wishes: Wishes, config: Path, made: identity.Identity, reach: Address | None) -> None:
    shown = identity.show_fingerprint(made.certificate.fingerprint)
    line = invitation_line(wishes.site, reach, made.certificate_path)
    say(f"{config}: the site's file")
    say(f"{made.key_path}: its private key; keep it here, and secret")
    say(f"{made.certificate_path}: its certificate until {made.certificate.expires:%Y-%m-%d}, SHA-256 {shown}")
    say(f"{config.with_suffix('.token')}: what `isthmus drain` and `isthmus reload` have to show; secret as well")
    say(f"{config.parent / container.COMPOSE}, .env: to run it in a container{_owner(config.parent, wishes.site)}\n")
    say(f"1. Type this one line on {wishes.peer}'s host, in the directory of its file:\n")
    say(f"isthmus pair {line} {wishes.peer}.toml\n")
    say(f"2. `isthmus init` prints such a line on {wishes.peer}'s host, too: type it here, beside this file.")
    say(f"3. {typed('isthmus', 'serve', config)} (in a container: docker compose up -d)")


def _owner(directory: Path, site: str) -> str:
    """Words that say to which user root has to give the files, since in the container the site does not run as root.

    If other things lie beside them, as in root's home or with another site's key, a `chown -R` is not suggested.
    """
    if os.getuid() != 0:
        return ""
    user = container.user()
    if set(os.listdir(directory)) - {*_names(site), container.STATE}:
        return f", whose user is {user}: that takes a directory of its own (--out), which {user} owns with all in it"
    return f", whose user is {user}: first {typed('chown', '-R', user, directory)}"
