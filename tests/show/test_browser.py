"""Pages in a real browser: no script of the data runs, nothing is loaded, everybody can read them,
on a screen and on paper."""

import re
from importlib.util import find_spec

import pytest

from lm_eval_bias import cli
from lm_eval_bias.figures import draw
from lm_eval_bias.results.table import Cell, Table
from lm_eval_bias.show import page
from lm_eval_bias.show.report import TaskInfo
from tests.browser import AXE, OPEN, WIDTHS, axe, chromium, cut_on_paper, look, opened, text_of
from tests.hostile import HOSTILE, run_of
from tests.show.test_report import TABLE, UNSEEN, attack, ours, reported

pytestmark = pytest.mark.slow
PAGES = ("overview", "model", "leaderboard", "comparison", "brief")
ORDER = (4, 1, 8, 0, 7, None, 3, 2, 6, 5)
ROWS = (
    "[...document.querySelector('table.sortable').tBodies[0].rows].filter((row) => "
    "!row.hidden).map((row) => row.cells[0].textContent)"
)


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Names -> pages in which every text that a person or a model may have written is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    attack(folder, draw if find_spec("vl_convert") else None, brief=True)
    model = max(
        (p for p in (folder / "out").glob("*.html") if p.stem not in ("index", "brief")),
        key=lambda path: path.stat().st_size,
    )
    assert (
        cli.main(["leaderboard", str(folder / "runs"), "--output", str(folder / "board.html")]) == 0
    )
    texts = list(HOSTILE)
    cells = Table([Cell("answer"), Cell("first")], [[Cell(text), Cell("1")] for text in texts])
    about = dict(zip(texts, texts[::-1], strict=True))
    section = page.Section(texts[0], [cells], about=about)
    made = page.Page(texts[0], texts, [section], {"Notes": texts}, texts, [])
    (folder / "compare.html").write_text(page.html(made), encoding="utf-8")
    files = ("board.html", "compare.html", "out/brief.html")
    paths = folder / "out/index.html", model, *(folder / file for file in files)
    return dict(zip(PAGES, paths, strict=True))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_nothing_loads_nothing_and_is_read_by_everybody(browser, pages, name):
    seen = look(browser, pages[name])
    assert not seen.faults and not seen.requests and not seen.said and seen.wide <= 0, seen


@pytest.mark.parametrize("name", PAGES)
def test_without_scripts_a_page_says_the_same(browser, pages, name):
    text = text_of(browser, pages[name], scripts=False)
    assert text == text_of(browser, pages[name]) and "<script>window.hacked=1</script>" in text
    assert not re.search(UNSEEN, text)


@pytest.mark.parametrize("name", PAGES)
def test_on_paper_nothing_is_cut_off_and_all_folds_are_open(browser, pages, name):
    assert not cut_on_paper(browser, pages[name])
    with opened(browser, pages[name]) as tab:
        closed = "document.querySelectorAll('details:not([open])').length"
        before = tab.evaluate(closed)
        assert tab.pdf(format="A4").startswith(b"%PDF")
        assert tab.evaluate(closed) == before  # as the reader had them
        # nothing tells the page's script, as where scripts are off
        tab.emulate_media(media="print")
        assert tab.evaluate(
            "[...document.querySelectorAll('main details > :not(summary, .filter)')].every("
            "(each) => each.getBoundingClientRect().height > 0)"
        )
        if name in ("overview", "model"):
            assert before and tab.evaluate("window.closedOnPaper") == 0


def test_a_page_of_ten_tasks_is_short_until_it_is_opened(browser, tmp_path):
    """Ten tasks of five papers, with five figures each: less than 8,000 pixels; one figure of each
    paper is seen, and a link leads to any other, in a fold that it opens."""
    pytest.importorskip("vl_convert")
    table = [
        {"group": f"group {i}", "gap": i, "gap_low": i - 1, "gap_high": i + 1} for i in range(9)
    ]
    figures = [TABLE._replace(name=f"Figure {i}") for i in range(5)]
    names = [f"task_{i}" for i in range(10)]
    for i, name in enumerate(names):
        run_of(tmp_path / "runs", task=name, minutes=i, tables={"by_group": table}, n=50)
    known = {name: TaskInfo("a", f"P{i // 2}", "1", figures) for i, name in enumerate(names)}
    reported(known, draw, tmp_path)
    with opened(browser, tmp_path / "out" / "org-m.html", scripts=False) as tab:
        assert tab.evaluate("document.documentElement.scrollHeight") < 8000
        seen = tab.locator(".figure >> visible=true")
        assert tab.locator(".figure").count() == 50 and seen.count() == 5
        contents = tab.get_by_role("navigation", name="Contents")
        assert contents.get_by_role("link").count() == 1 + 10 + 50
        contents.get_by_role("link", name="P4, Figure 4").last.click()
        assert seen.count() == 10 and tab.locator("#s-task-9-figure-4").is_visible()
        tab.evaluate("scrollTo(0, 2500)")
        assert contents.is_visible() and contents.bounding_box()["y"] >= 0
    with opened(browser, tmp_path / "out" / "org-m.html", WIDTHS[0], scripts=False) as tab:
        contents = tab.get_by_role("navigation", name="Contents")
        assert not contents.get_by_role("link").first.is_visible()
        contents.get_by_text("Contents").click()
        assert contents.get_by_role("link").first.is_visible()


def test_rows_are_sorted_and_filtered_by_keyboard(browser, tmp_path):
    """Ten rows: 0 to 8 out of order, with what does not exist at the end in either direction;
    "group 1" leaves one. -12,000 is the least."""
    table = [{"group": f"group {n}", "gap": n and -1.5e3 * n} for n in ORDER]
    run_of(tmp_path / "runs", tables={"by_group": table})
    reported(ours(TABLE), folder=tmp_path)
    with opened(browser, tmp_path / "out" / "org-m.html") as tab:
        tab.evaluate(OPEN)
        assert tab.evaluate(ROWS) == [f"group {n}" for n in ORDER]
        heads = tab.locator("table.sortable").first.get_by_role("columnheader")
        tab.get_by_label("Rows that have").first.focus()
        for _ in range(10):  # the box that scrolls, then the buttons of the heads
            tab.keyboard.press("Tab")
            if tab.evaluate("document.activeElement.textContent").startswith("Gap"):
                break
        assert heads.nth(1).get_attribute("aria-sort") is None
        for key, said, order in (
            ("Enter", "ascending", [8, 7, 6, 5, 4, 3, 2, 1, 0, None]),
            ("Space", "descending", [0, 1, 2, 3, 4, 5, 6, 7, 8, None]),
        ):
            tab.keyboard.press(key)
            assert tab.evaluate(ROWS) == [f"group {n}" for n in order]
            assert (
                heads.nth(1).get_attribute("aria-sort") == said
                and heads.nth(0).get_attribute("aria-sort") is None
            )
        # the reader is where they were
        assert tab.evaluate("document.activeElement.textContent").startswith("Gap")
        tab.get_by_label("Rows that have").first.focus()
        tab.keyboard.type("GROUP 1")
        assert (
            tab.evaluate(ROWS) == ["group 1"]
            and tab.get_by_role("status").first.text_content() == "1 of 10"
        )
        assert not axe(tab) and not tab.said


def test_a_long_name_lies_over_no_other_and_widens_no_page(browser, pages):
    """On a phone tables scroll in their boxes, by keyboard too, and the page does not."""
    over = (
        "[...document.querySelectorAll('th, td')].filter((each) => each.scrollWidth > "
        "each.clientWidth + 1).map((each) => each.outerHTML.slice(0, 150))"
    )
    for name in PAGES:
        with opened(browser, pages[name]) as tab:
            assert not tab.evaluate(over)  # no cell's text lies over the next
    with opened(browser, pages["model"], WIDTHS[0]) as tab:
        boxes = "[...document.querySelectorAll('.wide, .figure')]"
        assert tab.evaluate(f"{boxes}.some((each) => each.scrollWidth > each.clientWidth)")
        assert tab.evaluate(
            f"{boxes}.every((each) => each.tabIndex === 0 && "
            "each.getAttribute('aria-labelledby') || each.getAttribute('aria-label'))"
        )


def test_axe_finds_what_is_wrong(browser, tmp_path):
    """The tests above could not fail otherwise."""
    if not AXE.is_file():
        pytest.skip("axe-core is not there; `make test-all` fetches it with npm")
    bad = tmp_path / "bad.html"
    bad.write_text(
        '<!doctype html><html><body style="color:#aaa"><img '
        'src="x.png"><input><p>faint</p><script>window.hacked=1</script>'
    )
    seen = look(browser, bad)
    rules = {fault.partition(":")[0] for fault in seen.faults}
    assert {"image-alt", "label", "color-contrast", "html-has-lang", "document-title"} <= rules
    assert any("x.png" in url for url in seen.requests) and any(
        "a script of the data ran" in said for said in seen.said
    )
    wide = tmp_path / "wide.html"
    wide.write_text(
        f"<main><table><tr>{'<td>unbreakable</td>' * 30}</table>"
        "<script>document.write(1)</script></main>"
    )
    assert cut_on_paper(browser, wide) and text_of(browser, wide) != text_of(
        browser, wide, scripts=False
    )
