"""The README's pictures of the page: two real sites at the ends of an emulated line, under load, seen in Chromium.

    python -m tests.browser.screenshots

As root, for the line; with tgt and qemu-img, for a volume that is written over iSCSI; about six minutes.
"""

import argparse
import sys
import tempfile
import threading
import time
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from bench.array import ArrayFailure, IscsiTarget, copy_volume
from bench.datasets import Dataset
from bench.replicator import Sink, replicate
from bench.sites import ROOT, Address, Pair
from bench.wan import Line, line
from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.browser.window import PATIENCE_MS, Window
from tests.meanwhile import meanwhile

MIB = 1 << 20
VOLUME_BYTES = 48 * MIB
PASSES = 3
"""A volume is written this often, then comes another one."""
RULES = {
    "replication": 'guarantee = "30Mbit"\npriority = "high"\n',
    "encrypted": 'maximum = "4Mbit"\npriority = "low"\n',
}
PICTURES = {
    "light": {"theme": "light", "width": 1440, "height": 1350, "section": ""},
    "dark": {"theme": "dark", "width": 1440, "height": 1650, "section": "limits"},
    "phone": {"theme": "light", "width": 390, "height": 1250, "section": ""},
}


def main() -> None:
    """Make the pictures."""
    options = argparse.ArgumentParser(description="The README's pictures of the page.")
    options.add_argument("--out", type=Path, default=ROOT / "deploy" / "screenshots")
    options.add_argument("--seconds", type=float, default=280.0, help="of load before the first picture")
    given = options.parse_args()
    if lacking := IscsiTarget.lacking():
        sys.exit(f"no pictures: {lacking}")
    given.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        settings = Line.of(rate="45Mbit", delay="50ms", loss="0.1%", queue="1200KB")  # what BBR may let wait
        wan = stack.enter_context(line(settings, seed=1))
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="isthmus-")))
        with wan.inside("west"):
            array = stack.enter_context(IscsiTarget(directory, [VOLUME_BYTES] * 2))
            sink = stack.enter_context(Sink())
        exports = {"replication": array.address, "encrypted": sink.address}
        pair = Pair(exports, store="disk", store_size="512MiB", forward_settings=RULES, wan=wan)
        stack.callback(pair.close)
        pair.prepare()
        pair.start()
        with wan.inside("east"), load(array, pair.forwards):
            time.sleep(given.seconds)
            take(f"http://127.0.0.1:{pair.east.status_port}/", given.out)


def load(array: IscsiTarget, forwards: dict[str, Address]) -> AbstractContextManager[None]:
    """Volumes over iSCSI, and what does not reduce, as if it were encrypted. It has ended when this is left, since
    qemu-img would dial a site that is gone for ever."""

    def send(over: threading.Event) -> None:
        while not over.is_set():
            replicate(Dataset("encrypted", 16 * MIB, seed=int(time.monotonic())), forwards["encrypted"])

    writes = [partial(write, array=array, unit=unit, forward=forwards["replication"]) for unit in (1, 2)]
    return meanwhile(send, *writes)


def write(over: threading.Event, array: IscsiTarget, unit: int, forward: Address) -> None:
    """One volume after another."""
    number = unit * 1000
    while not over.is_set():
        with tempfile.NamedTemporaryFile(prefix="isthmus-") as volume:
            Dataset("volume", VOLUME_BYTES, 38, 10, number).fill(Path(volume.name))
            number += 1
            for _ in range(PASSES):
                if over.is_set():
                    return
                try:
                    copy_volume(Path(volume.name), array.url(unit, forward))
                except ArrayFailure as error:
                    print(error, file=sys.stderr)
                    return


def take(url: str, out: Path) -> None:
    """All pictures of the page at that address."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE_MS)
        for name, wanted in PICTURES.items():
            picture(browser, url, wanted).screenshot(path=out / f"{name}.png")
            shrink(out / f"{name}.png")
        browser.close()


def shrink(path: Path) -> None:
    """A palette is enough for a page of few colours, and a third of the bytes."""
    Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def picture(browser: Any, url: str, wanted: dict[str, Any]) -> Any:
    """A page that is ready to be taken."""
    viewport = {"width": wanted["width"], "height": wanted["height"]}
    page = browser.new_context(viewport=viewport, color_scheme=wanted["theme"]).new_page()
    window = Window(page, url)
    window.until_shown()
    page.wait_for_timeout(8000)  # some seconds of load between two looks at the accounts of time
    if wanted["section"]:
        page.evaluate("(id) => document.getElementById(id).scrollIntoView({ behavior: 'instant' })", wanted["section"])
        page.wait_for_timeout(500)
    return page


if __name__ == "__main__":
    main()
