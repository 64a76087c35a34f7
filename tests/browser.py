"""A page in a real browser: Chromium without a window, and axe-core, which looks for what keeps
people from reading it."""

import shutil
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
AXE = ROOT / ".axe" / "axe.min.js"
WIDTHS = (360, 768, 1280)
"""A phone, a tablet, a desk: CSS pixels."""
OPEN = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
PAPER = 718
"""A4 within margins of 1 cm: 190 mm, in CSS pixels of 1/96 inch."""
_LISTEN = """
const refused = (event) => `policy: ${event.violatedDirective} ${event.sample}`;
addEventListener("securitypolicyviolation", (event) => console.error(refused(event)));
const closed = () => document.querySelectorAll("details:not([open])").length;
addEventListener("afterprint", () => { window.closedOnPaper = closed(); });
"""


class Seen(NamedTuple):
    """What a browser found. faults: of axe, each as "rule: element"; requests: all but the page's
    own; said: what stands on the console, and scripts of the data; wide: by how many pixels the
    page is wider than its window at most."""

    faults: list[str]
    requests: list[str]
    said: list[str]
    wide: int


@contextmanager
def chromium():
    """Skips where a machine has no Chromium. Only axe.min.js can be missing later."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("no Chromium on this machine")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser, path, width=1280, scripts=True):
    """A tab with the page. Its attributes `requests` and `said` fill while it is open."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, java_script_enabled=scripts
    )
    try:
        tab = context.new_page()
        tab.add_init_script(_LISTEN)
        address = path.resolve().as_uri()
        tab.requests, tab.said = [], []
        tab.on(
            "request",
            lambda request: tab.requests.append(request.url) if request.url != address else None,
        )
        tab.on("console", lambda message: tab.said.append(message.text))
        tab.on("pageerror", lambda error: tab.said.append(str(error)))
        tab.on(
            "dialog",
            lambda dialog: (tab.said.append(f"dialog: {dialog.message}"), dialog.dismiss()),
        )
        tab.goto(address)
        yield tab
    finally:
        context.close()


def look(browser, path):
    """Open a page and all its folds and look at it at three widths, light and dark; with axe if
    `make test-all` fetched it, at the least and the greatest width in light and at one in dark,
    since colours do not depend on the width."""
    with opened(browser, path) as tab:
        tab.evaluate(OPEN)
        faults, wide = [], []
        for scheme, width in product(("light", "dark"), WIDTHS):
            tab.emulate_media(color_scheme=scheme)
            tab.set_viewport_size({"width": width, "height": 900})
            wide.append(tab.evaluate("document.documentElement.scrollWidth - window.innerWidth"))
            if (scheme, width) in (
                ("light", WIDTHS[0]),
                ("light", WIDTHS[-1]),
                ("dark", WIDTHS[0]),
            ):
                faults += axe(tab)
        hacked = tab.evaluate("String(window.hacked)")
        if hacked != "undefined":
            tab.said.append(f"a script of the data ran: {hacked}")
        requests = [url for url in tab.requests if not url.startswith("data:")]
        return Seen(faults, requests, tab.said, max(wide))


def axe(tab):
    """The faults that axe finds in a tab as it is now; none where axe is not there."""
    if not AXE.is_file():
        return []
    tab.evaluate(AXE.read_text())
    found = tab.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['id']}: {node['html'][:150]}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def text_of(browser, path, scripts=True):
    """All text of a page, in folds too, with scripts or without; less what the script adds to
    filter rows."""
    with opened(browser, path, scripts=scripts) as tab:
        return " ".join(tab.locator("main").text_content().replace("Rows that have ", "").split())


def cut_on_paper(browser, path):
    """What lies beyond the right edge of a sheet, of tables and figures."""
    with opened(browser, path, PAPER) as tab:
        tab.emulate_media(media="print")
        tab.evaluate(OPEN)
        return tab.evaluate(
            "[...document.querySelectorAll('table, th, td, svg, pre, p, li')]"
            f".filter((each) => each.getBoundingClientRect().right > {PAPER + 1} || "
            "each.scrollWidth > each.clientWidth + 2 && each.matches('th, td, pre'))"
            ".map((each) => each.outerHTML.slice(0, 150))"
        )
