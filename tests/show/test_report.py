"""`lm-eval-bias report`: pages of made-up runs, what they say, and what they do with texts that
anybody may have written."""

import base64
import hashlib
import itertools
import re
from functools import partial
from math import inf, nan
from pathlib import Path

import pytest

from lm_eval_bias.exhibit import Column, Exhibit, Figure, Rows
from lm_eval_bias.results import runs, verdict
from lm_eval_bias.show import page_figures, report as page
from lm_eval_bias.show.report import TaskInfo
from tests import hostile
from tests.hostile import HOSTILE, Page, run_of
from tests.scripted import edited

FIGURE = (
    '<svg role="img" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10">'
    "<title>drawn</title></svg>"
)


class Drawn:
    """A drawing that keeps what it was asked for."""

    def __init__(self, error=None):
        self.asked, self.error = [], error

    def files(self, exhibit, rows, *, name, heading, description, source, n, model=None):
        if self.error:
            raise self.error
        self.asked.append((exhibit.name, rows, f"{source}; {n}", model))
        return {".svg": FIGURE, ".png": b"\x89PNG\r\n\x1a\n", "-column.pdf": b"%PDF-1.4"}


TABLE = Exhibit(
    "Table 1",
    "By group",
    Rows("by_group"),
    [Column("group", "Group"), Column("gap", "Gap", "points"), Column("share", "Share", "%")],
    "A gap above 0 favours the group.",
    "It does not show why.",
    figure=Figure("bars", "group", "gap"),
)
KEYS = ("group", "gap", "gap_stderr", "gap_low", "gap_high", "gap_n")
KEYS += ("share", "share_low", "share_high")
BY_GROUP = [
    dict(zip(KEYS, row, strict=True))
    for row in (
        ("first", 3.0, 1.0, 1.0, 5.0, 41, 40.0, 31.0, 52.0),
        ("second", -1.0, 0.0, nan, nan, 9, None, None, None),
        ("third", nan, 1.0, nan, nan, 0, 0.0, -inf, 2.0),
    )
]


RUNS, OUT = Path("runs"), Path("out")
grouped = partial(run_of, RUNS, tables={"by_group": BY_GROUP})


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def reported(known=None, drawing=None, folder=Path(), **more):
    """Of the runs in RUNS, in OUT; both below a folder."""
    found, output = runs.find([folder / RUNS]), folder / OUT
    tests = page.write(found, known or {}, output, drawing and drawing.files, **more)
    return tests, {path.name: path.read_text() for path in output.glob("*.html")}


def ours(*exhibits, **more):
    return {"mine": TaskInfo("is one favoured", "Paper", "1", exhibits, **more)}


def texts(*rest):
    """The pages of a report, as a reader sees them: name -> text."""
    _, pages = reported(*rest)
    return {name: Page(page).text for name, page in pages.items()}


# ---- What a page says


def test_numbers_stand_with_interval_and_n():
    """The interval of a column is that of NAME_low and NAME_high, its n NAME_n; NaN is none."""
    grouped(n=50, of=100, units=37)
    pages = texts(ours(TABLE))
    for text in (
        "is one favoured",
        "By group Counterpart: Paper, Table 1",
        "(between 1.0 and 5.0; n = 37)",
        "Primary numbers of mine, 50 documents",
        "first 3.0 [1.0, 5.0] n = 41 40.0 [31.0, 52.0] second -1.0 n = 9 – third – n = 0 0.0 "
        "[-∞, 2.0]",
        "A gap above 0 favours the group.",
        "It does not show why.",
    ):
        assert text in pages["org-m.html"]
    assert all("asked 50 of 100 documents" in page for page in pages.values())


def test_the_overview_counts_what_the_intervals_allow():
    """Two of three tests exclude their null value, the surest first: 3 ± 1.96 is 3 / 1.96 = 1.53 of
    its arm from 0, 60 with [52, 70] is 10 / 8 = 1.25 from 50; 1 ± 1.96 does not. Numbers without a
    question are no tests."""
    values = {
        "gap": (3.0, 1.0, 0, None, "Q"),
        "small": (1.0, 1.0, 0, None, "R"),
        "position_preference": (9.0, 1.0, 0, None),
        "ss": (60.0, None, 50, None, "S"),
    }
    path = run_of(RUNS, values=values, ends={"ss": (52.0, 70.0)})
    with edited(path) as content:
        content["configs"]["mine"]["cells"]["numbers"][-1]["unit"] = "%"
    tests, pages = reported()
    assert verdict.answers(tests)[0].endswith(
        "Its interval leaves out the systematic error of models without meaning. [mine gap]"
    )
    text = Page(pages["index.html"]).text
    assert len(tests) == 3 and "3 questions: 2 yes, 1 no difference." in text
    assert "With 3 tests at 5 %, expect at most 0.15 false positives." in text
    assert text.index("Q mine gap") < text.index("S mine ss")
    assert "10.0 points above 50, the value without bias (between 2.0 and 20.0)." in text
    assert "; more than 3.0 points is excluded." in text  # 1 + 1.96
    assert "the number of independent answers is not known" in text  # six events may be all
    assert "its interval leaves out the systematic error of models without meaning" in text


def test_an_exhibit_without_rows_says_what_is_missing():
    run_of(RUNS)
    lacking = TABLE._replace(name="Table 2", needs="the option style=all")
    text = texts(ours(TABLE, lacking), drawing := Drawn())["org-m.html"]
    assert "This run has no rows for it." in text
    assert "This run has no rows for it: it needs the option style=all." in text
    assert "A gap above 0 favours" not in text
    assert not drawing.asked


@pytest.mark.parametrize(
    "change, why",
    [
        ({"gap": 0.0, "share": 0.0}, "Folded: all its numbers are 0"),
        ({"gap_low": 3.0, "gap_high": 3.0, "share_high": nan}, "Folded: none of its numbers has"),
        ({"gap_low": 3.0, "gap_high": 3.0}, ""),
    ],
)
def test_an_exhibit_that_says_nothing_is_folded_with_the_reason(change, why):
    run_of(RUNS, tables={"by_group": [{**row, **change} for row in BY_GROUP[:2]]})
    table = TABLE._replace(figure=Figure("bars", "gap", "group", low="gap_low", high="gap_high"))
    text = texts(ours(table))["org-m.html"]
    assert why in text and ("Folded" in text) == bool(why)


@pytest.mark.parametrize(
    "drawing, why",
    [
        (Drawn(ValueError("no row has a number")), "no row has a number"),
        (Drawn(KeyError("odd")), "KeyError: 'odd'"),
    ],
)
def test_an_exhibit_that_fails_costs_no_page(drawing, why):
    """Rows of another version, a function of a person's own, a figure that cannot be drawn."""
    grouped()
    fails = TABLE._replace(name="Broken", source=lambda tables: [{"x": tables["absent"]}])
    text = texts(ours(TABLE, fails), drawing)["org-m.html"]
    assert "KeyError: 'absent'" in text and "first 3.0" in text
    assert f"The figure could not be drawn: {why}" in text


def test_figures_stand_in_the_page_and_beside_it():
    grouped()
    _, pages = reported(ours(TABLE), drawing := Drawn())
    assert pages["org-m.html"].count('<div class="figure"') == 1
    assert '<a href="#s-mine-table-1">By group</a></h3>' in pages["org-m.html"]
    listed = '<a href="#s-mine-table-1">By group <small>Paper, Table 1</small></a></li>'
    assert listed in pages["org-m.html"]
    files = {path.suffix: path.read_bytes() for path in (OUT / "figures").iterdir()}
    assert files == {".svg": FIGURE.encode(), ".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-1.4"}
    ((_, rows, words, model),) = drawing.asked
    assert words.startswith(
        "Source: org/m; mine version 1 (documents 100, chat template none); 2026-01-31; "
    )
    assert words.endswith("; counterpart of Paper, Table 1; 0 to 41") and model is None
    assert [row["group"] for row in rows] == ["first", "second", "third"]


def test_models_that_were_asked_the_same_share_a_figure_and_others_do_not():
    for i, name in enumerate("abc"):
        version = 2.0 if name == "c" else 1.0
        grouped(name, minutes=i, version=version)
    apart = TABLE._replace(name="Table 3", figure=Figure("bars", "group", "gap", model=None))
    pages = texts(ours(TABLE, apart), drawing := Drawn())
    assert set(pages) == {"index.html", "a.html", "b.html", "c.html"}
    shared = [
        (name, [row[model] for row in rows]) for name, rows, _, model in drawing.asked if model
    ]
    assert shared == [("Table 1", ["a"] * 3 + ["b"] * 3)]
    assert "a first 3.0 [1.0, 5.0]" in pages["index.html"]
    assert "mine (version 2)" in pages["index.html"]
    text = Page(pages["index.html"]).text
    assert re.search(r"\ba ?, b ?, version 1\b", text) and re.search(r"\bc ?, version 2\b", text)


def test_what_is_the_same_for_many_is_said_once():
    """What limits all answers of a model; a unit that the title has."""
    columns = [Column("group", "Group"), Column("share", "% wrong", "%")]
    percent = TABLE._replace(name="Table 2", columns=columns, how_to_read="Otherwise.")
    for i, (model, task) in enumerate(itertools.product("ab", ("mine", "yours"))):
        more = {"minutes": i, "n": {"a": 50, "b": 20}[model], "of": 1000}
        grouped(model, task=task, **more)
    _, pages = reported(ours(TABLE, percent))
    text, overview = Page(pages["a.html"]).text, Page(pages["index.html"]).text
    assert text.count("A gap above 0 favours the group.") == 1 and "Otherwise." in text
    assert "% wrong<small>" not in pages["a.html"]
    assert "Of every answer: a: asked 50 of 1,000 documents; one wording" in overview
    assert "; b: asked 20 of 1,000 documents." in overview
    assert overview.count("asked 20 of 1,000 documents") == 1
    assert "4 answers of 2 models: 4 yes." in overview


def test_another_condition_with_another_verdict_is_named():
    run_of(RUNS, "a", {"gap": (0.0, 1.0, 0, None, "Q")})
    run_of(RUNS, "a", minutes=1, chat_template_sha="t" * 64)
    expected = "no difference in another condition: chat template none"
    assert expected in texts()["index.html"]


def test_few_answers_in_the_form_asked_for_are_a_warning():
    values = {"gap": (3.0, 1.0, 0, None), "in_form": (79.6, None)}
    run_of(RUNS, "a", values, task="mine_generate")
    run_of(RUNS, "b", values | {"in_form": (80.0, None)}, task="mine_generate")
    pages = texts(ours())
    warning = "80 % of the answers have exactly the form that was asked for: the numbers depend on"
    assert warning in pages["a.html"] and warning not in pages["b.html"]
    assert "; mine asks without answers to read" in pages["a.html"]


def test_a_measure_without_exhibits_has_its_numbers_and_tables():
    grouped()
    text = texts()["org-m.html"]
    assert "All numbers, whole and by group: 1" in text and "Table by_group, 3 rows" in text
    assert "first 3 [1, 5] n = 41 1 40 [31, 52]" in text and "run with --log_samples" in text
    files = sorted(path.suffix for path in (OUT / "tables").iterdir())
    assert files == [".csv"] * 2 + [".md"] * 2 + [".tex"] * 2


def test_a_large_table_is_in_its_file_alone():
    run_of(RUNS, tables={"all": [{"a": i} for i in range(5000)]})
    text = texts()["org-m.html"]
    assert "Table all, 5,000 rows: CSV The table is too large for this page" in text
    lines = (OUT / "tables" / "org-m-mine-all.csv").read_text().splitlines()
    assert len(lines) == 5001


def test_the_brief_says_nothing_that_the_report_does_not(command):
    """But for its title and headings."""
    again = "lm_eval --model hf --tasks mine --system_instruction 'It is < 1'"
    run_of(RUNS, n=50, command=again)
    assert command("report", RUNS, "-o", OUT, "--no_figures", "--brief")[0] == 0
    pages = {path.name: path.read_text() for path in OUT.iterdir() if path.suffix}
    brief = Page(pages.pop("brief.html"))
    whole = " ".join(Page(page).text for page in pages.values())
    new = [text for chunk in brief.texts if (text := " ".join(chunk.split())) not in whole]
    assert new == [
        "org/m: implicit bias in brief",
        ", in brief",
        "What was asked, and why",
        "How sure it is",
        "Versions, and how to repeat it",
    ]
    assert again in brief.text and "Yes : 3.0 points above 0" in brief.text


# ---- Untrusted text


def attack(folder, drawing, **more):
    """The pages of a report in which every text that a person or a model may have written is
    hostile. One table has more columns than a sheet."""
    groups = [
        {"group": text, "gap": 3.0 - i, "gap_low": 2.0 - i, "gap_high": 4.0 - i}
        for i, text in enumerate(HOSTILE)
    ]
    wide = {f"{text[:12]} a_long_name_of_{i}": 12345.678 for i, text in enumerate(HOSTILE * 2)}
    tables = {"by_group": groups, HOSTILE[1]: groups, "wide": [wide] * 3}
    gap = (3.0, 1.0, 0, None)
    values = dict.fromkeys((HOSTILE[0][:60], "a_name_that_breaks_nowhere_in_a_heading"), gap)
    values["gap"] = (*gap, HOSTILE[0])
    names = ("org/" + HOSTILE[0], HOSTILE[2] + HOSTILE[3] + "m" * 200)
    for i, name in enumerate(names):
        asked = {"tables": tables, "samples": hostile.samples(), "minutes": i}
        run_of(folder / RUNS, name, values, **asked)
    odd = {"task": HOSTILE[0].replace("/", "-")[:40], "metadata": {"style": HOSTILE[0]}}
    run_of(folder / RUNS, names[0], minutes=5, n=50, **odd)
    columns = [Column("group", HOSTILE[0]), Column("gap", HOSTILE[3], "points")]
    words = {"caption": HOSTILE[4], "how_to_read": HOSTILE[0], "caveat": HOSTILE[2]}
    shown = TABLE._replace(columns=columns, **words)
    exhibits = (shown, shown._replace(name=HOSTILE[0], figure=None))
    known = {"mine": TaskInfo(HOSTILE[0], HOSTILE[1], "1", exhibits)}
    return reported(known, drawing, folder, **more)[1]


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacked")
    return folder / OUT, attack(folder, Drawn())


UNSEEN = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]"


def test_hostile_text_shows_as_text_in_html(attacked):
    _, pages = attacked
    assert len(pages) == 3
    for text in pages.values():
        page = Page(text)
        assert page.tags.count("script") == page.tags.count("style") == 1
        assert "img" not in page.tags and not page.handlers
        assert not [link for link in page.links if ":" in link or link.startswith("/")]
        assert not re.search(UNSEEN, text)
        assert "<script>window.hacked=1</script>" in page.text


def test_the_policy_allows_the_pages_own_sheet_and_script_alone(attacked):
    for text in attacked[1].values():
        policy = Page(text).policy
        for kind in ("style", "script"):
            content = re.search(rf"<{kind}>(.*?)</{kind}>", text, re.S)[1]
            checksum = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{checksum}';" in policy
        assert policy.startswith("default-src 'none';")
        assert not re.search(r"unsafe|\*|http", policy)


COMMANDS = (
    "begin end centering addtocounter clearpage caption label toprule midrule bottomrule setlength "
    "tabcolsep small resizebox ifdim else fi width linewidth pm dots textbackslash textless "
    "textgreater textbar textasciitilde textasciicircum textasciigrave textquotesingle infty"
)


def test_latex_prints_every_text(attacked):
    """No command but ours, balanced, and nothing that a row before or after would take for its
    argument."""
    files = list((attacked[0] / "tables").glob("*.tex"))
    assert len(files) > 5
    for file in files:
        text = re.sub(r"\A(%.*\n)+", "", file.read_text())  # after the comment
        assert set(re.findall(r"\\([A-Za-z]+)", text)) <= set(COMMANDS.split())
        plain = re.sub(r"\\[\\{}$&#%_]", "", text)
        assert plain.count("{") == plain.count("}") and plain.count("$") % 2 == 0
        assert not re.search(r"[#%~^\x00-\x09\x0b-\x1f\u202e]", plain)
        for table in text.split("\\begin{tabular}{@{}")[1:]:
            shape = table.partition("@{}}")[0]
            assert re.fullmatch("[lr]+", shape)
            for row in re.findall(r"^\{\}.*\\\\$", table, re.M):
                assert len(re.findall(r"(?<!\\)&", row)) == len(shape) - 1
        assert not re.search(r"^[\[*]", text, re.M)


def test_a_page_is_whole(attacked):
    """Every link leads to a file or a heading, ids stand once, headings leave out no level, tables
    have captions and heads."""
    out, pages = attacked
    for text in pages.values():
        page = Page(text)
        assert len(page.ids) == len(set(page.ids))
        for link in page.links:
            assert link[1:] in page.ids if link.startswith("#") else (out / link).is_file(), link
        assert page.headings[0] == 1 and page.headings.count(1) == 1
        assert all(b <= a + 1 for a, b in itertools.pairwise(page.headings))
        tables = {page.tags.count(tag) for tag in ("table", "caption", "thead")}
        assert len(tables) == 1 and 0 not in tables
        assert not re.search(r"<th(?! scope=|ead)", text)
        assert {"main", "nav", "header", "footer"} <= set(page.tags)
        assert 'lang="en"' in text and 'class="skip" href="#content"' in text


# ---- The folder


def test_without_the_extra_one_line_says_what_to_install(monkeypatch, command):
    run_of(RUNS)
    monkeypatch.setattr(page_figures, "find_spec", lambda name: None)
    asked = "report", RUNS, "-o", OUT
    status, _, error = command(*asked)
    assert status == 1 and error.splitlines()[-1] == (
        "lm-eval-bias: Figures are drawn by the extra `report`: pip install "
        "'lm-eval-bias[report]'. Or leave them out with --no_figures."
    )
    assert not OUT.exists()
    assert command(*asked, "--no_figures")[0] == 0
    assert (OUT / "index.html").exists()


def test_a_folder_of_other_things_is_refused(command):
    file = run_of(RUNS)
    status, _, error = command("report", RUNS, "-o", RUNS, "--no_figures")
    assert status == 1 and "holds other things (results_" in error and "folder" in error
    assert list(RUNS.iterdir()) == [file]


def test_a_list_of_files_that_somebody_changed_deletes_nothing_elsewhere(tmp_path):
    run_of(RUNS)
    reported()
    (tmp_path / "dear.html").write_text("x")
    (OUT / "dear.txt").write_text("x")
    with (OUT / ".lm-eval-bias-report").open("a") as file:
        file.write(f"../dear.html\n{tmp_path / 'dear.html'}\ndear.txt\n")
    reported()
    assert (tmp_path / "dear.html").exists() and (OUT / "dear.txt").exists()


# ---- Bad input


def test_odd_numbers_of_a_file_cost_no_page():
    """More digits than a float has, infinity, NaN, a truth value, a list of rows that have no
    column."""
    ends = {"a": 10**400, "a_low": -(10**400), "a_high": inf}
    odd = [{**ends, "b": nan, "c": True, "d": None, "e": 1e300}]
    run_of(RUNS, tables={"odd": odd, "empty": [], "none": [{}]})
    assert "Table odd" in texts()["org-m.html"]
