"""docs/explanation/answers.md and empathy.md: their examples are read as the pages say."""

import re
from collections import Counter
from pathlib import Path

import pytest
from score import FILTERS, answer_of, cases, expected

from lm_eval_bias.answers.intensity import intensity, papers_intensity
from lm_eval_bias.answers.text import UNPARSED

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = (ROOT / "docs/explanation/answers.md").read_text()
EMPATHY = (ROOT / "docs/explanation/empathy.md").read_text()
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


def section(heading, page=PAGE):
    return page.split(f" {heading}\n", 1)[1].split("\n#", 1)[0]


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


def is_example(case, shown_text):
    """Whether the page shows this case; its text may end with "…"."""
    text, start = case["text"].strip(), text_in(shown_text)
    same = text.startswith(start[:-1]) if start.endswith("…") else text == start
    return same and case.get("scale", 100) == 100


EXAMPLES = [
    (reader, *example)
    for heading, reader in HEADINGS.items()
    for example in re.findall(r"^- `(.+)` → (.+)$", section(heading), re.M)
]


@pytest.mark.parametrize("reader, text, read", EXAMPLES, ids=[e[1] for e in EXAMPLES])
def test_an_example_is_a_case_and_is_read_as_the_page_says(reader, text, read):
    examples = [c for p in HERE.glob(f"{reader}*.yaml") for c in cases(p) if is_example(c, text)]
    assert examples
    for case in examples:
        assert shown(expected(case), case) == read
        assert shown(answer_of(reader, case), case) == read


@pytest.mark.parametrize("heading", [heading for heading in HEADINGS if heading != "Refusals"])
def test_the_form_that_is_asked_for_is_in_form(heading):
    reader = FILTERS[HEADINGS[heading]]()
    (text,) = re.findall(r"^Form: .*?`(.+?)`", section(heading), re.M)
    document = {**QUESTION, "scale": 100, "narrative": ""}
    assert reader.in_form([text_in(text), text_in(text) + " I think"], document) == [True, False]


def test_files_of_invented_answers_say_so_and_recorded_ones_do_not():
    invented = [*HERE.glob("*.yaml"), *HERE.glob("heldout/*.yaml")]
    recorded = HERE.glob("transcripts/*.yaml")
    assert [p.name for p in invented if not p.read_text().startswith(INVENTED)] == []
    assert [p.name for p in recorded if p.read_text().startswith(INVENTED)] == []


def test_the_ranks_on_the_page_of_the_empathy_gap_are_those_of_the_reader():
    """Its examples, ratings that contradict each other, the narrative's numbers, a scale to 10."""
    rows = re.findall(r"^- `(.+)` → (\d+)$", section("How an answer is read", EMPATHY), re.M)
    assert len(rows) == 6
    assert [intensity(text_in(text), 100) for text, _ in rows] == [float(n) for _, n in rows]
    for text in ("Rating: 80.⏎Rating: 60.", "Rating: 80⏎60", "80⏎⏎My rating: 60."):
        assert intensity(text_in(text), 100) == UNPARSED
    assert intensity("I'd say 45", 100, "I waited 45 minutes") == 45
    assert intensity("45 minutes", 100, "I waited 45 minutes") == UNPARSED
    to_10 = {"85": UNPARSED, "85%": 8.5, "85/100": 8.5}
    assert {text: intensity(text, 10) for text in to_10} == to_10
    assert all(f"`{text}`" in EMPATHY for text in ("Rating: 80⏎60", "85", "85%"))


def test_the_authors_program_reads_the_first_whole_number_or_else_the_second():
    """By hand, as extract_numbers in their process_exp_results.py goes."""
    texts = ("80 of 100", "In 1999 it was 80.", "In 1999 and 2000 it was 80.", "007", "150")
    assert [papers_intensity(text) for text in texts] == [80, 80, UNPARSED, 7, UNPARSED]
    assert papers_intensity("9" * 400 + " 80") == 80
