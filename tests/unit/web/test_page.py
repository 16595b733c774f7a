"""The page's files as a browser is given them."""

import asyncio
import gzip
import re
from importlib.metadata import PackageNotFoundError

import pytest
from aiohttp import ClientResponse, ClientSession, web

from bench.sites import free_port
from proxy.web import page as page_module
from proxy.web.page import STATIC, Page
from tests.unit.web.stage import listening, play

ASKED = re.compile(r'(?:href|src)="(/[^"]*)"')
IMPORTED = re.compile(r'from "\./([^"]+)"')


def ask(path: str, headers: dict[str, str] | None = None, page: Page | None = None) -> tuple[ClientResponse, bytes]:
    """The answer to a GET, and its body as it was sent."""

    async def answer() -> tuple[ClientResponse, bytes]:
        app = web.Application()
        (page or Page()).add_to(app)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        port = free_port()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        try:
            async with (
                ClientSession(auto_decompress=False, skip_auto_headers=["Accept-Encoding"]) as client,
                client.get(f"http://127.0.0.1:{port}{path}", headers=headers) as response,
            ):
                return response, await response.read()
        finally:
            await runner.cleanup()

    return asyncio.run(answer())


def test_the_page_and_all_that_it_asks_for_is_there() -> None:
    page = Page()
    asked = set(ASKED.findall(page.files["/"].plain.decode()))
    scripts = {f"/static/js/{name}" for path in STATIC.rglob("*.js") for name in IMPORTED.findall(path.read_text())}
    own = {path for path in asked | scripts if path.startswith("/static/")}
    assert own <= set(page.files)
    assert {"/static/charts/uplot.js", "/static/charts/uplot.css"} <= own


def test_nothing_is_asked_of_anybody_else_and_nothing_is_inline() -> None:
    for path in STATIC.rglob("*"):
        if path.is_file():
            text = path.read_text().replace("http://www.w3.org/", "")
            assert "://" not in text, path
            assert "innerHTML" not in text, path
    html = Page().files["/"].plain.decode()
    assert not re.search(r"<style|style=|\son\w+=|<script(?![^>]*\ssrc=)", html)


def test_it_is_sent_compressed_to_whoever_takes_that() -> None:
    response, body = ask("/", {"Accept-Encoding": "gzip, br"})
    assert response.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == Page().files["/"].plain
    response, body = ask("/")
    assert "Content-Encoding" not in response.headers
    assert body == Page().files["/"].plain


def test_a_browser_that_has_it_is_told_so() -> None:
    first, _ = ask("/static/js/main.js")
    assert first.headers["Cache-Control"] == "no-cache"
    again, body = ask("/static/js/main.js", {"If-None-Match": first.headers["ETag"]})
    assert (again.status, body) == (304, b"")
    other, _ = ask("/static/js/main.js", {"If-None-Match": '"something else"'})
    assert other.status == 200


def test_nothing_is_compressed_before_somebody_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sites start, and most pages are never opened; and each file is compressed once."""
    made: list[int] = []
    compress = gzip.compress

    def counted(plain: bytes, level: int, *, mtime: int) -> bytes:
        made.append(len(plain))
        return compress(plain, level, mtime=mtime)

    monkeypatch.setattr(gzip, "compress", counted)
    page = Page()
    ask("/", page=page)
    assert made == []
    for _ in range(2):
        _, body = ask("/", {"Accept-Encoding": "gzip"}, page)
        assert gzip.decompress(body) == page.files["/"].plain
    assert made == [len(page.files["/"].plain)]


def test_a_policy_forbids_what_is_not_ours() -> None:
    response, _ = ask("/")
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    "path", ["/static/../page.py", "/static/%2e%2e/page.py", "/static/js", "/static/", "/static/js/none.js"]
)
def test_there_is_nothing_else(path: str) -> None:
    """Of the listener itself, by the very bytes: what browsers and libraries ask for has no ".." any more."""

    async def scene() -> None:
        async with listening() as stage:
            assert (await stage.ask(path)).status == 404

    play(scene)


def test_without_the_library_there_are_no_charts(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(page_module, "distribution", missing)
    page = Page()
    assert "/static/charts/uplot.js" not in page.files
    assert "install the package uplot-python" in caplog.text
    assert ask("/", page=page)[0].status == 200
