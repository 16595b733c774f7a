"""One Chromium for all of these tests, Debian's own, driven by Playwright; each test has a context of its own in it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

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


@pytest.fixture
def window(chromium: Any) -> Iterator[OpenWindow]:
    """Opens an address in a window of its own: `window(url, theme=..., width=...)`. It is closed after the test."""
    with ExitStack() as stack:

        def look(url: str, *, theme: str = "light", width: int = 1280) -> Window:
            context = chromium.new_context(color_scheme=theme, viewport={"width": width, "height": 900})
            stack.callback(context.close)
            context.set_default_timeout(PATIENCE_MS)
            return Window(context.new_page(), url)

        yield look
