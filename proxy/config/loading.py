"""Reads a site's file and makes a `SiteConfig` of it, or reports all mistakes at once."""

from datetime import UTC, datetime
from pathlib import Path

from proxy.config import checks, listener, trust
from proxy.config.mistakes import ABSENT, ConfigError, Mistake
from proxy.config.model import SiteConfig
from proxy.config.reading import A_SITES_FILE, Draft, read_draft, read_tree
from proxy.files import read

LARGEST_FILE = 1 << 20
"""Bytes; a longer file is not a configuration."""


def load(path: Path, *, files: bool = True) -> SiteConfig:
    """Read and check a site's file. Raises ConfigError with every mistake.

    With `files` off the certificates, keys and tokens that it names are not looked at: for commands that only need to
    know where things are, and may be used by somebody who cannot read the key. Blocks for as long as the disk does.
    """
    return parse(_read(path), path, files=files)


def parse(content: bytes, source: Path, *, files: bool = True, now: datetime | None = None) -> SiteConfig:
    """As `load`, for content that was read already; `source` is what relative paths are relative to.

    `now` (UTC) judges the dates of certificates.
    """
    tree = read_tree(content)
    if isinstance(tree, Mistake):
        raise ConfigError(source, [tree])
    draft = read_draft(tree, source)
    checks.check(draft)
    if files:
        now = now or datetime.now(UTC)
        trust.check(draft, now)
        listener.check_files(draft, now)
    if draft.mistakes:
        raise ConfigError(source, _in_order(draft))
    return SiteConfig.model_validate(tree, context={"base": source.parent, "source": source})


def _read(path: Path) -> bytes:
    try:
        content = read(path, LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        wrong = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        forbidden = isinstance(error, PermissionError)
        remedy = "run this as the site's user, or let this user read it" if forbidden else A_SITES_FILE
        raise ConfigError(path, [Mistake((), ABSENT, wrong, remedy)]) from None
    if len(content) > LARGEST_FILE:
        raise ConfigError(path, [Mistake((), ABSENT, "is larger than 1 MiB", A_SITES_FILE)])
    return content


def _in_order(draft: Draft) -> list[Mistake]:
    """Sections in the order of the documents, unknown ones last; within one, tables in their order."""
    sections = [info.alias or name for name, info in SiteConfig.model_fields.items()]

    def place(mistake: Mistake) -> tuple[int, int]:
        section, *rest = mistake.where
        index = rest[0] if rest and isinstance(rest[0], int) else -1
        return sections.index(str(section)) if section in sections else len(sections), index

    return sorted(draft.mistakes, key=place)
