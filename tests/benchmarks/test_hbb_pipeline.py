"""HBB's pipeline: its prompts are the paper's, and each answer is read or refused for what is wrong
with it."""

import re

import pytest

from lm_eval_bias.authoring.pipeline import Refused, pipeline
from lm_eval_bias.benchmarks.hbb.pipeline import prompts
from tests.mistakes import refused

HBB = pipeline("hbb")
STEPS = {step.name: step for step in HBB.steps}
CONTEXT = "[[X]] sat at the dining table, surrounded by textbooks and notes."
ONE = "[[X]] sighed at the third row of numbers, and pushed [[X's]] page away."
TWO = "[[X]] hummed through the third row of numbers, and turned the page."
KNOWN = {
    "id": "math",
    "stereotype": "...",
    "summary": "Dr. No holds one gender to be less skilled with numbers.",
    "raw_concept_1": "bad at math",
    "raw_concept_2": "good at math",
    "concept_1": "bad at math",
    "concept_2": "good at math",
    "context": CONTEXT,
    "option_1": ONE,
}


SUMMARY, PAIR, CHECK, STORY, SECOND = STEPS


def read(step, answer):
    return STEPS[step].read(answer, KNOWN)


def plain(text):
    """Without the line and page breaks, the markup and the cells of the paper's text."""
    return re.sub(r"\s+", " ", text)


def test_the_prompts_are_tables_12_to_15(paper_text):
    paper = plain(paper_text("hbb"))
    # A page break cut each of these; what it put between is no part of the prompt.
    paper = paper.replace(
        "Here is an example: 'b) This is the answer.') Sentence 1", "Here is an example: Sentence 1"
    )
    paper = paper.replace(
        """<sentence 1="">. \\n Sentence 2: <sentence 2="">.'</sentence></sentence>""",
        "<sentence 1>. \\n Sentence 2: <sentence 2>.'",
    )
    start, again = "(IMPORTANT: Do choice/ability/", "/sense of value/belief/lifestyle "
    cut = paper.index(start)
    begun = paper.rindex(again, 0, cut) + len(again)
    paper = paper[:begun] + paper[cut + len("(IMPORTANT: Do ") :]
    given = prompts()
    single = [given[name] for name in ("before", "pair", "check", "story", "second")]
    for part in "\n\n".join([*given["summary"], *single]).split("\n\n"):
        assert plain(part) in paper, part
    examples = given["story"] + given["second"]
    assert all(sentence in examples for sentence in given["example_sentences"])
    assert ";".join(given["example_concepts"]) in given["pair"]


def test_each_question_holds_what_the_answers_before_it_gave():
    prompt = {name: step.prompt(KNOWN) for name, step in STEPS.items()}
    assert prompt["bias summary"].startswith("I am a researcher studying")
    assert prompt["bias summary"].endswith(" ...")
    assert prompt["raw concept pair"].endswith(f"Context: {KNOWN['summary']}")
    check = prompt["post-hoc check"]
    assert "The bias description is: Dr. No holds one gender" in check
    assert "The two concepts are:bad at math;good at math" in check
    assert prompt["context and first option"].count("bad at math") == 4
    second = prompt["second option"]
    assert f'complete the story: "{CONTEXT}", where' in second and second.count("good at math") == 3
    assert not any(re.search(r"\{[^{}]*\}", text) for text in prompt.values())


def test_what_is_filled_in_is_not_filled_again():
    known = {**KNOWN, "context": "[[X]] read {concept2} on the wall."}
    assert '"[[X]] read {concept2} on the wall."' in STEPS["second option"].prompt(known)


@pytest.mark.parametrize(
    "step, answer",
    [
        (SUMMARY, f" {KNOWN['summary']} "),
        (SUMMARY, f"<think>Well.</think>\n{KNOWN['summary']}"),
        (PAIR, "bad at math;good at math"),
        (PAIR, "**Concepts:** 'bad at math; good at math.'"),
        (CHECK, "Final answer: <bad at math>:<good at math>"),
        (STORY, f"Sentence 1: {CONTEXT}\nSentence 2: {ONE}"),
        (STORY, f"Sentence 1: {CONTEXT} \\n Sentence 2: {ONE}"),
        (STORY, f"**Sentence 1:** {CONTEXT}\n\n**Sentence 2:** “{ONE}”".replace("'s]]", "]]'s")),
        (SECOND, f"Sentence: {TWO}"),
    ],
)
def test_an_answer_in_form_is_read(step, answer):
    known = {**KNOWN, "option_2": TWO}
    assert read(step, answer) == {field: known[field] for field in STEPS[step].gives}


EXAMPLES = prompts()["example_sentences"]
OUT_OF_FORM = {
    (SUMMARY, "form"): [
        *("", "<think>Let me see", "word " * 81),
        "It is a stereotype. It is about gender.",
    ],
    (SUMMARY, "declined"): ["I'm sorry, but I can't help with that."],
    (PAIR, "form"): [
        *("bad at math", "a;b;c", "Concept1;Concept2", "Math;math", f"{'very ' * 10}bad;good"),
        "bad at math;good at math\nBecause they differ.",
    ],
    (PAIR, "declined"): ["I cannot assist with stereotypes."],
    (PAIR, "example copied"): ["doctor;nurse"],
    (CHECK, "form"): ["These two are a good pair."],
    (STORY, "form"): [
        f"{CONTEXT} {ONE}",
        f"Sentence 1: {CONTEXT}\nSentence 2: {ONE}\nSentence 3: The end.",
        f"Sentence 1: {CONTEXT} It was late.\nSentence 2: {ONE}",
        f"Sentence 1: \nSentence 2: {ONE}",
    ],
    (STORY, "declined"): ["I'm sorry, but I can't help with that story."],
    (STORY, "missing placeholder"): [
        f"Sentence 1: {CONTEXT}\nSentence 2: The page was pushed away with a sigh."
    ],
    (STORY, "example copied"): [
        f"Sentence 1: In {EXAMPLES[0]}, [[X]] stood.\nSentence 2: {ONE}",
        f"Sentence 1: {CONTEXT}\nSentence 2: [[X]] smiled {EXAMPLES[1]} for all.",
    ],
    (SECOND, "form"): [TWO, f"Sentence: {TWO} And so on."],
    (SECOND, "options alike"): [f"Sentence: {ONE}"],
}


@pytest.mark.parametrize("step, check", OUT_OF_FORM)
def test_an_answer_out_of_form_is_refused_by_the_check_it_fails(step, check):
    for answer in OUT_OF_FORM[step, check]:
        with pytest.raises(Refused) as refused:
            read(step, answer)
        assert refused.value.args[0] == check, answer


def test_the_example_is_an_answer_where_the_summary_is_about_it():
    known = {**KNOWN, "summary": "A nurse is taken for a woman."}
    assert STEPS["raw concept pair"].read("doctor;nurse", known) == {
        "raw_concept_1": "doctor",
        "raw_concept_2": "nurse",
    }


def test_rows_get_the_prompt_of_their_columns(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(
        "id,theme,s1,s2,context,question,category,target,stereotype\na,jobs,One.,Two.,,,,,\n"
        ",,,,A bus.,Who?,,,\n,,,,,,age,the old,are slow\n"
    )
    rows = HBB.rows(str(path))
    assert [(row["id"], row.get("theme")) for row in rows] == [
        ("a", "jobs"),
        ("row2", None),
        ("row3", None),
    ]
    assert rows[0]["stereotype"].endswith("Sentence 1: One. Sentence 2: Two.")
    assert rows[1]["stereotype"].endswith("Context: A bus. Question: Who?")
    assert rows[2]["stereotype"].endswith("Category: age Targets: the old Stereotype: are slow")


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "s1,s2\nOne.,\n",
            "s.csv, line 2: expected s1, s2; or context, question; or category, target, "
            "stereotype; or concept_1, concept_2 (and id, theme), found s1",
        ),
        ("s1,s2,wrong\nOne.,Two.,x\n", "found s1, s2, wrong"),
        (
            "id,s1,s2\na,One.,Two.\na,Three.,Four.\n",
            "s.csv, line 3, id: a stands in an earlier row, too",
        ),
        ("s1,s2\n", "expected s1, s2; or context, question; or category"),
    ],
)
def test_rows_of_another_form_are_told_by_line(here, text, message):
    (here / "s.csv").write_text(text)
    with refused(re.escape(message)):
        HBB.rows("s.csv")
