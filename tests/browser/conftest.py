"""One Chromium for the tests of a file, Debian's own, driven by Playwright: each looks at its pages in the same tab."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.browser.scene import Scene
from tests.browser.stage import Stage, staged
from tests.browser.window import PATIENCE_MS, OpenWindow, Window

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
ARGUMENTS = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (group test)")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium (deploy/system-packages test)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE_MS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def tab(chromium: Any) -> Iterator[Any]:
    """One for all: a new one costs a second of CPU time, most of it for a process that reads the same scripts again."""
    with chromium.new_context() as context:
        yield context.new_page()


@pytest.fixture
def stage() -> Iterator[Stage]:
    """The page's answers, which a test may exchange."""
    with staged(Scene()) as stage:
        yield stage


@pytest.fixture
def window(chromium: Any, tab: Any) -> Iterator[OpenWindow]:
    """Opens an address: `window(url, theme=..., width=...)`, in the tab of all, which is left after the test.

    What the page stores stays with its address, and each stage has a port of its own. A test that changes the browser,
    by scripts before those of the page, says `own=True`: its tab is its own, and closed. So is that of a test that
    turns the page's clock, and says `clock=True`.
    """
    with ExitStack() as stack:

        def look(
            url: str, *, theme: str = "light", width: int = 1280, own: bool = False, clock: bool = False
        ) -> Window:
            page = stack.enter_context(chromium.new_context()).new_page() if own or clock else tab
            page.set_default_timeout(PATIENCE_MS)
            page.emulate_media(color_scheme=theme, media="null", forced_colors="null", reduced_motion="reduce")
            page.set_viewport_size({"width": width, "height": 900})
            if clock:
                page.clock.install()
            opened = Window(page, url)
            stack.callback(opened.leave)
            return opened

        yield look
