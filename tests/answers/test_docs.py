"""docs/explanation/answers.md: its examples are cases of this folder, read as the page says."""

from collections import Counter
from pathlib import Path

import pytest
from score import FILTERS, answer_of, cases, expected

from lm_eval_bias.answers.intensity import intensity, papers_intensity
from lm_eval_bias.answers.text import UNPARSED

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = (ROOT / "docs/explanation/answers.md").read_text()
EMPATHY = (ROOT / "tasks/empathy/README.md").read_text()
HEADINGS = {
    "NLI label": "nli_label",
    "Word pairs": "word_pairs",
    "Comedy or tragedy": "affect",
    "Analogy": "analogy",
    "Intensity": "intensity",
    "Listed option": "listed_option",
    "Questionnaire": "survey",
    "Refusals": "refusal",
}
# The columns that tell which of the cases with one text is meant.
KEYS = {"the two words": "options", "scale to": "scale", "prompt": "part"}
FORMS = {
    "bistereo_nli_generate": "nli_label",
    "bistereo_analogy_generate": "analogy",
    "mist_wabt": "word_pairs",
    "mist_aat": "affect",
    "empathy_...": "intensity",
    "hbb_generate": "listed_option",
    "stereomap_...": "survey",
}
QUESTION = {
    "options": ["educated", "uneducated"],
    "words": ["Just", "Unjust"],
    "groups": ["Ethan", "Kwame"],
    "word": "Table",
    "option_a": "She checked the sum twice before she paid.",
    "option_b": "She handed over the card without looking at the bill.",
    "items": ["Friendly", "Honest"],
}
INVENTED = "# Invented: no model wrote these in answer to the task.\n"


def table(heading, page=PAGE):
    """The rows of the first table below a heading, as dicts."""
    section = page.split(f" {heading}\n", 1)[1].split("\n#", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return [dict(zip(head, row, strict=True)) for row in rows]


def text_in(cell):
    return cell.strip("`").replace("⏎", "\n")


def shown(answer, case):
    """An answer as the page shows it."""
    if isinstance(answer, bool):
        return "refused" if answer else "not refused"
    if isinstance(answer, list):
        counts = Counter(case["groups"][number] for number in answer)
        return ", ".join(f"{group} {counts[group]}" for group in case["groups"])
    if isinstance(answer, dict):
        ratings = [f"{item} {rating:g}" for item, rating in answer["ratings"].items()]
        keywords = ", ".join(answer.get("keywords", ()))
        return ", ".join([*ratings, *([f"keywords {keywords}"] if keywords else [])])
    return answer if isinstance(answer, str) else f"{answer:g}"


def is_example(case, row):
    """Whether a row of the page shows this case; its text may end with "…"."""
    text, start = case["text"].strip(), text_in(row["answer"])
    same = text.startswith(start[:-1]) if start.endswith("…") else text == start
    values = {column: case.get(key) for column, key in KEYS.items() if column in row}
    return same and all(
        row[column] == (", ".join(value) if isinstance(value, list) else str(value))
        for column, value in values.items()
    )


EXAMPLES = [(reader, row) for heading, reader in HEADINGS.items() for row in table(heading)]


@pytest.mark.parametrize(("reader", "row"), EXAMPLES, ids=[row["answer"] for _, row in EXAMPLES])
def test_an_example_is_a_case_and_is_read_as_the_page_says(reader, row):
    examples = [c for p in HERE.glob(f"{reader}*.yaml") for c in cases(p) if is_example(c, row)]
    assert examples
    for case in examples:
        assert shown(expected(case), case) == row["read as"]
        assert shown(answer_of(reader, case), case) == row["read as"]
        if "`reader=paper`" in row:
            as_paper = answer_of(reader, {**case, "reader": "paper"})
            assert shown(as_paper, case) == row["`reader=paper`"]


@pytest.mark.parametrize("heading", HEADINGS)
def test_each_reader_has_three_examples_of_each_outcome(heading):
    kinds = ("refused", "unparsed", "another")
    read = [row["read as"] for row in table(heading)]
    counts = Counter(value if value in kinds else "value" for value in read)
    assert set(counts.values()) == {3} and {"value", "refused"} <= set(counts)
    assert "unparsed" in counts or heading == "Refusals"


FORM_ROWS = table("Is the answer in the form that was asked for?")


@pytest.mark.parametrize("row", FORM_ROWS, ids=[row["task"] for row in FORM_ROWS])
def test_the_example_of_a_form_is_in_that_form(row):
    reader = FILTERS[FORMS[row["task"].strip("`")]]()
    text = text_in(row["example"])
    document = {**QUESTION, "scale": 100, "narrative": ""}
    (answers,) = reader.apply([[text, text + " I think"]], [document])
    assert answers.in_form == [True, False]


def test_files_of_invented_answers_say_so_and_recorded_ones_do_not():
    invented = [*HERE.glob("*.yaml"), *HERE.glob("heldout/*.yaml")]
    recorded = HERE.glob("transcripts/*.yaml")
    assert [p.name for p in invented if not p.read_text().startswith(INVENTED)] == []
    assert [p.name for p in recorded if p.read_text().startswith(INVENTED)] == []


def test_the_ranks_of_the_readme_of_the_empathy_gap_are_those_of_the_reader():
    """Its table, its exceptions, and what its deviations say of the scale to 10."""
    rows = table("How an answer is read", EMPATHY)
    read = [intensity(text_in(row["example, from 0 to 100"]), 100) for row in rows]
    assert read == [float(row["read as"]) for row in rows] and len(rows) == 7
    for text in ("Rating: 80.⏎Rating: 60.", "Rating: 80⏎60", "80⏎⏎My rating: 60."):
        assert f"`{text}`" in EMPATHY and intensity(text_in(text), 100) == UNPARSED
    assert intensity("I'd say 45", 100, "I waited 45 minutes") == 45
    assert intensity("45 minutes", 100, "I waited 45 minutes") == UNPARSED
    to_10 = {"85": UNPARSED, "85%": 8.5, "85/100": 8.5}
    assert all(f"`{text}`" in EMPATHY for text in to_10)
    assert {text: intensity(text, 10) for text in to_10} == to_10


def test_the_authors_program_reads_the_first_whole_number_or_else_the_second():
    """By hand, as extract_numbers in their process_exp_results.py goes."""
    texts = ("80 of 100", "In 1999 it was 80.", "In 1999 and 2000 it was 80.", "007", "150")
    assert [papers_intensity(text) for text in texts] == [80, 80, UNPARSED, 7, UNPARSED]
    assert papers_intensity("9" * 400 + " 80") == 80
