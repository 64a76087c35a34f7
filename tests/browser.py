"""A page in a real browser: Chromium without a window, and axe-core, which looks for what keeps people from reading it."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
AXE = ROOT / ".axe" / "axe.min.js"
WIDTHS = (360, 768, 1280)
"""A phone, a tablet, a desk: CSS pixels."""


class Seen(NamedTuple):
    """What a browser found at one width, in one colour scheme. faults: of axe, each as "rule: element"; requests: all but the page's own;
    said: what stands on the console; wide: by how many pixels the page is wider than its window."""

    faults: list[str]
    requests: list[str]
    said: list[str]
    wide: int


@contextmanager
def chromium():
    """Skips where a machine has no Chromium. Only axe.min.js can be missing later."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


def look(browser, path: Path, width: int = 1280, scheme: str = "light", screenshot: Path | None = None, media: str = "screen") -> Seen:
    """Open a file and look at it: with axe where `make test` could fetch it, without its rules on contrast otherwise."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.emulate_media(media=media, color_scheme=scheme)
    requests, said = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    address = path.resolve().as_uri()
    page.goto(address)
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    hacked = page.evaluate("String(window.hacked)")
    if hacked != "undefined":
        said.append(f"a script of the data ran: {hacked}")
    faults = []
    if AXE.is_file():
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        faults = [f"{rule['id']}: {node['html'][:150]}" for rule in found["violations"] for node in rule["nodes"]]
    if screenshot is not None:
        page.screenshot(path=str(screenshot), full_page=True)
    context.close()
    return Seen(faults, [url for url in requests if url != address and not url.startswith("data:")], said, wide)


def text_without_scripts(browser, path: Path) -> str:
    """What a reader sees where scripts are switched off."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.resolve().as_uri())
    text = page.locator("main").inner_text()
    context.close()
    return text
