"""The results that four papers print, each number against the paper's text, and what of ours each
is compared with."""

import itertools
import re
from collections import defaultdict

import pytest

from lm_eval_bias import catalogue
from lm_eval_bias.data.paper_values import papers, tables as paper_tables, tables_of

TEXTS = {"mist": "mist", "hbb": "hbb", "empathy": "empathy_gap", "bistereo": "bistereo"}
TABLES = {(name, table.name): table for name in TEXTS for table in paper_tables(name)}
PAPERS = {table.paper for table in TABLES.values()}

# ---- What the papers' texts have


@pytest.fixture(scope="module")
def texts(paper_text):
    """The lines of each paper. That of HBB writes GPT-40 for GPT-4o throughout, with a zero."""
    found = {name: paper_text(file).split("\n") for name, file in TEXTS.items()}
    return {**found, "hbb": [line.replace("GPT-40", "GPT-4o") for line in found["hbb"]]}


def rows_below(lines, heading, end=""):
    """The rows, of tab-separated cells, below the line that is `heading`, up to one that begins
    with `end` or is empty."""
    rows = itertools.takewhile(
        lambda line: line and not (end and line.startswith(end)), lines[lines.index(heading) + 1 :]
    )
    return [row.split("\t") for row in rows]


def plain(rows):
    """Rows of a model and its numbers."""
    return {(model,): cells for model, *cells in rows}


def mist_4(lines):
    found, model = {}, None
    for row in rows_below(lines, "Models\tDimension\t$n$\tMean\tStd\t$t$\t$p$"):
        model = row[0].replace("LlaMa", "LLaMa") or model  # written so elsewhere
        found[model, row[1]] = row[2:]
    return found


def mist_5(lines):
    heading = "\tComedy\tTragedy\tNeutrality\tComedy\tTragedy\tNeutrality"
    assert lines[lines.index(heading) - 1] == "Models\t$S_a$\t\t\t$S_b$\t\t"
    return plain(rows_below(lines, heading))


def hbb_1(lines):
    head = (
        "Model\t$\\mathrm{HBB}(\\mathcal{S}\\downarrow)$\tHBB (count "
        "$\\downarrow)$\tBBQ-ambig (0)\tBBQ-disambig (\\uparrow)\tCS (50)\tSC-intra "
        "(†)\tSC-inter (\\uparrow)"
    )
    return plain(rows_below(lines, head))


def of_models(lines, start, end=""):
    """The models in a heading that begins so, and the rows below it."""
    heading = next(line for line in lines if line.startswith(start))
    return heading.split("\t")[2:], rows_below(lines, heading, end)


def hbb_2(lines):
    """A row holds all types of a category, each cell a count and a score for each of them."""
    models, rows = of_models(lines, "Category (total)\tТуре\t", "Table 2")
    found = {}
    for category, types, *cells in rows:
        names = re.findall(r"\w+ \d", types)
        for model, cell in zip(models, cells, strict=True):
            numbers = re.sub("[()]", "", cell).split(" ")
            assert len(numbers) == 2 * len(names)
            for i, name in enumerate(names):
                found[model, category.split(" ")[0], name] = numbers[2 * i : 2 * i + 2]
    return found


def hbb_9(lines):
    models, rows = of_models(lines, "Category\tType (Total)\t")
    found, category = {}, None
    for row in rows:
        category = row[0] or category
        for model, cell in zip(models, row[2:], strict=True):
            found[model, category, row[1].split(" (")[0]] = cell.rstrip(")").split(" (")
    return found


OF_EMPATHY = ["Llama-3.1-8B", "Mistral-7B", "Qwen-2-7B", "Llama-3.1-70B"]
CATEGORIES = ["Race or Ethnicity", "Nationality", "Religion"]


def by_setting(pattern, number, models=OF_EMPATHY):
    """A reader of the rows above a caption, which have one match of the pattern for each setting of
    their heading."""

    def read(lines):
        end = next(i for i, line in enumerate(lines) if line.startswith(f"Table {number}:"))
        names = [*itertools.product(models, CATEGORIES)]
        heading, *rows = lines[end - len(names) - 1 : end]
        settings = re.findall(r"\(.*?\)", re.sub(", *", ", ", heading))
        found = {}
        for (model, category), row in zip(names, rows, strict=True):
            before, _, cells = row.partition(f"{category} ")
            assert before in ("", f"{model} ")
            for setting, match in zip(settings, re.finditer(pattern, cells), strict=True):
                found[model, category, setting] = [
                    group.replace(" ", "") for group in match.groups()
                ]
        return found

    return read


def bistereo_2(lines):
    start = lines.index("$\\textbf{Model} \\rightarrow$\t% biased preferences\t\t\t")
    _, *models = lines[start + 1].split("\t")
    return {
        (model, row[0]): [cell]
        for row in rows_below(lines, lines[start + 1])
        for model, cell in zip(models, row[1:], strict=True)
    }


DEVIATION = r"(?<!\S)(\d+\.\d+)±plus-or-minus\\pm±([\d.]+)(?!\S)"
EXTREMES = r"\((-?[\d.]+), (-?[\d.]+)\)"
READERS = {
    ("mist", "Table 4"): mist_4,
    ("mist", "Table 5"): mist_5,
    ("hbb", "Table 1"): hbb_1,
    ("hbb", "Table 2"): hbb_2,
    ("hbb", "Table 6"): lambda lines: plain(
        rows_below(lines, "Model\tHBB\tBBQ-ambig\tBBQ-disambig\tCS\tSC-intra\tSC-inter")
    ),
    ("hbb", "Table 8"): lambda lines: plain(
        rows_below(lines, "Model\tBias score (\\downarrow)\tCount (\\downarrow)")
    ),
    ("hbb", "Table 9"): hbb_9,
    ("empathy", "Table 2"): by_setting(
        r"(-?\d\.\d\d) start_POSTSUBSCRIPT \[ (- [\d.]+) , ([\d.]+) \] end", 2
    ),
    ("empathy", "Table 3"): by_setting(r"(?<!\S)(\d+\.\d+)±([\d.]+)subscript", 3, OF_EMPATHY[:1]),
    ("empathy", "Table 6"): by_setting(r"(?<!\S)([\d.]+%\*?)(?!\S)", 6),
    **{
        ("empathy", f"Table {n}"): by_setting(DEVIATION, n, [model])
        for n, model in zip((8, 10, 12), OF_EMPATHY[1:], strict=True)
    },
    **{
        ("empathy", f"Table {n}"): by_setting(EXTREMES, n, [model])
        for n, model in zip((7, 9, 11, 13), OF_EMPATHY, strict=True)
    },
    ("bistereo", "Table 2"): bistereo_2,
}
# What a section says, with our numbers by their place.
SAID = {
    ("hbb", "Section 4.2.2"): ["BBQ ambiguous score as {0},", "with an bias score of {1}. Refers"],
    ("empathy", "Section 4"): [  # each number stands four times in a row there
        "ranges from {3}{3}{3}{3} (Llama-70B) to {0}{0}{0}{0} (Llama-8B), with Mistral "
        "({1}{1}{1}{1}) and Qwen ({2}0{2}0{2}0{2}0) in the middle"
    ],
    ("bistereo", "Section 4.1.2"): [
        "preference ({0}%) for fairskinned women when sentiment is positive, this reduces to {1}%",
        "Its preference for fair-skinned women in positive context, {2}%, and {4}% in negative",
        " {3}% in positive context and it is {5}% in negative context",
    ],
    ("bistereo", "Section 4.2.1"): [
        "%E of Llama3.1 for fair-skinned women with attractiveness attributes is {0}%;",
        "%C for fair-skinned women with unattractiveness attributes is {1}%.",
    ],
}
REPAIRED = {"000807": -0.000807, ".18.73": 18.73}


def meant(printed):
    return REPAIRED[printed] if printed in REPAIRED else float(printed.strip("<%*"))


def row_of(table, cell):
    return (cell.model, *(table.axes[axis][name] for axis, name in cell.names.items()))


def wrong(cell, printed):
    """Whether a cell is not what is printed: in value, or in what is told of how it is printed."""
    odd = printed in REPAIRED or re.search(r"[<*]", printed)
    return cell.value != meant(printed) or cell.printed != (printed if odd else None)


def beside_print(table, printed):
    """(cell, what is printed there), cell by cell, in the order of either."""
    ours = defaultdict(list)
    for cell in table.cells:
        ours[row_of(table, cell)].append(cell)
    assert set(ours) == set(printed)
    return [both for row, cells in ours.items() for both in zip(cells, printed[row], strict=True)]


@pytest.mark.parametrize("key", SAID, ids=" ".join)
def test_every_number_of_a_section_is_the_one_that_it_says(texts, key):
    numbers = [cell.value for cell in TABLES[key].cells]
    text = " ".join(texts[key[0]])
    assert {*re.findall(r"{(.)}", "".join(SAID[key]))} == {*map(str, range(len(numbers)))}
    assert [phrase for phrase in SAID[key] if phrase.format(*numbers) not in text] == []


@pytest.mark.parametrize("key", READERS, ids=" ".join)
def test_every_number_is_the_one_that_stands_in_its_row_and_column(texts, key):
    both = beside_print(TABLES[key], READERS[key](texts[key[0]]))
    assert [cell for cell, printed in both if wrong(cell, printed)] == []


def test_all_tables_are_read_and_in_the_order_of_print():
    assert TABLES.keys() == READERS.keys() | SAID.keys()
    # whose numbers test_stereomap_data.py compares with its text
    assert papers() == sorted([*TEXTS, "stereomap"])
    assert {"MIST", "HBB", "empathy gap", "BIStereo"} == PAPERS


@pytest.mark.parametrize("key", TABLES, ids=" ".join)
def test_numbers_are_in_the_order_of_their_columns(key):
    """The rows above are compared by column; so in each row the cells stand in the order of
    `numbers`, each at most once."""
    table = TABLES[key]
    order = list(table.numbers)
    for _, cells in itertools.groupby(table.cells, key=lambda cell: row_of(table, cell)):
        places = [order.index(cell.number) for cell in cells]
        assert places == sorted(set(places))
    assert len({(row_of(table, cell), cell.number) for cell in table.cells}) == len(table.cells)


# ---- What of ours they are compared with


TASKS = catalogue.by_name()
COMPARED = [
    (table, cell, comparison)
    for table in TABLES.values()
    for cell in table.cells
    for comparison in cell.comparisons
]
HARNESS = {"bbq_ambig", "bbq_disambig", "crows_pairs_english"}


def test_every_task_of_the_four_benchmarks_that_asks_what_a_paper_prints_is_compared():
    """All tasks of these papers but those whose tables print nothing: the other axes of the pairs,
    and behaviour."""
    without = {name for name in TASKS if re.fullmatch("bistereo_nli.*behaviour", name)}
    without |= {f"bistereo_{name}" for name in ("pairs_shape", "pairs_height", "nli_men")}
    without.add("bistereo_nli_men_looks")
    ours = {name for name, task in TASKS.items() if task.paper in PAPERS}
    # the tasks of one category, for which Tables 1 and 8 have no row of their own, have Tables 2
    # and 9
    assert ours - {comparison.task for _, _, comparison in COMPARED} == without


def test_each_comparison_has_a_sentence_that_says_why():
    for _, _, comparison in COMPARED:
        assert comparison.comparable in (True, False)
        assert re.fullmatch(r"[A-Z][^.]*(\.\w[^.]*)*\.", comparison.why), comparison.why


def test_metrics_are_numbers_of_the_task_of_the_same_unit_and_cite_the_table():
    seen = set()
    for table, cell, comparison in COMPARED:
        if comparison.task in HARNESS or cell.metric is None:
            continue
        measure = TASKS[comparison.task].measure
        metric = measure.metric(cell.metric)
        assert metric.unit == cell.unit
        like = {"8": "3", "10": "3", "12": "3", "9": "7", "11": "7", "13": "7"}
        number = table.name.removeprefix("Table ")
        number = like.get(number, number) if table.paper == "empathy gap" else number
        cited = metric.cell
        assert number in re.findall(r"\d+", cited), (metric.name, cited, table.name)
        assert cell.group is None or cell.names.get(metric.by) == cell.group
        seen.add((measure.record, metric.name))
    assert len(seen) > 30


def test_every_metric_that_cites_a_table_has_a_published_number():
    compared = {
        (id(TASKS[c.task].measure.counted), cell.metric)
        for _, cell, c in COMPARED
        if c.task in TASKS
    }
    for task in TASKS.values():
        if task.paper in PAPERS and task.measure is not None:
            for metric in task.measure.metrics:
                assert metric.cell is None or (id(task.measure.counted), metric.name) in compared, (
                    task.name,
                    metric.name,
                )


# ---- The reader


FILE = {
    "paper": "A paper",
    "models": {"M": None},
    "axes": {"color": {"red": "Red", "blue": "Blue"}},
    "tables": {
        "Table 1": {
            "axes": ["color"],
            "numbers": {"mean": {"unit": "score"}, "p": {"unit": "p"}, "stars": None},
            "values": {"M": {"blue": [1, "<.05", "*"], "red": {"mean": 3}}},
        }
    },
}


def test_values_are_named_by_mappings_or_by_their_order():
    (table,) = tables_of(FILE)
    shown = [(c.names["color"], c.number, c.value, c.printed) for c in table.cells]
    numbered = [("blue", "mean", 1, None), ("blue", "p", 0.05, "<.05"), ("red", "mean", 3, None)]
    assert shown == numbered and table.models == {"M": "M"}
