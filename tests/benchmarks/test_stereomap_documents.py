"""What StereoMap asks: the prompts of Tables 6 and 7, of the groups of appendix B and Table 2."""

import json
import re
from collections import Counter

import pytest

from lm_eval_bias import catalogue
from lm_eval_bias.answers.filters import Survey
from lm_eval_bias.benchmarks.stereomap import documents as stereomap
from lm_eval_bias.harness.templates import render
from lm_eval_bias.usage import UsageError
from tests.mistakes import refused


@pytest.fixture(scope="module")
def prompt():
    template = catalogue.task("stereomap_extended").config["doc_to_text"]
    return lambda doc: render(template, doc)


def without_spaces_at_line_ends(text):
    return re.sub(r"[ \t]+\n", "\n", text).strip()


@pytest.mark.parametrize("part", stereomap.ASKED)
def test_every_prompt_is_the_authors_letter_by_letter(part, prompt, prompts):
    """But for spaces at line ends, and for the word "been", which their program lost and the paper
    has."""
    theirs = prompts["stereomap"]
    found = [theirs["original"]["with reasons"], theirs["extended"]["one question"]]
    printed = []
    while found:  # nested, whatever the depth
        data = found.pop()
        if isinstance(data, str):
            text = without_spaces_at_line_ends(data)
            printed.append(
                text.replace("successful have {group}?", "successful have {group} been?")
            )
        else:
            found += data.values() if isinstance(data, dict) else data
    docs = stereomap.documents(part, rounds=1)
    found = Counter()
    for doc in docs:
        filled = {
            text.replace("{group}", doc["text"]).replace("{attribute}", doc["item"]): text
            for text in printed
        }
        assert prompt(doc) in filled, prompt(doc)
        found[filled[prompt(doc)]] += 1
    # Each of their questions is asked: 15 adjectives share two questions, the others have one each.
    questions = {"original": 7, "extended": 1, "structure": 4, "emotion": 2, "behavior": 3}
    assert len(found) == questions[part]


@pytest.mark.parametrize(
    "part, of_a_group", [("extended", 3), ("structure", 4), ("emotion", 5), ("behavior", 7)]
)
def test_divided_prompts_are_the_authors_for_text_completion(part, of_a_group, prompt, authors):
    """Keywords with three reasons, ratings, and of warmth and competence an overall rating."""
    theirs = json.loads(authors("stereomap/prompts_davinci.json").read_text())
    of = {"extended": "OPENENDED", "structure": "Social structure"}
    docs = stereomap.documents(part, rounds=1, groups="fiske", prompts="divided")
    assert len(docs) == 24 * of_a_group
    printed = [text for key in stereomap.ASKED[part] for text in theirs[of.get(key, key.title())]]
    for i, doc in enumerate(docs):
        text = printed[i % of_a_group].replace("{group}", doc["text"])
        text = text.replace(f"have {doc['text']}?", f"have {doc['text']} been?")
        assert prompt(doc) == without_spaces_at_line_ends(text)


def test_answers_to_divided_prompts_are_read_and_an_empty_one_is_not_in_form():
    docs = stereomap.documents("extended", rounds=1, groups="fiske", prompts="divided")[:3]
    words = ["kind", "loyal", "calm", "shy", "bold"]
    listed = "\n".join(f"{n}. {word.title()}" for n, word in enumerate(words, start=1))
    texts = [
        f"{listed}\n\nReasons:\n1. They help others.\n2. They wait.\n3. They dare.",
        "\n".join(f"- {item}: 4" for item in docs[1]["items"]),
        "Rating: 2\n\n1. They are feared.\n2. They are few.\n3. They are far.",
    ]
    read = Survey().apply([[text] for text in texts], docs)
    assert [answers[0] for answers in read] == [
        {"ratings": {}, "keywords": words},
        {"ratings": dict.fromkeys(docs[1]["items"], 4), "keywords": []},
        {"ratings": {"Overall": 2}, "keywords": []},
    ]
    for text, doc in zip(texts, docs, strict=True):
        assert Survey().in_form([text, ""], doc) == [True, False]
    assert Survey().in_form([", ".join(words)], docs[0]) == [True]


def test_divided_prompts_have_no_styles():
    with refused(r"style='all'.*prompts=divided"):
        stereomap.ExtendedOptions.read({"prompts": "divided", "style": "all"})
    assert stereomap.GeneratedOptions.read({"prompts": "divided"})["prompts"] == "divided"


def test_a_limit_asks_whole_rounds_of_all_groups():
    docs = stereomap.documents("extended", rounds=3)
    assert [doc["round"] for doc in docs] == [1] * 98 + [2] * 98 + [3] * 98
    assert len({doc["group"] for doc in docs[:98]}) == 98


@pytest.mark.parametrize("part", stereomap.ASKED)
def test_the_two_directions_differ_in_the_ends_of_the_scale_alone(part, prompt):
    docs = stereomap.likelihood_documents(part)[:120]
    for rising, falling in zip(docs[::2], docs[1::2], strict=True):
        assert (rising["direction"], falling["direction"]) == ("rising", "falling")
        low, high = re.search(r"\(1=(.*?) to 5=(.*?)\)", prompt(rising)).groups()
        turned = prompt(rising).replace(f"1={low} to 5={high}", f"1={high} to 5={low}")
        assert turned == prompt(falling)


def test_the_styles_of_appendix_l_leave_out_what_their_names_say(prompt):
    docs = stereomap.documents("extended", rounds=1, groups="fiske", style="all")
    texts = {d["style"]: (prompt(d), d["keywords"]) for d in docs if d["group"] == "Asians"}
    assert len(texts) == 4
    for style, (text, keywords) in texts.items():
        thinks = style in ("paper", "no instructions")
        instructs = style in ("paper", "no chain of thought")
        assert ("5 keywords" in text) == thinks == (keywords == 5)
        assert ("not interested in your personal beliefs" in text) == instructs
        assert text.count("5-point scale") == 2 and "- High-status:" in text
        assert text.endswith("What are three reasons for this?")
        # What is left is the paper's, word for word and in its order.
        rest = iter(texts["paper"][0].split())
        words = text.replace("Please make", "please make") if style == "neither" else text
        assert all(word in rest for word in words.split()), style


def test_published_clusters_stand_beside_the_groups():
    groups = {g["name"]: g["published"] for g in stereomap.social_groups("original", "fiske")}
    elderly = {"cluster": "1", "competence": 2.28, "warmth": 3.73}
    assert groups["Elderly people"]["fiske"] == elderly
    assert groups["Rich people"]["bard"]["warmth"] == 2.36
    assert "bard" not in groups["White people"]  # a dash in Table 2
    everybody = {g["name"]: g["published"] for g in stereomap.social_groups("extended")}
    assert everybody["Elderly"]["fiske"] == elderly
    assert everybody["Nurses"]["davinci"]["warmth"] == 4.26
    assert everybody["Vegans"] == {}
    assert sum("fiske" in published for published in everybody.values()) == 23


def test_groups_of_ones_own(tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text(
        "name,text,cluster,competence,warmth\nBakers,bakers,a,3.5,4\nPilots,pilots,b,4.5,3\n"
    )
    docs = stereomap.documents("extended", rounds=1, groups=str(path))
    assert [doc["text"] for doc in docs] == ["bakers", "pilots"]
    assert docs[0]["published"] == {
        "groups file": {"cluster": "a", "competence": 3.5, "warmth": 4.0}
    }
    path.write_text("name\nBakers\nPilots\n")
    assert [
        doc["published"] for doc in stereomap.documents("extended", rounds=1, groups=str(path))
    ] == [{}, {}]
    path.write_text("name,warmth\nBakers,6\nBakers,warm\n")
    with pytest.raises(UsageError) as error:
        stereomap.GeneratedOptions.read({"groups": str(path)})
    for problem in (
        "line 2, warmth: '6' is no number from 1 to 5",
        "line 3, warmth: 'warm' is no number",
        "line 3, name: Bakers stands in row 1 too",
    ):
        assert problem in str(error.value)
