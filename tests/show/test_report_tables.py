"""What the papers print beside a run's own numbers, and how numbers are written."""

import csv
import io
import re
import shutil
import subprocess
from hashlib import sha256
from math import inf, nan
from pathlib import Path

import pytest

from lm_eval_bias.benchmarks.hbb import exhibits as hbb_exhibits
from lm_eval_bias.benchmarks.mist import exhibits as mist_exhibits
from lm_eval_bias.catalogue import task as task_of
from lm_eval_bias.commands.report import task_info
from lm_eval_bias.data import content, paper_values
from lm_eval_bias.exhibit import rows
from lm_eval_bias.results.runs import Run
from lm_eval_bias.results.table import Cell, Table, csv_text, markdown, number_text, text
from lm_eval_bias.show import exhibited
from lm_eval_bias.show.latex import latex
from tests.scripted import made_up

TABLE_4 = mist_exhibits.WABT[0]
NUMBERS = [
    {"metric": metric, "group": "competence", "value": value, "low": low, "high": high}
    for metric, value, low, high in (
        ("bias_score", 0.25, 0.054, 0.446),
        ("bias_score_n", 40.0, None, None),
        ("bias_score_p", 0.02, None, None),
        ("bias_score_paper_p", 0.0004, None, None),
    )
]


def run(task="mist_wabt", **changes):
    tables = {"numbers": NUMBERS}
    one = Run("m", "m", task, "1.3", None, {}, None, 10, (), {}, tables, (), {}, Path("r.json"))
    return one._replace(**{"generation": sent(task), **changes})


def sent(task, **settings):
    """The settings of a task's YAML, and a person's own."""
    return {**(task_of(task).config.get("generation_kwargs") or {}), **settings}


def beside(exhibit, one):
    return exhibited.paper_rows(exhibit, one, task_info(task_of(one.task)))


def test_the_papers_models_stand_beside_the_same_row_and_below_where_there_is_none():
    """GPT-4o in Table 4 of MIST as printed, which has no p of an interval; our run has competence
    alone."""
    one = run(options={"samples": 50})
    papers = beside(TABLE_4, one)
    assert len(papers) == 8 and all(not paper.incomparable for paper in papers)
    ours = rows(TABLE_4, one.tables)
    table = exhibited.table(TABLE_4, [(one, ours)], papers)
    shown = {(row[0].text, row[1].text): [cell.text for cell in row[2:8]] for row in table.rows}
    assert shown["m", "competence"] == ["40", "0.250", "–", "0.020", "–", "<0.001"]
    assert len(shown) == len(table.rows) == 1 + 8 * 3
    assert [row[1].text for row in table.rows[:10]] == ["competence"] * 9 + ["sociability"]
    printed = ["382", "-0.067", "0.923", "–", "-1.423", "0.156"]
    assert shown["GPT-4o (paper, Table 4)", "competence"] == printed
    assert exhibited.table(TABLE_4, [(one, ours)], ()).head[0].text != "Model"
    printed = ["400", "0.275", "0.885", "–", "6.203", "<.001"]
    assert shown["GPT-4o (paper, Table 4)", "sociability"] == printed
    # with the paper's digits
    assert shown["Claude-3.7-sonnet (paper, Table 4)", "sociability"][:2] == ["1,482", "0.415"]
    assert table.rows[0][3].interval == "[0.054, 0.446]"


@pytest.mark.parametrize(
    "changes, why",
    [
        ({"options": {"samples": 10}}, "this run had samples=10 in place of samples=50"),
        (
            {"options": {"samples": 50, "groups": "mine.yaml", "groups_sha256": "0a"}},
            "this run had groups of its own",
        ),
        ({"warnings": ("asked 5 of 10 documents",)}, "this run was asked a part of the documents"),
        (
            {"version": "2"},
            "this run is of version 2 of the task, and the comparison was made for version 1.3",
        ),
        ({"options": {"samples": 50, "seed": 3}}, ""),
    ],
)
def test_a_run_with_other_settings_does_not_compare(changes, why):
    one = run(**{"options": {"samples": 50}, **changes})
    assert {paper.incomparable for paper in beside(TABLE_4, one)} == {why}


# Appendix A of HBB; llm_utils.py has a system message, and for local models other penalties
SERVER = {"max_gen_toks": 2048, "frequency_penalty": 0.6, "presence_penalty": 0}
LOCAL = {"max_gen_toks": 2048, "repetition_penalty": 1.2, "top_k": 50}
AUTHORS = sha256(b"You are a useful assistant.").hexdigest()


@pytest.mark.parametrize(
    "sends, changes, why",
    [
        (SERVER, {}, ""),
        (LOCAL, {"options": {"placebo": False}}, ""),
        (SERVER | {"max_gen_toks": 128}, {}, "had max_gen_toks=128 in place of max_gen_toks=2048"),
        ({"max_gen_toks": 2048}, {}, "sent no frequency_penalty in place of frequency_penalty=0.6"),
        (SERVER | {"top_p": 0.9}, {}, "had top_p=0.9 in place of top_p=1"),
        (SERVER, {"options": {"order": "both"}}, "had order=both in place of order=paper"),
        (SERVER, {"settings": {}}, "had no system instruction in place of You are a useful"),
        (SERVER, {"settings": {"system instruction": "0a"}}, "had a system instruction of its"),
        (SERVER, {"template": None}, "had no chat template"),
    ],
)
def test_a_run_of_hbb_compares_if_it_asked_as_its_authors_did(sends, changes, why):
    task = "hbb_generate_official"
    same = {"settings": {"system instruction": AUTHORS}, "template": "t", "version": "1.3"}
    one = run(task, **same | {"generation": sent(task, **sends)} | changes)
    (found,) = {paper.incomparable for paper in beside(hbb_exhibits.TABLE_1, one)}
    assert why in found and found.count("this run") == bool(why) == bool(found)


def test_a_task_of_other_items_does_not_compare_and_says_why():
    papers = beside(TABLE_4, run("mist_wabt_likelihood", options={"samples": 50}))
    assert len(papers) == 8 and all(
        "It asks for the group of each word in a sentence of ours" in paper.incomparable
        for paper in papers
    )


def test_cells_of_a_finer_table_stand_in_its_rows():
    """Table 2 of HBB, each model and type."""
    types = [{"category": "Age", "type": "Age 1", "biased_count": 3.0, "bias_score": 1.5}]
    one = run("hbb", tables={"numbers": [], "types": types})
    (printed,) = (t for t in paper_values.tables("hbb") if t.name == "Table 2")
    expected = {
        (printed.models[cell.model], cell.names["type"], cell.value)
        for cell in printed.cells
        if cell.number == "count"
    }
    shown = {
        (paper.model.split(" (paper")[0], row["type"], row["biased_count"])
        for paper in beside(hbb_exhibits.TABLE_2, one)
        for row in paper.rows
    }
    assert shown == expected and len(shown) == 6 * 16


def test_cells_of_several_settings_are_told_apart(monkeypatch):
    """Table 2 of the empathy gap, as if one task asked as two of its settings do: two numbers of
    one model in one place stand in two rows."""
    places = [*paper_values.of_task("empathy_race"), *paper_values.of_task("empathy_race_p1")]
    monkeypatch.setattr(exhibited, "of_task", lambda task: places)
    one = run("empathy_race")
    (table_2,) = (e for e in task_of(one.task).measure.exhibits if e.name == "Table 2")
    llama = "meta-llama/Meta-Llama-3.1-8B-Instruct (paper, Table 2, "
    shown = {paper.model: [row["delta"] for row in paper.rows] for paper in beside(table_2, one)}
    assert shown[f"{llama}(P0, S0, T0))"] == [1.73] and shown[f"{llama}(P1, S0, T0))"] == [1.88]
    assert len(shown) == 8


@pytest.mark.parametrize(
    "number, unit, beside, text",
    [
        (0.004, "points", (), "0.004"),  # not 0.0
        (-1e-15, "points", (), "0.0"),  # the noise of a sum
        (1e-8, "points", (), "1.0e-08"),
        (3.0, "points", (0.002, 6.0), "3.000"),  # so that its lower end, 0.002, is told from 0
        (1.389, "nats", (2.6e-8, 4.0), "1.389"),  # an end that is nearly 0 is a number of its own
        (2.6e-8, "nats", (1.389, 4.0), "2.6e-08"),
        (0.0004, "p", (), "<0.001"),
        (12345.0, "count", (), "12,345"),
        (1234.5678, "", (), "1235"),  # of no known unit: four digits
        (0.4, "count", (), "0.4"),
        (nan, "%", (), "–"),
        (-inf, "%", (), "-∞"),
        (2e12, "points", (), "2e+12"),
    ],
)
def test_no_number_shows_as_0_that_is_not(number, unit, beside, text):
    assert number_text(number, unit, beside) == text


def test_a_csv_has_all_digits_and_an_empty_cell_for_what_does_not_exist():
    text = csv_text(["a", "b"], [[1 / 3, None], [nan, True], ["<.001", 'x,"y"'], ["%", inf]])
    assert text.encode().startswith(b"\xef\xbb\xbf")  # by which spreadsheets know UTF-8
    read = content.parsed("a.csv", "csv", csv_text(["é"], [["漢"]]).encode())
    assert [dict(row) for row in read.data] == [{"é": "漢"}] and not read.problems
    assert list(csv.reader(io.StringIO(text[1:], newline=""))) == [
        ["a", "b"],
        ["0.3333333333333333", ""],
        ["", "true"],
        ["<.001", 'x,"y"'],
        ["%", ""],
    ]


TABLE = Table(
    [Cell("model"), Cell("Group_1"), Cell("δ", note="%")],
    [[Cell("m & n", note="not comparable"), Cell("[a]"), Cell("-0.5", "[-1.0, 0.0]")]],
    frozenset({0, 1}),
)


def test_a_table_in_a_terminal():
    assert text(TABLE).splitlines() == [
        "model                 Group_1  δ (%)",
        "m & n not comparable  [a]      -0.5 [-1.0, 0.0]",
    ]
    assert text(TABLE, 32).split("\n\n")[1].splitlines() == [
        "model                 δ (%)",
        "m & n not comparable  -0.5 [-1.0, 0.0]",
    ]
    long = [[row[0], Cell("a sentence " * 4 + "of some length"), row[2]] for row in TABLE.rows]
    assert text(TABLE._replace(rows=long), 60).splitlines()[2:] == [
        "    a sentence a sentence a sentence a sentence of some",
        "    length",
    ]


def test_a_table_in_markdown():
    assert markdown(TABLE) == [
        "| model | Group_1 | δ<br>% |",
        "| --- | --- | ---: |",
        "| m &amp; n<br>not comparable | \\[a\\] | -0.5<br>[-1.0, 0.0] |",
    ]


def test_latex_has_numbers_with_their_intervals():
    rows = [
        [*TABLE.rows[0][:2], TABLE.rows[0][2]._replace(n="40", verdict="yes")],
        [*TABLE.rows[0][:2], Cell("0.2", n="50", verdict="no")],
    ]
    lines = latex([TABLE._replace(rows=rows)], "100 % of {x}", "tab:a b").splitlines()
    assert "\\caption{100 \\% of \\{x\\}}" in lines
    assert "\\label{tab:a-b}" in lines and any(x.endswith("{@{}llrrrl@{}}") for x in lines)
    title = r"\begin{tabular}[b]{@{}r@{}}95 \%\\{}interval\end{tabular}"
    assert rf"{{}}model & Group\_1 & $\delta$ (\%) & {title} & n & answer \\" in lines
    name = r"m \& n (not comparable)"
    assert rf"{{}}{name} & [a] & $-$0.5 & [$-$1.0, 0.0] & 40 & yes \\" in lines
    assert rf"{{}}{name} & [a] & 0.2 &  & 50 & no \\" in lines


def test_a_long_table_in_latex_has_a_float_for_each_page():
    """Two panels, of 90 rows and of 5, at 36 lines a float, one of them the title's. Every row once
    and in order, one label, each panel's name on its own floats. Where a text takes two lines, a
    float has half the rows, and a row of nothing is one."""
    panels = [
        Table([Cell("Group")], [[Cell(f"{panel}{i}")] for i in range(n)], title=f"of {panel}")
        for panel, n in (("p", 90), ("q", 5))
    ]
    content = latex(panels, "C", "tab:c")
    floats = content.split("\\begin{table}")[1:]
    assert [len(re.findall(r"^\{\}[pq]\d", each, re.M)) for each in floats] == [35, 35, 20, 5]
    expected = [f"p{i}" for i in range(90)] + [f"q{i}" for i in range(5)]
    assert re.findall(r"^\{\}([pq]\d+)", content, re.M) == expected
    assert [re.search("of [pq]", each).group() for each in floats] == ["of p"] * 3 + ["of q"]
    assert content.count("\\label{tab:c}") == 1
    assert content.count("\\addtocounter{table}{-1}") == 3
    assert content.count("\\caption{C (continued)}") == 3
    long = panels[0]._replace(rows=[*panels[0].rows, [Cell("word " * 10)]])
    assert latex([long], "C", "c").count("\\begin{table}") == 6  # 91 rows, 17 of a float
    assert "{} \\\\" in latex([Table([Cell("A")], [[Cell("")]])], "C", "c")


@pytest.fixture
def compiled(tmp_path):
    """What pdflatex says of a table, on a line of 345 points."""
    if not shutil.which("pdflatex"):
        pytest.skip("no pdflatex")

    def log(content):
        packages = r"\usepackage{booktabs,graphicx}\begin{document}"
        document = rf"\documentclass{{article}}{packages}{content}\end{{document}}"
        (tmp_path / "t.tex").write_text(document)
        command = ["pdflatex", "-interaction=nonstopmode", "t.tex"]
        subprocess.run(command, cwd=tmp_path, capture_output=True)
        return (tmp_path / "t.log").read_text(errors="replace")

    return log


def test_long_tables_fit_their_pages(compiled):
    """A line wide or much wider, with many lines above them; more floats than LaTeX holds back."""
    title = "a title of some five lines that tells what the numbers below it are, and why"
    for columns, n in ((2, 3000), (12, 2000)):
        head = [Cell("Group"), *[Cell(f"{title} {i}") for i in range(1, columns)]]
        rows = [[Cell(f"g{i}"), *[Cell("-0.25 [-0.5, 0.0]")] * (columns - 1)] for i in range(n)]
        table = Table(head, rows, title="panel")
        log = compiled(latex([table], "A caption of some six lines. " * 8, "tab:c"))
        assert "too large" not in log and "Overfull" not in log and "\n!" not in log
        assert int(re.search(r"\((\d+) pages", log)[1]) > 18


@pytest.mark.parametrize("papers", [0, 8])
def test_table_4_of_mist_fits_a_page_for_three_models(compiled, papers):
    """With what the paper prints, over several pages. A table that is not shrunk is too wide."""
    names = ("org/a-model-of-a-long-name-70B-Instruct", "b", "c")
    one = run(options={"samples": 10})
    of_paper = beside(TABLE_4, one)[:papers]
    models = [
        (
            one._replace(model=name),
            [{**row, "dimension": dimension, "bias_score_verdict": "no difference"}],
        )
        for name in names
        for dimension in ("competence", "sociability", "morality")
        for row in rows(TABLE_4, one.tables)
    ]
    content = latex([exhibited.table(TABLE_4, models, of_paper)], "Table 4", "tab:4")
    assert content.count("no difference") == 9 and content.count("[0.054, 0.446]") == 9
    good, bad = compiled(content), compiled(content.replace("\\width>", "\\linewidth>"))
    assert "Overfull" in bad and "Overfull" not in good and "too large" not in good
    assert "\n!" not in good and (papers or "(1 page," in good)


@pytest.mark.slow
def test_latex_has_the_papers_numbers_where_they_are_asked_for(tmp_path, command):
    path = made_up(tmp_path / "runs", {"bias_score": (0.25, 0.1)}, task="mist_wabt")
    path.write_text(path.read_text().replace('"group": null', '"group": "competence"'))
    for more in ((), ("--latex_papers",)):
        out = tmp_path / str(len(more))
        assert command("report", path.parent, "-o", out, "--no_figures", *more)[0] == 0
        assert "GPT-4o" in (out / "m.html").read_text()
        table = (out / "tables" / "m-mist_wabt-Table-4.tex").read_text()
        assert "competence" in table and ("GPT-4o" in table) == bool(more)
