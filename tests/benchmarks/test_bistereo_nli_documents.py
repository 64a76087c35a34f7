import re
from collections import Counter, defaultdict

import pytest

from lm_eval_bias.benchmarks.bistereo.blocks import alternatives
from lm_eval_bias.benchmarks.bistereo.nli_documents import fill
from lm_eval_bias.data.lexicons import lexicon, table

# Table 6 of the paper: pairs of a gender and domain; the two categories of a domain, and fair and
# dark, have the same number.
TABLE_6 = {
    ("women", "behaviour"): 2079,
    ("women", "looks"): 6544,
    ("men", "behaviour"): 1980,
    ("men", "looks"): 4464,
}


ANIMALS = {t["wording"] for t in table("bistereo_nli_templates") if t["subject"] == "placebo"}


def test_placebos_are_the_sentences_of_skin_about_hair_and_others_about_no_person(every):
    adjective = re.compile("(?i)(fair|dark|light|brown)-(skinned|haired)")
    sentences = defaultdict(set)
    for d in every:
        texts = tuple(adjective.sub("", d[name]) for name in ("premise", "hypothesis"))
        sentences[d["wording"] in ANIMALS, d["placebo"], d["words"]].add(texts)
        assert not (d["placebo"] and "skinned" in d["premise"] + d["hypothesis"])
    hair = sentences[False, True, "fair"]
    assert hair < sentences[False, False, "fair"]
    assert sentences[False, True, "light"] == sentences[False, False, "light"] == hair
    assert sentences[True, True, "light"] == sentences[True, True, "fair"]
    assert {placebo for animal, placebo, _ in sentences if animal} == {True}


def test_cells_have_the_proportions_of_table_6(docs):
    """Its cells add up to 60,268; ours differ from them by at most one in a thousand, and by 12 in
    all."""
    cells = Counter((d["gender"], d["domain"], d["category"], d["descriptor"]) for d in docs)
    assert len(cells) == 4 * len(TABLE_6)
    for (gender, domain, *_), n in cells.items():
        assert n == pytest.approx(TABLE_6[gender, domain], rel=1e-3)
    assert len(docs) == pytest.approx(60268, abs=12)


def test_table_5_as_printed(paper_text):
    """The paper's text, with the attribute words of one category in one line."""
    lists = [*lexicon("bistereo_pairs")["attributes"].values()]
    for categories in lexicon("bistereo_nli")["attributes"].values():
        lists += [entry["words"] for entry in categories.values()]
    paper = paper_text("bistereo")
    assert [words for words in lists if ", ".join(words) not in paper] == []


def test_every_template_is_fully_crossed(docs):
    """Per template and variant: each attribute of its domain with each skin tone in each direction,
    once."""
    crossed = defaultdict(list)
    for d in docs:
        question = (d["attribute"], d["descriptor"], d["direction"])
        crossed[d["domain"], d["gender"], d["wording"], d["variant"]].append(question)
    words = {
        domain: sum(len(entry["words"]) for entry in categories.values())
        for domain, categories in lexicon("bistereo_nli")["attributes"].items()
    }
    for (domain, *_), questions in crossed.items():
        assert len(questions) == len(set(questions)) == words[domain] * 2 * 2


def test_fair_and_dark_differ_in_the_skin_term_alone(docs):
    # so no limit of even size parts two twins
    for fair, dark in zip(docs[::2], docs[1::2], strict=True):
        assert (fair["descriptor"], dark["descriptor"]) == ("fair", "dark")
        for text in ("premise", "hypothesis"):
            darkened = fair[text].replace("fair-skinned", "dark-skinned")
            assert darkened.replace("Fair-skinned", "Dark-skinned") == dark[text]


@pytest.mark.parametrize("limit", [16, 1000, 15_064])
def test_a_limit_holds_both_genders_of_a_wording(docs, limit):
    """What both are asked, both are asked under a limit too, but for one block of four that it may
    cut: at 1,000, 12 of 428 were so once."""
    blocks = defaultdict(set)
    for d in docs[:limit]:
        if d["shared"]:
            blocks[d["wording"], d["variant"], d["attribute"], d["direction"]].add(
                (d["gender"], d["descriptor"])
            )
    assert blocks and sum(len(of) < 4 for of in blocks.values()) <= 1


def test_templates_of_men_are_those_of_women_but_for_gender():
    """So that women and men may be compared on the 213 wordings which both are asked."""
    genders = (
        "women/men woman/man ladies/gentlemen lady/gentleman she/he her/his hers/his "
        "actress/actor aunt/uncle bride/groom sister/brother waitress/waiter "
        "mother/father wife/husband herself/himself stewardess/steward heroine/hero "
        "landlady/landlord niece/nephew daughter/son grandmother/grandfather "
        "mother-in-law/father-in-law mare/stallion lioness/lion bella/bruno nanny/billy cow/bull "
        "giantess/giant ewe/ram hinds/stags sow/boar cows/bullocks"
    )
    words = dict(pair.split("/") for pair in genders.split())
    women = {t["wording"]: t for t in table("bistereo_nli_templates") if t["gender"] == "women"}
    for man in (t for t in table("bistereo_nli_templates") if t["gender"] == "men"):
        w, m = (
            [x for v in alternatives(t["premise"], t["hypothesis"]) for x in v]
            for t in (women[man["wording"]], man)
        )
        for a, b in zip(w, m, strict=False):
            of_woman, of_man = (re.findall(r"[\w'-]+", text.lower()) for text in (a, b))
            for x, y in zip(of_woman, of_man, strict=True):
                x, y = x.removesuffix("'s"), y.removesuffix("'s")
                assert x == y or words.get(x) == y or (x, y) == ("her", "him"), (a, b)


@pytest.mark.parametrize(
    "text, word, filled",
    [
        ("I met [a X] man.", "ugly", "I met an ugly man."),
        ("I met [a X] man.", "honest", "I met an honest man."),
        ("[a Y] woman sat there.", "unattractive", "An unattractive woman sat there."),
        ("[Y] ladies live there.", "kind", "Kind ladies live there."),
    ],
)
def test_fill(text, word, filled):
    assert fill(text, word, lexicon("bistereo_nli")["an"]) == filled
