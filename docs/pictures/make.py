"""The picture of a report in the README: the first screen of its page, and the gap by axis.

    python docs/pictures/make.py [RUNS ...]

RUNS are finished runs, by default those that `make demo` writes. Needs the extras `report`
and `test`, and a Chromium.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from lm_eval_bias import cli

RUNS = ["small=results/model", "planted=results/planted"]
_KEEP = """() => {
  const main = document.querySelector("main");
  const titled = (each) => each.querySelector("h3, h4").textContent.startsWith("The gap by axis");
  const byAxis = [...main.querySelectorAll(".exhibit")].find(titled);
  main.replaceChildren(main.querySelector("h1"), main.querySelector("section"), byAxis);
  const extras = ".exhibit details, .exhibit .files, main > section > details, .contents, footer";
  for (const extra of document.querySelectorAll(extras)) extra.remove();
}"""


def main(runs: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        if status := cli.main(["report", *runs, "-o", f"{folder}/report"]):
            return status
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1000, "height": 800}, color_scheme="light")
        tab.goto(Path(folder, "report", "index.html").as_uri())
        tab.evaluate(_KEEP)
        tab.screenshot(path=Path(__file__).with_name("report.png"), full_page=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or RUNS))
