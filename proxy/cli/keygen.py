"""`isthmus keygen`."""

from pathlib import Path

from proxy import identity
from proxy.cli.ending import ended_in_order
from proxy.cli.output import say
from proxy.config.names import NAME_REMEDY, is_name
from proxy.errors import ExitCode, OperatorError


def run(site: str, out: Path, force: bool) -> None:
    """Make key and certificate, and say where they are."""
    if not is_name(site):
        raise OperatorError(f"--site {site!r} is not a name; {NAME_REMEDY}", ExitCode.USAGE)
    with ended_in_order():
        made = identity.generate(site, out, force=force)
    say(f"key          {made.key_path}  (keep it here, and secret)")
    say(f"certificate  {made.certificate_path}  (copy it to each peer)")
    say(f"SHA-256      {identity.show_fingerprint(made.certificate.fingerprint)}")
    say(f"valid until  {made.certificate.expires:%Y-%m-%d}")
