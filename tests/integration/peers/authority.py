"""A private CA for tests, certificates that it signs, and files of sites that trust it instead of pins."""

from pathlib import Path
from typing import Any

from bench.sites import Site
from tests.certificates import Signer, make


class Authority:
    """Writes `<name>.crt` (the CA's own) and signs others. `recognise_by` makes a site's file trust it."""

    def __init__(self, directory: Path, name: str = "authority", signer: Signer | None = None) -> None:
        """`signer`: a CA above this one."""
        self.certificate = directory / f"{name}.crt"
        self._directory = directory
        self.signer: Signer = make(directory / name, name, signer=signer, authority=True, purposes=())

    def sign(self, name: str, file: str | None = None, **how: Any) -> Path:
        """A certificate for that name in `<file>.crt`; the path without suffix."""
        path = self._directory / (file or name)
        make(path, name, signer=self.signer, **how)
        return path

    def recognise_by(self, site: Site) -> None:
        """Have the site recognise all its peers by their names in certificates of this CA."""
        text = site.config.read_text()
        lines = [line for line in text.splitlines() if not line.startswith("certificate = ") or site.name in line]
        text = "\n".join(lines).replace("[identity]", f'[identity]\nca = "{self.certificate.name}"')
        site.config.write_text(text)
