"""What can be typed: every command with its options, help and examples. What it does is in the module of its name."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from proxy import __version__
from proxy.cli.root import Root


def _examples(*lines: str) -> str:
    """An epilog that shows the lines as they are."""
    return "\b\n" + "\n".join(["Examples:", *(f"  {line}" for line in lines)])


def _perform(command: str, *arguments: Any, action: str = "run") -> int | None:
    """Import the command's module, only now, and let it do its work; an exit code, or None for success."""
    result: int | None = getattr(importlib.import_module(f"proxy.cli.{command}"), action)(*arguments)
    return result


_config: Callable[[Any], Any] = click.argument("config", type=click.Path(path_type=Path))
"""The path of a site's file. Whether it can be read is for `proxy.config` to say."""
_json: Callable[[Any], Any] = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


@click.group(
    "isthmus",
    cls=Root,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_examples(
        "isthmus keygen --site east --out /etc/isthmus",
        "isthmus check /etc/isthmus/east.toml",
        "isthmus serve /etc/isthmus/east.toml",
        "isthmus status /etc/isthmus/east.toml --watch",
    )
    + "\n\nExit codes: 0 done, 1 failed or differs, 2 usage, 3 configuration, 4 the running site does not answer,"
    " 5 store, 6 cannot listen, 70 defect, 130 interrupted.",
)
@click.version_option(__version__, prog_name="isthmus", message="%(prog)s %(version)s")
def root() -> None:
    """Carries storage replication over a WAN: exactly, encrypted, reduced.

    One site runs beside each storage array. Each has one TOML file; deploy/CONFIGURATION.md describes it.
    """


@root.command(
    epilog=_examples("isthmus keygen --site east --out /etc/isthmus", "isthmus keygen --site east --out . --force")
)
@click.option("--site", required=True, metavar="NAME", help="Name of the site, as `site.name` in its file.")
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Where the files go.")
@click.option("--force", is_flag=True, help="Replace files that exist. The peers then need the new certificate.")
def keygen(site: str, out: Path, force: bool) -> int | None:
    """Make a site's private key and certificate.

    Writes NAME.key (readable by its owner only) and NAME.crt (for the peers), valid for ten years, and prints the
    certificate's SHA-256, so that the other site's operator can compare what arrived.
    """
    return _perform("keygen", site, out, force)


@root.command(epilog=_examples("isthmus check /etc/isthmus/east.toml"))
@_config
def check(config: Path) -> int | None:
    """Check a site's file and what it names.

    Looks into the keys and certificates, too. Prints what the site would do; or every mistake at once, each with its
    key, its value and the remedy, and exits with 3.
    """
    return _perform("check", config)


@root.command(epilog=_examples("isthmus serve /etc/isthmus/east.toml"))
@_config
def serve(config: Path) -> int | None:
    """Run a site in the foreground.

    Logs to stderr: text on a terminal, one JSON object a line otherwise. A line says when the site is ready. SIGTERM
    and Ctrl-C drain: no new connections are accepted, live ones get `tunnel.drain` to end, then the exit code is 0.
    SIGHUP reads the certificates anew without dropping a connection.
    """
    return _perform("serve", config)


@root.command(
    epilog=_examples(
        "isthmus status /etc/isthmus/east.toml",
        "isthmus status /etc/isthmus/east.toml --watch",
        "isthmus status /etc/isthmus/east.toml --json | jq .bytes",
    )
)
@_config
@_json
@click.option("--watch", is_flag=True, help="Show it anew each second, until Ctrl-C.")
def status(config: Path, as_json: bool, watch: bool) -> int | None:
    """Show what a running site does.

    Its peers, streams and store, what limits each of them and by which figure (the README's "Why is it slow?"), and
    what reduction saves. Asks the site's status listener, so it works on the site's own host, for anybody who can
    read its file.
    """
    return _perform("status", config, as_json, watch)


@root.group(
    epilog=_examples(
        "isthmus store stats /etc/isthmus/west.toml",
        "isthmus store verify /etc/isthmus/west.toml",
        "isthmus store purge /etc/isthmus/west.toml --yes",
    )
)
def store() -> None:
    """Show, verify or empty a chunk store."""


@store.command(epilog=_examples("isthmus store stats /etc/isthmus/west.toml --json"))
@_config
@_json
def stats(config: Path, as_json: bool) -> int | None:
    """Show how full the store is and what it was good for.

    Asks the running site; of a stopped one the disk store is opened.
    """
    return _perform("store", config, as_json, action="stats")


@store.command(epilog=_examples("isthmus store verify /etc/isthmus/west.toml"))
@_config
def verify(config: Path) -> int | None:
    """Verify every chunk of a disk store.

    The site must be stopped. Reads each chunk and compares it with its fingerprint. Chunks that differ are dropped
    (the peer is asked for them when they are needed); the exit code is then 1.
    """
    return _perform("store", config, action="verify")


@store.command(epilog=_examples("isthmus store purge /etc/isthmus/west.toml", "isthmus store purge west.toml --yes"))
@_config
@click.option("--yes", is_flag=True, help="Do not ask.")
def purge(config: Path, yes: bool) -> int | None:
    """Empty a disk store.

    The site must be stopped. Nothing is lost but speed: what is replicated next crosses the WAN whole again.
    """
    return _perform("store", config, yes, action="purge")


@root.command(epilog=_examples("isthmus demo", "isthmus demo --volume-size 64MiB --store disk --json"))
@click.option("--volume-size", default="256MiB", show_default=True, metavar="SIZE", help="Size of each volume.")
@click.option(
    "--store", "mode", type=click.Choice(["memory", "disk"]), default="memory", show_default=True, help="Store mode."
)
@_json
def demo(volume_size: str, mode: str, as_json: bool) -> int | None:
    """Replicate volumes through a pair of sites.

    Starts both on this machine as processes of their own, with TLS between them, sends three generated volumes
    through them twice, cold and warm, and shows for each what it took on the WAN and how long. Every byte is
    compared; the exit code is 1 if any differs.
    """
    return _perform("demo", volume_size, mode, as_json)


@root.command(
    epilog=_examples(
        "isthmus completion bash > ~/.local/share/bash-completion/completions/isthmus",
        'eval "$(isthmus completion zsh)"',
        "isthmus completion fish > ~/.config/fish/completions/isthmus.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a completion script for a shell."""
    complete = get_completion_class(shell)
    assert complete is not None
    click.echo(complete(root, {}, "isthmus", "_ISTHMUS_COMPLETE").source())


def main() -> None:
    """The entry point of the script `isthmus`."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character is no error
    root.main()
