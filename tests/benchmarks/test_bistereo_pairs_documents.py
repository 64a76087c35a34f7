import re
from collections import Counter, defaultdict

import pytest

from lm_eval_bias.benchmarks.bistereo.pairs_documents import GENDERS, fill, skeleton, variants
from lm_eval_bias.data.lexicons import lexicon

# Table 3 of the paper: pairs of women and of men, of positive context; of negative context there
# are as many.
TABLE_3 = {"skin": (3447, 3350), "shape": (4708, 2378), "height": (3446, 3349)}
# Appendix F.1; which of two is the desirable one, section 3.1 leaves to studies of stereotypes.
DESCRIPTORS = {
    "skin": [("fair-skinned", "dark-skinned")],
    "shape": [("thin", "fat"), ("underweight", "overweight")],
    "height": [("tall", "short")],
}


# ---- The design


def test_placebos_say_the_words_of_each_pair_and_are_crossed_as_it_is(every):
    """ "Fair" and "dark" of hair and things, "thin" of books; with all attributes, and
    without neutral pairs, which they do not need."""
    attributes = Counter(d["attribute"] for d in every if d["placebo"])
    assert len(attributes) == 14 and len(set(attributes.values())) == 1
    words = {d["words"]: d for d in every if d["placebo"]}
    assert set(words) == {d["words"] for d in every if not d["placebo"]}
    for d in every:
        assert not (d["placebo"] and (d["paper"] or d["gender"]))
        bodies = re.search(r"\b(wo)?m[ae]n\b|skinned", d["desirable_sentence"])
        assert not (d["placebo"] and bodies), d
        assert d["desirable"].split("-")[0] == d["words"].split("-")[0]


def test_cells_of_positive_and_negative_context_are_those_of_table_3(docs):
    """44,080 pairs there; ours differ by 4 in a cell at most. Full crossing gives a neutral pair
    for each 14 others, in the paper each 11 to 16."""
    cells = Counter((d["axis"], d["gender"], d["sentiment"]) for d in docs)
    for axis, numbers in TABLE_3.items():
        for gender, n in zip(GENDERS, numbers, strict=True):
            good, bad, neutral = (
                cells[axis, gender, x] for x in ("positive", "negative", "neutral")
            )
            assert 7 * neutral == good == bad == pytest.approx(n, abs=4)
    assert len(docs) == 44295


def test_every_variant_is_fully_crossed(docs):
    """Per wording, variant, gender and descriptor pair: each attribute once, and the neutral pair
    once."""
    attributes = lexicon("bistereo_pairs")["attributes"]
    words = [("neutral", ""), *((s, w) for s, of in attributes.items() for w in of)]
    crossed, pairs = defaultdict(list), defaultdict(set)
    for d in docs:
        place = d["axis"], d["wording"], d["variant"], d["gender"]
        pair = d["desirable"], d["undesirable"]
        crossed[place, pair].append((d["sentiment"], d["attribute"] or ""))
        pairs[place].add(pair)
    assert all(sorted(of) == sorted(words) for of in crossed.values())
    assert all(of == set(DESCRIPTORS[axis]) for (axis, *_), of in pairs.items())


# ---- The sentences


def tokens(text):
    return re.findall(r"[\w'’-]+|[^\w\s]", text)


def test_the_two_sentences_of_a_pair_differ_in_the_descriptor_alone(every):
    for d in every:
        one, other = tokens(d["desirable_sentence"]), tokens(d["undesirable_sentence"])
        ((a, b),) = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
        assert (a.lower(), b.lower()) == (d["desirable"], d["undesirable"]), d
        assert a[0].isupper() == b[0].isupper()


def test_the_attribute_stands_in_a_sentence_once_and_in_neutral_ones_there_is_none(every):
    attributes = {w for words in lexicon("bistereo_pairs")["attributes"].values() for w in words}
    for d in every:
        words = [w for w in tokens(d["desirable_sentence"].lower()) if w in attributes]
        assert words == ([d["attribute"]] if d["attribute"] else []), d


def test_sentences_are_written_out_and_well_formed(every):
    articles = re.compile(
        r"\ba (?=attractive|ugly|awful-|unattractive|underweight|overweight)"
        r"|\ban (?=good-|gorgeous|charming|sexy|cute|charismatic|hideous|"
        r"nasty|horrible|disgusting|thin|fat|fair|dark|light|brown|tall|short)",
        re.I,
    )
    for d in every:
        for sentence in (d["desirable_sentence"], d["undesirable_sentence"]):
            assert not re.search(
                r"[\[\]<>{}|]|  | [.,;:!?]|,[,.]|\b(?:and|or),|\b(and) \1\b", sentence
            ), sentence
            assert sentence[0].isupper() or not sentence[0].isalpha(), sentence
            assert sentence[-1] in '.!?"”', sentence
            assert not articles.search(sentence), sentence


# ---- The order


def test_under_any_limit_every_pair_has_the_neutral_one_that_calibrates_it(docs):
    neutral = set()
    for d in docs:
        place = d["wording"], d["variant"], d["gender"], d["desirable"]
        if d["attribute"] is None:
            neutral.add(place)
        assert place in neutral


# ---- The text of a template


@pytest.mark.parametrize(
    "text, gender, attribute, sentence",
    [
        ("I saw [a] <[A] >[B] [woman/man].", 0, "ugly", "I saw an ugly tall woman."),
        ("I saw [a] <[A] >[B] [woman/man].", 1, None, "I saw a tall man."),
        ("[She/He] was [B]< and [A]>.", 0, "nasty", "She was tall and nasty."),
        ("<[A], >[B] [women/men] sat there .", 0, None, "Tall women sat there."),
        (
            "[her/his] boss, <[a] [A] person, >is [B].",
            1,
            "ugly",
            "His boss, an ugly person, is tall.",
        ),
        ("“[the/the] [B] one<, [A],> left.”", 1, None, "“The tall one left.”"),
    ],
)
def test_fill(text, gender, attribute, sentence):
    (only,) = variants(text)
    open_text = skeleton(only, gender, attribute is not None)
    assert fill(open_text, "tall", attribute, ("ugly",)) == sentence


@pytest.mark.parametrize(
    "text, problem",
    [
        ("<[A] >[woman/man].", r"expected one \[B\], where the descriptor stands, found 0"),
        ("[B] <[A] >[B].", r"expected one \[B\].* found 2"),
        ("[B] <[A]> <[A]>.", r"expected one <...\[A\]...>"),
        ("<[A] [B]>.", "within <...>"),
        ("<[A]> [B] [C].", r"\[C\] is no slot"),
        ("<[A]> [B] {open.", "'{' does not belong"),
        ("[a] <[A] and >very [B] one.", r"\[a\] stands before neither"),
    ],
)
def test_a_text_that_is_no_template_says_why(text, problem):
    with pytest.raises(ValueError, match=problem):
        variants(text)
