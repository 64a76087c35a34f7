"""Pages in a real browser: no script of the data runs, nothing is loaded, everybody can read them."""

import pytest

from lm_eval_bias import cli
from tests.browser import AXE, WIDTHS, chromium, look, text_without_scripts
from tests.report.scripted import made_up

HOSTILE = '<script>window.hacked=1</script><img src=x onerror=window.hacked=2>\u202egnp.exe\x1b[2J=HYPERLINK("http://x")\'"</style></title>'


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def leaderboard(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for number, name in enumerate(("org/one", "org/two", HOSTILE)):
        made_up(folder, name, {"gap": (3 * number, 0.5, 0, None), "share": (50 + number, 1, None, "lower")}, minutes=number)
    page = folder / "board.html"
    assert cli.main(["leaderboard", str(folder), "--output", str(page)]) == 0
    return page


def faultless(browser, page, screenshots=None):
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            seen = look(browser, page, width, scheme)
            assert not seen.faults and not seen.requests and not seen.said and seen.wide <= 0, (width, scheme, seen)


def test_the_leaderboard_is_read_by_everybody_and_runs_nothing(browser, leaderboard):
    faultless(browser, leaderboard)


def test_axe_finds_what_is_wrong(browser, tmp_path):
    """The tests above could not fail otherwise."""
    if not AXE.is_file():
        pytest.skip("axe-core is not there; `make test` fetches it with npm")
    page = tmp_path / "bad.html"
    page.write_text('<!doctype html><html><body style="color:#aaa"><img src="x.png"><input><p>faint</p><script>window.hacked=1</script>')
    seen = look(browser, page)
    rules = {fault.partition(":")[0] for fault in seen.faults}
    assert {"image-alt", "label", "color-contrast", "html-has-lang", "document-title"} <= rules
    assert any("x.png" in url for url in seen.requests) and any("a script of the data ran" in said for said in seen.said)
    assert "faint" in (page.write_text("<main>faint</main>"), text_without_scripts(browser, page))[1]
