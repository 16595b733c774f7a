"""The page in a browser, and the waits for what it should show. All of them are patient: the machine may be busy."""

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.patience import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Error, Page

PATIENCE_MS = int(PATIENCE * 1000)
AXE = """async (rules) => {
    const found = await axe.run(document, { runOnly: rules });
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" | ")}`);
}"""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


class Window:
    """One page; `complaints` collects what the browser's console says, and every exception."""

    def __init__(self, page: "Page", url: str) -> None:
        self.page = page
        self.complaints: list[str] = []
        self._heard: list[tuple[str, Callable[[Any], None]]] = []
        self.hear("console", self._heed)
        self.hear("pageerror", self._catch)
        page.goto(url)

    def hear(self, event: str, told: Callable[[Any], None]) -> None:
        """Of each such event of the page, as Playwright names it, until it is left."""
        listen: Any = self.page.on  # one overload for each event
        listen(event, told)
        self._heard.append((event, told))

    def leave(self) -> None:
        """The tab goes on without this page, and nothing of it is heard any more."""
        self.page.goto("about:blank")
        for event, told in self._heard:
            self.page.remove_listener(event, told)

    def _heed(self, message: "ConsoleMessage") -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _catch(self, error: "Error") -> None:
        self.complaints.append(str(error))

    def until(self, expression: str, argument: Any = None) -> None:
        """Wait until an expression or a function of `argument` is true in the page.

        Asked again and again from outside: Playwright's own way evaluates text in the page, which its policy forbids.
        """
        eventually(lambda: bool(self.page.evaluate(expression, argument)), f"{expression} {argument or ''}", self)

    def until_text(self, selector: str, text: str) -> None:
        """Wait until an element holds that text."""
        self.until(
            "([selector, text]) => document.querySelector(selector)?.textContent.includes(text)", [selector, text]
        )

    def until_shown(self) -> None:
        """Wait until every section has its first figures."""
        for selector in ("#ladder tbody tr", "#waterfall li", "#gains tbody tr", "#store-tiles dt", "#streams-count"):
            self.until("(selector) => document.querySelector(selector)?.textContent.length > 0", selector)
        self.until("document.querySelectorAll('.uplot canvas').length === 2")

    def give_token(self, token: str) -> None:
        """Into the dialog that asks for it."""
        self.page.get_by_role("textbox", name="Token").fill(token)
        self.page.keyboard.press("Enter")

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).all_text_contents()

    def rows(self, place: str) -> list[list[str]]:
        """Of the table in an element: the text of each cell, and after a bar what stands under it."""
        found: list[list[str]] = self.page.evaluate(
            """(place) => {
                const shown = (cell) => [...cell.children].filter((part) => !part.hidden);
                const text = (cell) => shown(cell).map((part) => part.textContent).join(" | ");
                return [...document.querySelectorAll(`${place} tbody tr`)].map((row) => [...row.children].map(text));
            }""",
            place,
        )
        return found

    def axe(self) -> list[str]:
        """What axe-core has to complain of."""
        self.page.evaluate(axe_source())
        found: list[str] = self.page.evaluate(AXE, RULES)
        return found


def eventually(condition: Callable[[], bool], what: str, page: Window) -> None:
    """Wait for a condition that is looked at from here."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE:.0f} s: {what}"
        page.page.wait_for_timeout(100)  # events of the browser are taken meanwhile


OpenWindow = Callable[..., Window]
"""`window(url, theme=..., width=..., own=..., clock=...)`."""


def axe_source() -> str:
    """axe-core, from the package that ships it."""
    spec = importlib.util.find_spec("axe_playwright_python")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).with_name("axe.min.js").read_text(encoding="utf-8")
