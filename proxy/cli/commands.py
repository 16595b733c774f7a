"""What can be typed: every command with its options, help and examples. What it does is in the module of its name."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from proxy import __version__
from proxy.cli.bench_commands import bench
from proxy.cli.parts import PATH
from proxy.cli.parts import examples as _examples
from proxy.cli.parts import json_option as _json
from proxy.cli.parts import perform as _perform
from proxy.cli.root import Root
from proxy.cli.wan_commands import wan

_config: Callable[[Any], Any] = click.argument("config", type=PATH)
"""The path of a site's file."""
_ROUND_TRIP = ("--round-trip", "--rtt", "round_trip")


@click.group(
    "isthmus",
    cls=Root,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_examples(
        "isthmus init",
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
    epilog=_examples(
        "isthmus init",
        "isthmus init --site east --peer west --listen 198.18.0.1:4500",
        "isthmus init --site west --peer east=198.18.0.1:4500 --export 10.1.0.5:3260",
    )
)
@click.option("--site", metavar="NAME", help="Name of this site.")
@click.option("--peer", metavar="NAME[=ADDRESS]", help="Name of the other site, and where it is dialled.")
@click.option("--listen", metavar="ADDRESS", help="Where the other site dials in; not needed if it is dialled.")
@click.option("--reach", metavar="ADDRESS", help="Where the other site reaches that. [default: as --listen]")
@click.option("--forward", multiple=True, metavar="[EXPORT=]ADDRESS", help="Address that arrays here connect to.")
@click.option("--export", multiple=True, metavar="[EXPORT=]ADDRESS", help="An array here that the other site reaches.")
@click.option("--store", type=click.Choice(["disk", "memory"]), help="Where chunks are kept. [default: disk]")
@click.option("--store-size", metavar="SIZE", help="Size of the store. [default: 10GiB]")
@click.option("--store-path", metavar="DIR", help="Directory of a disk store. [default: state/store, beside the file]")
@click.option("--rate", metavar="RATE", help="Most that is sent to the other site, such as 45Mbit.")
@click.option("--status", metavar="ADDRESS", help="Address of the status listener. [default: 127.0.0.1:8900]")
@click.option("--history", metavar="FILE", help="File that keeps events and figures. [default: see CONFIGURATION.md]")
@click.option("--out", type=PATH, default=".", metavar="DIR", help="Where the files go.")
def init(out: Path, **options: Any) -> int | None:
    """Make a new site: its file, its key, and a compose file.

    Asks a few questions; with any option but --out it asks nothing. EXPORT is the name that both sites use, "array" if
    none is given. Writes NAME.toml, NAME.key, NAME.crt, NAME.token, compose.yaml and .env, never over a file that is
    there, makes the directory state, and prints the line that makes the site known to the other one (`isthmus pair`).
    """
    return _perform("init", options, out)


@root.command(
    epilog=_examples("isthmus pair east:AQ2U west.toml", "isthmus pair east:AQ2U /etc/isthmus/west.toml --replace")
)
@click.argument("line", nargs=-1, metavar="LINE")
@_config
@click.option("--replace", is_flag=True, help="Let a new certificate or address take the place of the old.")
def pair(line: tuple[str, ...], config: Path, replace: bool) -> int | None:
    """Make the other site known to this one.

    LINE is the long word that `isthmus init` or `isthmus invite` printed behind `isthmus pair` on the other host: name,
    address and certificate. Writes the certificate beside the site's file and the peer into it, or says what does not
    fit and changes nothing.
    Compare the SHA-256 that both hosts show: who can change the line on its way can be the peer.
    """
    if not line:
        raise click.UsageError("LINE or CONFIG is missing: type the line, and behind it the path of this site's file")
    return _perform("pair", " ".join(line), config, replace)


@root.command(
    epilog=_examples("isthmus invite /etc/isthmus/east.toml", "isthmus invite east.toml --reach east.example:4500")
)
@_config
@click.option("--reach", metavar="ADDRESS", help="Where other sites reach this one. [default: tunnel.listen]")
def invite(config: Path, reach: str | None) -> int | None:
    """Print the line that makes this site known to others.

    To be typed on the other host. There is nothing secret in it; the SHA-256 of the certificate goes to stderr.
    """
    return _perform("pair", config, reach, action="invite")


@root.command(
    epilog=_examples("isthmus keygen --site east --out /etc/isthmus", "isthmus keygen --site east --out . --force")
)
@click.option("--site", required=True, metavar="NAME", help="Name of the site, as `site.name` in its file.")
@click.option("--out", required=True, type=PATH, metavar="DIR", help="Where the files go.")
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
    Ctrl-C while it drains ends the wait, and resets what is left. SIGHUP has it read its file, certificates, keys, pins
    and tokens anew, as `isthmus reload` does.
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
@click.option("--watch", is_flag=True, help="Keep it up to date on the terminal, until q or Ctrl-C.")
def status(config: Path, as_json: bool, watch: bool) -> int | None:
    """Show what a running site does.

    How well it is and why, and its warnings, each with a code and a remedy (deploy/EVENTS.md); its peers, streams and
    store, what limits each of them and by which figure (deploy/GUIDE.md, "Why is it slow?"), and what reduction saves.
    With --watch, live: throughput, volumes and events as well; where there is no terminal, and with --json, anew each
    second until Ctrl-C. In a terminal of less than 120 characters some tables lack columns; --json has everything.

    Asks the site's status listener, so it works on the site's own host, for anybody who can read its file and, where
    that names one, the token.
    """
    return _perform("status", config, as_json, watch)


@root.command(
    epilog=_examples(
        "isthmus events /etc/isthmus/east.toml",
        "isthmus events /etc/isthmus/east.toml --since 2h --follow",
        "isthmus events east.toml --json | jq -r .code",
    )
)
@_config
@click.option("--since", metavar="TIME", help='Show events from then on: "2h" (ago), or "2026-11-21 22:30".')
@click.option("--follow", is_flag=True, help="Also show new ones, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def events(config: Path, since: str | None, follow: bool, as_json: bool) -> int | None:
    """Show what happened at a site.

    Tunnels that went and came, refused peers, alarms, certificates about to expire and so on, oldest first, each with
    its stable code (deploy/EVENTS.md) and, where something is to be done, the remedy. Without --since the latest 50.

    Those of a site that does not run are read from its file (`status.history`), and the exit code tells so.
    """
    return _perform("events", config, since, follow, as_json)


@root.command(epilog=_examples("isthmus drain /etc/isthmus/east.toml", "isthmus drain east.toml --wait"))
@_config
@click.option("--wait", is_flag=True, help="Wait until the site has ended.")
def drain(config: Path, wait: bool) -> int | None:
    """Have a running site end in order.

    As SIGTERM does: no new connections are accepted, live ones get `tunnel.drain` to end. Needs the token of
    `status.control_token` where the site's file names one.
    """
    return _perform("control", config, wait, action="drain")


@root.command(epilog=_examples("isthmus reload /etc/isthmus/east.toml"))
@_config
def reload(config: Path) -> int | None:
    """Have a running site read its file and certificates anew.

    As SIGHUP does: certificates, keys, pins and tokens; and peers, rates, forwards, exports and the tunnel's lanes,
    congestion control, memory and times, unless something else was changed that needs a restart, or the site drains.
    Array connections stay, unless their peer, forward or export is gone or leads elsewhere. A lane whose certificate is
    no longer trusted, and connections to the status listener end. If a file cannot be used the site keeps what it had,
    and the exit code is 1.
    Needs the token of `status.control_token` where the file names one; of one that was replaced the site knows the
    former until then, so send SIGHUP (systemctl reload) instead.
    """
    return _perform("control", config, action="reload")


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

    Asks the running site; of one that does not answer the disk store is opened, which only the site's user can do.
    """
    return _perform("store", config, as_json, action="stats")


@store.command(epilog=_examples("isthmus store verify /etc/isthmus/west.toml"))
@_config
def verify(config: Path) -> int | None:
    """Verify every chunk of a disk store.

    The site must be stopped, and this be its user. Walks over every page of the index, then reads each chunk and
    compares it with its fingerprint. Chunks that differ are dropped; those that the disk does not give are not. Where
    the index is damaged the whole store is set aside, and an empty one takes its place (the peer is asked for what is
    needed). In each case the exit code is 1. Run this after a disk was repaired or the store restored.
    """
    return _perform("store", config, action="verify")


@store.command(epilog=_examples("isthmus store purge /etc/isthmus/west.toml", "isthmus store purge west.toml --yes"))
@_config
@click.option("--yes", is_flag=True, help="Do not ask.")
def purge(config: Path, yes: bool) -> int | None:
    """Empty a disk store.

    The site must be stopped, and this be its user. Nothing is lost but speed: what is replicated next crosses the WAN
    whole again.
    """
    return _perform("store", config, yes, action="purge")


@root.command(
    epilog=_examples(
        "isthmus plan --rate 45Mbit --round-trip 100ms --loss 1%",
        "isthmus plan --rate 155Mbit --round-trip 40ms --volume 2.3GB --reduction 38%",
        "isthmus plan --volume 100GB --within 8h --round-trip 100ms --loss 1%",
        "isthmus plan --write-rate 40MB/s --write-size 12KB",
        "isthmus plan --table",
    )
)
@click.option("--rate", metavar="RATE", help="Rate of the line, such as 45Mbit.")
@click.option(*_ROUND_TRIP, metavar="TIME", help="Round trip of the line, such as 100ms.")
@click.option("--loss", default="0%", show_default=True, metavar="PERCENT", help="Packets lost at random.")
@click.option("--mtu", default=1500, show_default=True, type=int, metavar="BYTES", help="MTU of the path.")
@click.option("--distance", metavar="LENGTH", help="Length of the fibre, such as 6000km: is the round trip plausible?")
@click.option("--window", default="72KB", show_default=True, metavar="SIZE", help="The array's own TCP window.")
@click.option("--volume", metavar="SIZE", help="Changes to replicate: how long does it take?")
@click.option(
    "--reduction", default="0%", show_default=True, metavar="PERCENT", help="How much reduction saves of new data."
)
@click.option(
    "--connections", default=1, show_default=True, type=int, help="How many volumes the array replicates at once."
)
@click.option(
    "--site-rate", metavar="RATE", help="What the two hosts can carry (make bench-pipeline). [default: 2Gbit]"
)
@click.option("--start", metavar="HH:MM", help="When the replication starts: when does it end?")
@click.option("--within", metavar="TIME", help="Such as 8h: which line is needed? It needs no --rate.")
@click.option("--write-rate", metavar="SIZE/s", help="All writes together: would a faster line help?")
@click.option("--write-size", metavar="SIZE", help="Average size of a write: would a faster line help?")
@click.option("--table", is_flag=True, help="Show the throughput by window and round trip.")
@_json
def plan(as_json: bool, **options: Any) -> int | None:
    """Compute what a line can do.

    From rate, round trip and loss: what one TCP connection gets, with which congestion control, which window and
    kernel buffers the line needs; from a volume of changes how long its replication takes with the arrays alone and
    with Isthmus, cold (all of it is new to the far side) and warm (none is); from the time that it may take which line
    it needs. It measures nothing, and touches nothing.
    """
    return _perform("plan", options, as_json)


@root.command(
    epilog=_examples(
        "isthmus analyze /srv/exports",
        "isthmus analyze /dev/sdb --line 45Mbit --round-trip 100ms --loss 1%",
        "isthmus analyze volume.img --line 45Mbit --line 1Gbit --json",
    )
)
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="PATH...")
@click.option(
    "--line", "lines", multiple=True, metavar="RATE", help="Rate of a line: how long does it take? May be repeated."
)
@click.option(*_ROUND_TRIP, default="100ms", show_default=True, metavar="TIME", help="Round trip of the line.")
@click.option("--loss", default="0%", show_default=True, metavar="PERCENT", help="Packets lost at random.")
@_json
def analyze(paths: tuple[Path, ...], lines: tuple[str, ...], round_trip: str, loss: str, as_json: bool) -> int | None:
    """Show what reduction would save on data.

    Reads files, directories and devices, as one volume, and changes nothing: how much repeats and compresses, what
    would cross the line, which chunk size is best, how large a store pays, how long a replication takes. Memory stays
    within about 300 MiB whatever the size; where figures come from a sample, they say so.
    """
    return _perform("analyze", paths, lines, round_trip, loss, as_json)


@root.command(
    epilog=_examples(
        "isthmus doctor /etc/isthmus/east.toml",
        "isthmus doctor /etc/isthmus/east.toml --rate 45Mbit",
        "isthmus doctor /etc/isthmus/east.toml --json | jq .problem",
    )
)
@_config
@click.option("--rate", metavar="RATE", help="Rate of the line, such as 45Mbit: are buffers large enough?")
@click.option(*_ROUND_TRIP, metavar="TIME", help="Round trip of the line, such as 100ms. [default: measured]")
@_json
def doctor(config: Path, rate: str | None, round_trip: str | None, as_json: bool) -> int | None:
    """See whether this host and its peers are fit.

    Reaches each peer with the site's own certificates and each export, and looks at the kernel's TCP, the clock,
    certificates, listen addresses, file descriptors, memory and disk. What is not as it should be comes with its
    remedy. Run it as the site's user, for others may do more or less. Changes nothing, and may be run beside a running
    site. Exits with 1 if there is a problem.
    """
    return _perform("doctor", config, rate, round_trip, as_json)


@root.command(
    "support-bundle",
    epilog=_examples(
        "isthmus support-bundle /etc/isthmus/east.toml", "isthmus support-bundle east.toml -o /tmp/east.tar.gz"
    ),
)
@_config
@click.option(
    "-o",
    "--output",
    type=PATH,
    metavar="FILE",
    help="File to write. [default: isthmus-NAME-TIME.tar.gz]",
)
def support_bundle(config: Path, output: Path | None) -> int | None:
    """Collect what somebody needs to say what is wrong.

    Configuration, status, health, history, events, metrics, doctor's report, versions, and logs that can be found, as
    one tar.gz that its owner alone can read. No private key and no token is in it. Works also if the site does not
    run, or its file is wrong; contents.txt in it says what is missing, and why.
    """
    return _perform("support_bundle", config, output)


@root.command(epilog=_examples("isthmus demo", "isthmus demo --volume-size 64MiB --store disk --json"))
@click.option("--volume-size", default="256MiB", show_default=True, metavar="SIZE", help="Size of each volume.")
@click.option(
    "--store", "mode", type=click.Choice(["memory", "disk"]), default="memory", show_default=True, help="Store mode."
)
@_json
def demo(volume_size: str, mode: str, as_json: bool) -> int | None:
    """Replicate volumes through a pair of sites.

    Starts both on this machine as processes of their own, with TLS between them, sends three generated volumes
    through them twice, cold and warm, and shows for each what it took on the WAN and how long. Where tgt and
    qemu-img are installed, a fourth one goes over iSCSI. Every byte is compared; the exit code is 1 if any differs.
    """
    return _perform("demo", volume_size, mode, as_json)


root.add_command(wan)
root.add_command(bench)


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
    script = complete(root, {}, "isthmus", "_ISTHMUS_COMPLETE").source()
    click.echo(script)  # noqa: TID251 (a program's text, not a terminal's)


def main() -> None:
    """Run the command that was typed."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal's encoding may lack characters
    root.main()
