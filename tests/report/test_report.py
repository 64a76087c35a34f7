"""`lm-eval-bias report`: pages of made-up runs, what they say, and what they do with texts that
anybody may have written."""

import base64
import csv
import hashlib
import io
import json
import re
from html.parser import HTMLParser
from math import inf, nan

import pytest

from lm_eval_bias import cli
from lm_eval_bias.commands import finished
from lm_eval_bias.commands.report import expected
from lm_eval_bias.exhibit import Column, Exhibit, Figure, Rows
from lm_eval_bias.report import findings, page
from lm_eval_bias.report.page import KnownTask
from lm_eval_bias.results import runs
from tests import hostile
from tests.hostile import HOSTILE, run_of
from tests.scripted import MORNING, made_up

FIGURE = '<svg role="img" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><title>drawn</title></svg>'


class Drawn:
    """A drawing that keeps what it was asked for."""

    def __init__(self, reason=None, error=None):
        self.asked, self.reason, self.error = [], reason, error

    def drawable(self, exhibit, rows, model=None):
        return self.reason

    def svg(self, exhibit, rows, *, name, title, description, model=None):
        if self.error:
            raise self.error
        self.asked.append((exhibit.name, rows, title, model))
        return FIGURE

    def png(self, figure, *, title, scale=2):
        return b"\x89PNG\r\n\x1a\n"


TABLE = Exhibit(
    "Table 1",
    "By group",
    Rows("by_group"),
    [Column("group", "Group"), Column("gap", "Gap", "points"), Column("share", "Share", "%")],
    "A gap above 0 favours the group.",
    "It does not show why.",
    figure=Figure("bars", "group", "gap"),
)
BY_GROUP = [
    {
        "group": group,
        **dict(zip(("gap", "gap_stderr", "gap_low", "gap_high"), gap, strict=True)),
        **dict(zip(("share", "share_low", "share_high"), share, strict=True)),
    }
    for group, gap, share in (
        ("first", (3.0, 1.0, 1.0, 5.0), (40.0, 31.0, 52.0)),
        ("second", (-1.0, 0.0, nan, nan), (None, None, None)),
        ("third", (nan, 1.0, nan, nan), (0.0, -inf, 2.0)),
    )
]


def reported(folder, output, known=None, drawing=None, paper_values=lambda task: ()):
    found = runs.find([folder])
    written = page.write(found, known or {}, paper_values, ["mine", "other"], output, drawing)
    return written, {path.name: path.read_text(encoding="utf-8") for path in output.glob("*.html")}


def ours(*exhibits, **more):
    return {"mine": KnownTask("is one favoured", "Paper", "1", exhibits, **more)}


class Page(HTMLParser):
    """What a browser would make of a page, as far as the tests ask."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.headings, self.texts, self.handlers = (
            [],
            [],
            [],
            [],
            [],
            [],
        )
        self.feed(text)
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name.startswith("on") or name == "style":
                self.handlers.append((tag, name))
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src"):
                self.links.append(value)
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_data(self, data):
        self.texts.append(data)


# ---- What a page says


def test_numbers_stand_with_interval_and_n(tmp_path):
    """The interval of a column is that of NAME_low and NAME_high; NaN is none."""
    run_of(tmp_path / "runs", n=50, of=100, tables={"by_group": BY_GROUP})
    _, pages = reported(tmp_path / "runs", tmp_path / "out", ours(TABLE))
    text = Page(pages["org-m.html"]).text
    assert "is one favoured" in text and "Paper, Table 1" in text and "n = 50" in text
    assert "first 3.0 [1.0, 5.0] 40.0 [31.0, 52.0] second -1.0 – third – 0.0 [-∞, 2.0]" in text
    assert "A gap above 0 favours the group." in text and "It does not show why." in text
    assert (
        "asked 50 of 100 documents" in text
        and "asked 50 of 100 documents" in Page(pages["index.html"]).text
    )


def test_the_overview_counts_what_the_intervals_allow(tmp_path):
    """Two of three tests exclude their null value: 3 ± 1.96 from 0, and 60 with [52, 70] from
    50, 1.95996 * 10 / 8 = 2.4499 errors away; 1 ± 1.96 does not. No test are a share whose unbiased
    value is the end of its scale, and a habit."""
    own = {"ss": (60.0, None, 50, None)}
    values = {
        "gap": (3.0, 1.0, 0, None),
        "small": (1.0, 1.0, 0, None),
        "position_preference": (9.0, 1.0, 0, None),
        **own,
    }
    values["wrong"] = (30.0, 1.0, 0, None)
    path = run_of(tmp_path / "runs", values=values, ends={"ss": (52.0, 70.0)})
    content = json.loads(path.read_text())
    for row in content["configs"]["mine"]["cells"]["numbers"]:
        row["unit"] = "%" if row["metric"] in ("wrong", "ss") else "points"
    path.write_text(json.dumps(content))
    written, pages = reported(tmp_path / "runs", tmp_path / "out")
    said = " ".join(written.sentences)
    assert said.startswith(
        "In 2 of 3 tests the 95 % interval excludes the value of a model without bias."
    )
    strongest = "mine/gap 3.0 points [1.0, 5.0], 3.0 standard errors above 0"
    assert f"Strongest evidence: {strongest}." in said
    text = Page(pages["index.html"]).text
    assert (
        said.partition(" Strongest")[0] in text
        and f"Strongest evidence, surest first: {strongest}" in text
        and "mine/ss 60.0 % [52.0, 70.0], 2.4 standard errors above 50" in text
    )
    assert "no run has these: other" in text


def test_warned_runs_and_few_clusters_come_after_the_others(tmp_path):
    """Distances of 9 on four clusters, 5 in a run with a limit, 3 in a whole one, which is the
    strongest."""

    for i, (name, value, n) in enumerate(
        (("few", 9.0, 100), ("limited", 5.0, 10), ("whole", 3.0, 100))
    ):
        few = 4 if name == "few" else 40
        run_of(tmp_path, name, values={"gap": (value, 1.0, 0, None)}, minutes=i, n=n, clusters=few)
    found = runs.find([tmp_path]).runs
    tested = findings.tested(found)
    assert [test.run.model for test in findings.surest(tested)] == ["whole", "limited", "few"]
    said = " ".join(findings.sentences(tested, named=True))
    assert (
        "Strongest evidence: whole, mine/gap 3.0" in said
        and "1 of the 3 comes from a run with a warning." in said
    )
    assert "1 of 3 rests on fewer than 10 clusters" in said


def test_a_number_that_another_one_tests_is_no_test(tmp_path):
    """The gap of the empathy tasks is one question: delta does not count beside the gap in points,
    whose interval holds 0; nor does delta_corrected."""
    values = {name: (1.03, 0.34) for name in ("delta", "gap_points", "delta_corrected")}
    ends = {"gap_points": (-0.02, 2.1), "delta_corrected": (0.1, 9.0)}
    made_up(tmp_path, "m", values, task="empathy_religion", ends=ends)
    known = finished.known_tasks([])
    found = runs.find([tmp_path], known)
    tested = findings.tested(found.runs)
    assert [(test.metric.name, test.evidence) for test in tested] == [("gap_points", False)]


def test_what_does_not_say_on_how_many_clusters_it_rests_is_said(tmp_path):
    """Six events may be all that it asked."""
    run_of(tmp_path / "runs")
    written, _ = reported(tmp_path / "runs", tmp_path / "out")
    assert (
        "The number of clusters is unknown for 1 of 1, so some intervals may be too short."
        in " ".join(written.sentences)
    )


def test_without_a_test_nothing_is_claimed(tmp_path):
    run_of(tmp_path / "runs", values={"count": (3.0, None)})
    written, _ = reported(tmp_path / "runs", tmp_path / "out")
    assert written.sentences == [
        "No test: no primary number has both a value for a model without bias and an interval."
    ]


def test_no_interval_that_excludes_is_no_proof(tmp_path):
    run_of(tmp_path / "runs", values={"gap": (0.1, 1.0, 0, None)})
    written, _ = reported(tmp_path / "runs", tmp_path / "out")
    assert written.sentences[0].startswith("In 0 of 1 test ") and "no proof of no bias" in " ".join(
        written.sentences
    )


def test_an_exhibit_without_rows_says_what_is_missing(tmp_path):
    run_of(tmp_path / "runs")
    lacking = TABLE._replace(name="Table 2", needs="the option style=all")
    _, pages = reported(tmp_path / "runs", tmp_path / "out", ours(TABLE, lacking), Drawn())
    text = Page(pages["org-m.html"]).text
    assert (
        "This run left no rows for it." in text
        and "This run has no rows for it: it needs the option style=all." in text
    )
    assert "A gap above 0 favours" not in text and "<svg" not in pages["org-m.html"]


def test_an_exhibit_that_fails_costs_no_page(tmp_path):
    """Rows of another version, a function of a person's own, a figure that cannot be drawn."""
    run_of(tmp_path / "runs", tables={"by_group": BY_GROUP})
    fails = TABLE._replace(name="Broken", source=lambda tables: [{"x": tables["absent"]}])
    for drawing, told in (
        (Drawn(reason="no row has a number"), "no row has a number"),
        (Drawn(error=ValueError("odd")), "ValueError: odd"),
    ):
        _, pages = reported(tmp_path / "runs", tmp_path / "out", ours(TABLE, fails), drawing)
        text = Page(pages["org-m.html"]).text
        assert (
            "KeyError: 'absent'" in text
            and f"The figure could not be drawn: {told}" in text
            and "first 3.0" in text
        )


def test_figures_stand_in_the_page_and_beside_it(tmp_path):
    run_of(tmp_path / "runs", tables={"by_group": BY_GROUP})
    written, pages = reported(tmp_path / "runs", tmp_path / "out", ours(TABLE), drawing := Drawn())
    assert written.figures == 1 and pages["org-m.html"].count("<svg") == 1
    (svg,), (png,) = (
        list((tmp_path / "out" / "figures").glob(f"*.{ending}")) for ending in ("svg", "png")
    )
    assert svg.read_text() == FIGURE and png.read_bytes().startswith(b"\x89PNG")
    _, rows, title, model = drawing.asked[0]
    assert (
        title == "Paper, Table 1"
        and model is None
        and [row["group"] for row in rows] == ["first", "second", "third"]
    )


def test_models_that_were_asked_the_same_share_a_figure_and_others_do_not(tmp_path):
    for i, name in enumerate(("a", "b")):
        run_of(tmp_path / "runs", name, minutes=i, tables={"by_group": BY_GROUP})
    run_of(tmp_path / "runs", "c", minutes=2, version=2.0, tables={"by_group": BY_GROUP})
    apart = TABLE._replace(name="Table 3", figure=Figure("bars", "group", "gap", model=None))
    written, pages = reported(
        tmp_path / "runs", tmp_path / "out", ours(TABLE, apart), drawing := Drawn()
    )
    assert written.models == 3 and set(pages) == {"index.html", "a.html", "b.html", "c.html"}
    shared = [
        (name, [row["model"] for row in rows])
        for name, rows, _, model in drawing.asked
        if model == "model"
    ]
    assert shared == [("Table 1", ["a"] * 3 + ["b"] * 3)]
    assert (
        "a first 3.0 [1.0, 5.0]" in Page(pages["index.html"]).text
        and "mine (version 2)" in Page(pages["index.html"]).text
    )


def test_what_is_the_same_for_many_is_said_once(tmp_path):
    """How figures of one kind are read; what a limit left of each task; that all models were asked
    all; a unit that the title has."""
    percent = TABLE._replace(columns=[Column("group", "Group"), Column("share", "% wrong", "%")])
    other = TABLE._replace(name="Table 3", how_to_read="Otherwise.")
    for i, (model, task) in enumerate((m, t) for m in "ab" for t in ("mine", "yours")):
        run_of(
            tmp_path / "runs",
            model,
            task=task,
            minutes=i,
            n=50,
            of=1000,
            tables={"by_group": BY_GROUP},
        )
    _, pages = reported(
        tmp_path / "runs", tmp_path / "out", ours(TABLE, percent._replace(name="Table 2"), other)
    )
    text, overview = Page(pages["a.html"]).text, Page(pages["index.html"]).text
    assert (
        text.count("A gap above 0 favours the group.") == 1
        and "what it does not show: as Paper, Table 1 ." in text
        and "Otherwise." in text
    )
    assert (
        '<a href="#s-mine-table-1">Paper, Table 1</a>.' in pages["a.html"]
        and "% wrong<small>" not in pages["a.html"]
    )
    assert (
        "a , 2 tasks: asked a part of the documents: mine 50 of 1,000, yours 50 of 1,000"
        in overview
    )
    assert (
        "Each of the 2 models was asked all 2 tasks." in overview
        and "Which tasks each model was asked" not in overview
    )
    assert (
        "a : 2 of 2 tests; surest mine/gap 3.0 points [1.0, 5.0], 3.0 standard errors above 0; "
        "all from runs with a warning" in overview
    )


def test_a_heat_map_has_a_matrix_and_is_a_list_where_places_repeat(tmp_path):
    cells = [
        {"x": x, "y": y, "n": 10 * i + j}
        for i, y in enumerate(("u", "v"))
        for j, x in enumerate(("p", "q"))
    ]
    heat = Exhibit("Figure 2", "c", Rows("heat"), [Column("x", "To"), Column("y", "From"), Column("n", "Gap", "points")], "r", "s",
                   figure=Figure("heatmap", "x", "y", colour="n", order={"y": ("v", "u")}))  # fmt: skip
    for i, (table, told) in enumerate(
        (
            (cells, "From \\ To p q v 10.0 11.0 u 0.0 1.0"),
            ([*cells, cells[0]], "To From Gap points p u 0.0"),
        )
    ):
        run_of(tmp_path / str(i), tables={"heat": table})
        _, pages = reported(tmp_path / str(i), tmp_path / f"out{i}", ours(heat))
        assert told in Page(pages["org-m.html"]).text


def test_a_measure_without_exhibits_has_its_numbers_and_tables(tmp_path):
    run_of(tmp_path / "runs", tables={"by_group": BY_GROUP})
    _, pages = reported(tmp_path / "runs", tmp_path / "out")
    text = Page(pages["org-m.html"]).text
    assert (
        "All numbers, whole and by group: 1" in text
        and "Table by_group, 3 rows" in text
        and "first 3 [1, 5] 1 40 [31, 52]" in text
    )
    assert sorted(path.suffix for path in (tmp_path / "out" / "tables").iterdir()) == [
        ".csv",
        ".csv",
        ".tex",
        ".tex",
    ]


def test_a_large_table_is_in_its_file_alone_and_a_page_stays_small(tmp_path):
    many = [
        {
            "group": f"group {i} {'x' * 60}",
            "gap": float(i),
            "gap_low": i - 1.0,
            "gap_high": i + 1.0,
            "share": None,
        }
        for i in range(390)
    ]
    exhibits = [TABLE._replace(name=f"Table {i}") for i in range(60)]
    run_of(tmp_path / "runs", tables={"by_group": many, "all": [{"a": i} for i in range(5000)]})
    _, pages = reported(tmp_path / "runs", tmp_path / "out", ours(*exhibits))
    assert len(pages["org-m.html"].encode()) < 2_000_000
    text = Page(pages["org-m.html"]).text
    assert (
        "Its table has 5,000 rows, and stands in the CSV file alone." in text
        and "too large for this page" in text
    )
    assert (
        len(list(csv.reader((tmp_path / "out" / "tables" / "org-m-mine-all.csv").open(newline=""))))
        == 5001
    )


# ---- Untrusted text


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    """A report in which every text that a person or a model may have written is hostile."""
    folder = tmp_path_factory.mktemp("attacked")
    table = [{**BY_GROUP[0], "group": text} for text in HOSTILE]
    run_of(
        folder / "runs",
        "org/" + HOSTILE[0],
        tables={"by_group": table, HOSTILE[1]: table},
        samples=hostile.samples(),
    )
    run_of(
        folder / "runs",
        HOSTILE[2] + HOSTILE[3],
        task="mine",
        minutes=1,
        tables={"by_group": table},
        metadata={"style": HOSTILE[0]},
    )
    named = TABLE._replace(
        name=HOSTILE[0], caption=HOSTILE[4], how_to_read=HOSTILE[3], caveat=HOSTILE[0]
    )
    written, pages = reported(
        folder / "runs",
        folder / "out",
        {"mine": KnownTask(HOSTILE[0], HOSTILE[1], "1", (TABLE, named))},
        Drawn(),
    )
    return folder / "out", pages, written


def test_hostile_text_shows_as_text_in_html(attacked):
    _, pages, written = attacked
    assert len(pages) == 3
    for text in pages.values():
        found = Page(text)
        assert (
            found.tags.count("script") == found.tags.count("style") == 1
            and "img" not in found.tags
            and not found.handlers
        )
        assert not [link for link in found.links if ":" in link or link.startswith("/")]
        assert not re.search(
            r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", text
        )
    assert any(
        "<script>window.hacked=1</script>" in Page(text).text and "\\x1b[2J" in Page(text).text
        for text in pages.values()
    )
    assert not re.search(r"[\x00-\x1f\u202e]", " ".join(written.sentences))


def test_the_policy_allows_the_pages_own_sheet_and_script_alone(attacked):
    for text in attacked[1].values():
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1].replace(
            "&#39;", "'"
        )
        for kind in ("style", "script"):
            content = re.search(rf"<{kind}>(.*?)</{kind}>", text, re.S)[1]
            checksum = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{checksum}';" in policy
        assert (
            policy.startswith("default-src 'none';")
            and "unsafe" not in policy
            and "*" not in policy
            and "http" not in policy
        )


def test_no_cell_of_a_csv_starts_a_formula(attacked):
    files = list((attacked[0] / "tables").glob("*.csv"))
    assert len(files) > 5
    for file in files:
        raw = file.read_bytes()
        assert raw.endswith(b"\r\n") and b"\n" not in raw.replace(b"\r\n", b"")
        for row in csv.reader(io.StringIO(raw.decode(), newline="")):
            for cell in row:
                assert (
                    not cell
                    or re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell)
                    or cell.lstrip()[:1] not in "=+-@\t\r\n|%"
                ), (file, cell)
                assert not re.search(r"[\x00-\x1f\u202a-\u202e]", cell)


def test_latex_prints_every_text(attacked):
    """No command but ours, balanced, and nothing that a row before or after would take for its
    argument."""
    commands = {"begin", "end", "centering", "addtocounter", "linewidth", "smallskip", "caption", "label", "toprule", "midrule", "bottomrule", "pm", "dots", "textbackslash", "textquotedbl",
                "textless", "textgreater", "textbar", "textasciitilde", "textasciicircum", "textasciigrave", "textquotesingle", "infty"}  # fmt: skip
    files = list((attacked[0] / "tables").glob("*.tex"))
    assert len(files) > 5
    for file in files:
        text = re.sub(r"\A(%.*\n)+", "", file.read_text(encoding="utf-8"))  # after the comment
        assert set(re.findall(r"\\([A-Za-z]+)", text)) <= commands
        plain = re.sub(r"\\[\\{}$&#%_]", "", text)
        assert (
            plain.count("{") == plain.count("}")
            and plain.count("$") % 2 == 0
            and not re.search(r"[#%~^\x00-\x09\x0b-\x1f\u202e]", plain)
        )
        shape = re.findall(r"\\begin\{tabular\}\{([lr]+)\}", text)
        for row in re.findall(r"^\{\}.*\\\\$", text, re.M):
            assert len(re.findall(r"(?<!\\)&", row)) == len(shape[0]) - 1
        assert not re.search(r"^[\[*]", text, re.M)


def test_a_page_is_whole(attacked):
    """Every link leads to a file or a heading, ids stand once, headings leave out no level, tables
    have captions and heads."""
    out, pages, _ = attacked
    for text in pages.values():
        found = Page(text)
        assert len(found.ids) == len(set(found.ids))
        for link in found.links:
            assert link[1:] in found.ids if link.startswith("#") else (out / link).is_file(), link
        assert found.headings[0] == 1 and found.headings.count(1) == 1
        assert all(
            after <= before + 1
            for before, after in zip(found.headings, found.headings[1:], strict=False)
        )
        assert (
            found.tags.count("table")
            == found.tags.count("caption")
            == found.tags.count("thead")
            > 0
        )
        assert not re.search(r"<th(?! scope=|ead)", text)
        assert (
            {"main", "nav", "header", "footer"} <= set(found.tags)
            and 'lang="en"' in text
            and 'class="skip" href="#content"' in text
        )


# ---- The folder


def test_an_earlier_report_is_replaced_and_nothing_else_touched(tmp_path):
    for i, name in enumerate(("a", "b")):
        run_of(tmp_path / name, name, minutes=i)
    out = tmp_path / "new" / "out"
    assert set(reported(tmp_path / "a", out)[1]) == {"index.html", "a.html"}
    (out / "notes.txt").write_text("mine")
    assert set(reported(tmp_path / "b", out)[1]) == {"index.html", "b.html"}
    assert (out / "notes.txt").read_text() == "mine" and all(
        path.name.startswith("b-") for path in (out / "tables").iterdir()
    )


def test_a_folder_of_other_things_is_refused(tmp_path, capsys):
    run_of(tmp_path / "runs")
    before = sorted((tmp_path / "runs").iterdir())
    assert (
        cli.main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "runs"), "--no_figures"])
        == 1
    )
    assert (
        "holds other things (results_" in (said := capsys.readouterr().err)
        and "name a new folder" in said
    )
    assert sorted((tmp_path / "runs").iterdir()) == before
    assert cli.main(["report", str(tmp_path / "runs"), "-o", str(before[0]), "--no_figures"]) == 1
    assert "is a file; name a folder" in capsys.readouterr().err


def test_a_list_of_files_that_somebody_changed_deletes_nothing_elsewhere(tmp_path):
    run_of(tmp_path / "runs")
    reported(tmp_path / "runs", tmp_path / "out")
    (tmp_path / "dear.html").write_text("x")
    (tmp_path / "out" / "dear.txt").write_text("x")
    with (tmp_path / "out" / ".lm-eval-bias-report").open("a") as file:
        file.write(f"../dear.html\n{tmp_path / 'dear.html'}\ndear.txt\n")
    reported(tmp_path / "runs", tmp_path / "out")
    assert (tmp_path / "dear.html").exists() and (tmp_path / "out" / "dear.txt").exists()


def test_ids_of_exhibits_are_none_of_the_pages_own(tmp_path):
    run_of(tmp_path / "runs", tables={"by_group": BY_GROUP, "all": BY_GROUP})
    names = (
        "asked",
        "all",
        "missing",
        "Table",
        "Table 1",
        "Table-1",
        "numbers caption",
        "found",
        "caption",
    )
    _, pages = reported(
        tmp_path / "runs",
        tmp_path / "out",
        ours(*(TABLE._replace(name=name) for name in names)),
        Drawn(),
    )
    for text in pages.values():
        ids = Page(text).ids
        assert len(ids) == len(set(ids)) and set(
            re.findall(r'aria-labelledby="([^"]+)"', text)
        ) <= set(ids)


def test_models_whose_names_differ_in_signs_alone_have_pages_of_their_own(tmp_path):
    for i, name in enumerate(("org/m", "org-m", "Org/M", "index", "模型", "型模", "." * 3)):
        run_of(tmp_path / "runs", name, minutes=i)
    _, pages = reported(tmp_path / "runs", tmp_path / "out")
    assert len(pages) == 8 and len({name.lower() for name in pages}) == 8


# ---- Bad input, as a person meets it


def command(capsys, *arguments):
    status = cli.main(["report", *map(str, arguments), "--no_figures"])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_an_empty_folder_says_what_to_run(tmp_path, capsys):
    (tmp_path / "runs").mkdir()
    status, out, err = command(capsys, tmp_path / "runs", "-o", tmp_path / "out")
    assert (
        status == 1
        and not out
        and f"run lm_eval with --output_path {tmp_path / 'runs'} --log_samples" in err
    )
    assert not (tmp_path / "out").exists()


def test_a_run_without_samples_keeps_its_tables_and_says_what_to_add(tmp_path, capsys):
    run_of(tmp_path / "runs", tables={"by_group": BY_GROUP})
    assert command(capsys, tmp_path / "runs", "-o", tmp_path / "out")[0] == 0
    text = Page((tmp_path / "out" / "org-m.html").read_text()).text
    assert "run with --log_samples" in text and "Table by_group" in text


def test_a_truncated_line_is_skipped_and_said(tmp_path, capsys):
    asked = [
        {
            "doc_id": i,
            "arguments": {"gen_args_0": {"arg_0": f"prompt {i}", "arg_1": {}}},
            "resps": [["yes"]],
        }
        for i in range(3)
    ]
    path = run_of(tmp_path / "runs", samples=asked)
    (file,) = path.parent.glob("samples_*.jsonl")
    file.write_text(file.read_text()[:-20])
    assert command(capsys, tmp_path / "runs", "-o", tmp_path / "out")[0] == 0
    text = Page((tmp_path / "out" / "org-m.html").read_text()).text
    assert (
        "1 of the 3 lines that were looked at is no whole JSON, and skipped" in text
        and "prompt 0" in text
        and "prompt 1" in text
    )
    assert "its last line is cut off" in Page((tmp_path / "out" / "index.html").read_text()).text


def test_samples_of_an_older_version_are_said(tmp_path, capsys):
    run_of(tmp_path / "runs", samples=[{"doc_id": 1, "records": {"a": 1}}])
    assert command(capsys, tmp_path / "runs", "-o", tmp_path / "out")[0] == 0
    assert (
        "samples of another version, without questions and answers"
        in Page((tmp_path / "out" / "org-m.html").read_text()).text
    )


def test_of_two_runs_the_newest_counts_and_tasks_of_the_harness_are_listed(tmp_path, capsys):
    run_of(tmp_path / "runs", values={"gap": (1.0, 1.0, 0, None)})
    run_of(tmp_path / "runs", values={"gap": (9.0, 1.0, 0, None)}, minutes=1)
    path = run_of(tmp_path / "runs", task="hellaswag", minutes=2)
    content = json.loads(path.read_text())
    del content["configs"]["hellaswag"]["cells"]
    path.write_text(json.dumps(content))
    status, out, err = command(capsys, tmp_path / "runs", "-o", tmp_path / "out")
    assert (
        status == 0
        and "9.0" in out
        and out.endswith("1 model, 1 task, 0 figures\n")
        and "is not shown" in err
    )
    text = Page((tmp_path / "out" / "index.html").read_text()).text
    assert "is newer" in text and "hellaswag of org/m" in text and "9.0" in text


def test_a_broken_results_file_is_a_note(tmp_path, capsys):
    run_of(tmp_path / "runs")
    (tmp_path / "runs" / f"results_{MORNING:%Y-%m-%d}T11-11-11.5.json").write_text('{"configs": ')
    status, _, err = command(capsys, tmp_path / "runs", "-o", tmp_path / "out")
    assert status == 0 and "no whole JSON file" in err


def test_odd_numbers_of_a_file_cost_no_page(tmp_path, capsys):
    """More digits than a float has, infinity, NaN, a truth value, a list of rows that have no
    column."""
    odd = [
        {
            "a": 10**400,
            "a_low": -(10**400),
            "a_high": float("inf"),
            "b": float("nan"),
            "c": True,
            "d": None,
            "e": 1e300,
        }
    ]
    run_of(tmp_path / "runs", tables={"odd": odd, "empty": [], "none": [{}]})
    assert command(capsys, tmp_path / "runs", "-o", tmp_path / "out")[0] == 0
    assert "Table odd" in (tmp_path / "out" / "org-m.html").read_text()


def test_the_default_tasks_are_those_of_the_group():
    assert len(expected()) == len(set(expected())) > 5
