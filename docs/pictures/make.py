"""The picture of a report in the README: its first screen, and figures of it below if asked for.

    python docs/pictures/make.py [RUNS ...] [--figure ID ...] [-o FILE]

RUNS are finished runs, by default those that `make demo` writes. Needs the extras `report`
and `test`, and a Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from lm_eval_bias import cli

LARGEST = 300_000
"""Bytes that the picture may have."""
# Of the page stay the first section and the figures that are asked for, each with its heading,
# caption and how it is read.
_KEEP = """(wanted) => {
  const drawn = (exhibit) => exhibit.querySelector("svg");
  const exhibits = [...document.querySelectorAll(".exhibit")].filter(drawn);
  const headings = exhibits.map((each) => each.querySelector("h3, h4").id);
  const missing = wanted.filter((heading) => !headings.includes(heading));
  if (missing.length) return { missing, headings };
  const at = (heading) => exhibits[headings.indexOf(heading)];
  const kept = wanted.map(at);
  const main = document.querySelector("main");
  const [title, found] = [main.querySelector("h1"), main.querySelector("section")];
  main.replaceChildren(title, found, ...kept);
  const extras = ".exhibit details, .exhibit .files, main > section > details, .contents, footer";
  for (const extra of document.querySelectorAll(extras)) extra.remove();
  return { missing, headings };
}"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "runs",
        nargs="*",
        default=["small=results/model", "planted=results/planted"],
        help="finished runs; default: those of make demo",
    )
    parser.add_argument(
        "--figure", action="append", default=[], metavar="ID", help="a figure's address on the page"
    )
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).with_name("report.png"))
    arguments = parser.parse_args()
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        sys.exit("no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        status = cli.main(["report", *arguments.runs, "-o", f"{folder}/report"])
        if status:
            return status
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1000, "height": 800}, color_scheme="light")
        tab.goto(Path(folder, "report", "index.html").as_uri())
        found = tab.evaluate(_KEEP, arguments.figure)
        if found["missing"]:
            sys.exit(
                f"no figure {', '.join(found['missing'])}; the page has: "
                f"{'; '.join(found['headings']) or 'none'}"
            )
        tab.screenshot(path=str(arguments.output), full_page=True)
        browser.close()
    size = arguments.output.stat().st_size
    if size >= LARGEST:
        sys.exit(
            f"{arguments.output} has {size:,} bytes, more than {LARGEST:,}; show fewer figures"
        )
    print(f"wrote {arguments.output}: {size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
