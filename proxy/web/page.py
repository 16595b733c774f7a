"""The dashboard's files: ours, and the library that draws its charts, answered from memory.

They hold no data, so anybody who reaches the listener may read them; what they show they ask the API for.
"""

import gzip
import hashlib
import logging
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from aiohttp import web

log = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"
CHARTS = "uplot-python", {"uplot.js": "uplot/static/uPlot.iife.js", "uplot.css": "uplot/static/uPlot.min.css"}
"""The distribution whose wheel holds the library, and its files by the names that the page asks for.

They are found without importing the distribution: its Python part is for notebooks, and wants much that we do not.
"""
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
"""Nothing inline, nothing from elsewhere, and no text may become markup: the browser itself refuses it."""
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class File:
    """One file, ready to be sent."""

    plain: bytes
    content_type: str
    etag: str
    """In quotes, as the header has it; of the plain bytes."""

    @cached_property
    def compressed(self) -> bytes:
        """As gzip; made when it is first asked for, in 15 ms at most, since at many sites nobody opens the page."""
        return gzip.compress(self.plain, 9, mtime=0)


class Page:
    """`add_to` an application. Made on any thread; answers on the loop's, without waiting for a disk."""

    def __init__(self) -> None:
        """Raises OSError if the package's own files cannot be read. Without the library the page shows tables only."""
        self.files = {f"/static/{path.relative_to(STATIC).as_posix()}": _load(path) for path in _own_files()}
        self.files |= {f"/static/charts/{name}": _load(path) for name, path in _chart_files().items()}
        self.files["/"] = self.files.pop("/static/index.html")

    def add_to(self, app: web.Application) -> None:
        """Answer GET and HEAD for each file."""
        for path in self.files:
            app.router.add_get(path, self._answer)

    async def _answer(self, request: web.Request) -> web.Response:
        file = self.files[request.path]
        headers = {
            "Cache-Control": "no-cache",  # browsers keep it, and ask each time whether it changed
            "Content-Security-Policy": CONTENT_SECURITY_POLICY,
            "ETag": file.etag,
            "Referrer-Policy": "no-referrer",
            "Vary": "Accept-Encoding",
        }
        if file.etag in request.headers.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
        headers["Content-Type"] = file.content_type
        if "gzip" not in request.headers.get("Accept-Encoding", ""):
            return web.Response(body=file.plain, headers=headers)
        return web.Response(body=file.compressed, headers=headers | {"Content-Encoding": "gzip"})


def _own_files() -> list[Path]:
    return sorted(path for path in STATIC.rglob("*") if path.suffix in _TYPES)


def _chart_files() -> dict[str, Path]:
    name, files = CHARTS
    try:
        found = distribution(name)
    except PackageNotFoundError:
        log.warning("the page draws no charts: install the package %s", name)
        return {}
    return {asked: Path(str(found.locate_file(path))) for asked, path in files.items()}


def _load(path: Path) -> File:
    plain = path.read_bytes()
    etag = f'"{hashlib.sha256(plain).hexdigest()[:32]}"'
    return File(plain, _TYPES[path.suffix], etag)
