"""StereoSet, by hand and on invented examples, and on the authors' data where they are at hand."""

import json
from collections import Counter
from math import inf, isnan, log, nan
from types import SimpleNamespace

import pytest
import yaml
from lm_eval_bias.metrics.context_association import icat, preferred
from overt_rows import KINDS, TERMS, kind_of, rows

from lm_eval_bias.benchmarks.stereoset import documents, measure
from lm_eval_bias.measure import summarise
from lm_eval_bias.results.verdict import unresponsive
from tests.mistakes import refused

JUDGED = (measure.LOG_ODDS, "responds")
CHOICE = measure.INTRASENTENCE_CHOICE


def record(term, *likelihoods, domain="work", longer=0):
    """Of stereotype, anti-stereotype and unrelated sentence, of one token each."""
    doc = {"example": term, "target": term, "bias_type": domain, "longer": longer, "choices": KINDS}
    return measure.record(doc, [(x, False, 1) for x in likelihoods])


def numbers(records, chosen=measure.SENTENCES, names=("icat", "lms", "ss"), **options):
    options = {"per": "token"} if chosen is measure.SENTENCES and not options else options
    values = summarise(chosen, records, options).values
    return [values[name].value for name in names]


def test_icat_is_lms_scaled_by_the_distance_to_one_side_and_a_comparison_may_be_a_tie():
    """80 min(60, 40) / 50 = 64. The first three are the paper's ideal, one-sided and random."""
    found = icat([100, 100, 50, 80, 80], [50, 0, 50, 60, 40])
    assert found == pytest.approx([100, 0, 50, 64, 64])
    one, other = [-1, -2, -inf, -inf, -1], [-2, -1, -inf, -1, -inf]
    near, there = [0.1 + 0.2, 1e-13, -100 - 1e-11, -5.0], [0.3, 0, -100, -5.000001]
    wins = [1, 0, 0.5, 0, 1, 0.5, 0.5, 0.5, 1]
    assert preferred(one + near, other + there).tolist() == wins


def test_the_judged_numbers_are_means_of_terms_of_finite_differences_and_need_sense():
    """Of the stereotype: (2 + 0.5) / 2 of a, -1 of b, mean 1/8. Sense: (1 + 3.25) / 2 of a, -3.5 of
    b: below 0, so nothing is told."""
    of_a, of_b = [(-1, -3, -3), (-1, -1.5, -4.5)], [(-5, -4, -1), (-inf, -1, -2)]
    records = [*(record("a", *each) for each in of_a), *(record("b", *each) for each in of_b)]
    values = summarise(measure.SENTENCES, records, {"per": "token"}).values
    assert [(values[name].value, values[name].n) for name in JUDGED] == [(0.125, 3), (-0.6875, 3)]
    run = SimpleNamespace(metric=measure.SENTENCES.metric, number=values.get)
    assert "the right one by -0.688 nats; 3 examples" in unresponsive(run)


def test_a_domain_has_its_own_terms_and_a_term_of_two_domains_counts_once_in_all():
    """As in the authors' program, which counts by term alone. new: in work the stereotype, in place
    the anti-stereotype: 50 in all."""
    records = [record("new", -1, -2, -3), record("new", -2, -1, -3, domain="place")]
    result = measure.SENTENCES.summary([*records, record("old", -1, -2, -3)], per="token")
    row_of = {row["bias_type"]: row for row in result.tables["categories"]}
    assert [row_of[name]["ss"] for name in ("work", "place", "all")] == [100, 0, 75]
    assert row_of["all"]["terms"] == 2 and result.groups["ss"]["work"].value == 100


def test_ties_count_half_and_are_told():
    """Where the authors' program has a strict comparison: it would have ss 0 and lms 0 for the
    second example. ss: (1 + 1/2 + 1 + 0) / 4; lms: (2 + 1 + 3/2 + 2) / 8."""
    scores = [(-1, -2, -3), (-1, -1, -1), (-1, -2, -2), (-2, -1, -3)]
    found = numbers([record("a", *each) for each in scores], names=("ties", "ss", "lms"))
    assert found == pytest.approx([50, 62.5, 81.25])


def test_what_has_no_usable_scores_is_counted_and_left_out():
    """Minus infinity is a score; a term without an answer is no term. Won against the unrelated
    one: 2, 1 and 0 of 2; stereotypes: 1, 0 and a tie."""
    likelihoods = [(-1, -2, -inf), (-inf, -1, -2), (nan, -1, -2), (inf, -1, -2), (-inf, -inf, -1)]
    records = [*(record("a", *each) for each in likelihoods), record("b", nan, nan, nan)]
    found = numbers(records, names=("examples", "unanswered", "lms", "ss"))
    assert found == pytest.approx([3, 50, 50, 50])
    assert numbers(records[-1:]) == pytest.approx([nan] * 3, nan_ok=True)


def test_the_standard_error_of_a_mean_over_terms_is_that_of_the_terms():
    """Twenty terms, half of them with ss 100 and half with 0: 50 / sqrt(19). All have lms 100."""
    records = [record(f"{t}", *((-1, -2, -3) if t % 2 else (-2, -1, -3))) for t in range(20)]
    values = measure.SENTENCES.summary(records, per="token").values
    assert values["ss"].stderr == pytest.approx(50 / 19**0.5) and values["lms"][:2] == (100, 0)


def test_a_model_that_likes_short_sentences_likes_nothing_else_by_token():
    """One nat a token: the means are equal, and the sum is the higher the shorter."""
    doc = {**dict.fromkeys(measure.KEYS, 1), "choices": KINDS}
    records = [measure.record(doc, [(-float(n), False, n) for n in (4, 5, 3)])]
    assert numbers(records) == [50, 50, 50] and numbers(records, per="sentence") == [0, 0, 100]
    assert numbers(records, names=JUDGED) == [0, 0]
    assert numbers(records, names=JUDGED, per="sentence") == [1, -1.5]


def test_the_prompt_is_that_of_hbb_with_a_third_option(root):
    first, text = (
        yaml.safe_load((root / "tasks" / name).read_text().replace("!function ", ""))["doc_to_text"]
        for name in ("hbb/hbb.yaml", "stereoset/stereoset_intrasentence_choice.yaml")
    )
    options = "".join(f"\n{letter}) {{{{option_{letter}}}}}" for letter in "abc")
    question = f"\n\nContext: {{{{context}}}}{options}\nFinal Answer:"
    assert text == first.split("\n\nContext: ")[0] + question


def test_every_sentence_stands_behind_every_letter_and_first_parts_have_the_domains_shares():
    docs = documents.intrasentence_choice(rows("intrasentence"))
    for letter in "abc":
        kinds = [KINDS[doc["letters"].index(letter)] for doc in docs]
        assert kinds == [kind_of(doc[f"option_{letter}"]) for doc in docs] and len(kinds) == 288
        assert sorted(kinds[:6]) == sorted(KINDS * 2)
    first = documents.intrasentence(rows("intrasentence"))[:12]
    assert Counter(d["bias_type"] for d in first) == {k: len(terms) for k, terms in TERMS.items()}
    assert len({d["target"] for d in first}) == 12


def test_rows_of_something_else_are_told():
    (row,) = rows("intrasentence", 1)[:1]
    numbered = {"sentence": [None, "b", "c"], "gold_label": [1, 0, 2]}
    for change, message in (
        ({"target": ""}, r"row 1: target: expected a text, found ''"),
        ({"sentences": []}, r"row 1: gold_label: .*stereotype.*once each, found \[\]"),
        ({"sentences": "BLANK"}, r"row 1: sentences: expected three, each with"),
        ({"sentences": {**numbered, "gold_label": [0, "x", 1]}}, r"found \[0, 'x', 1\]"),
        ({"sentences": numbered}, r"row 1: sentence: expected a text, found None"),
        ({"context": "No gap."}, r"with a gap \(BLANK\) in their contexts, found 0 of 1 with one"),
    ):
        with refused(message):
            documents.intrasentence([{**row, **change}])


def answers(preference, liking=(0.0, 0.0, 0.0)):
    """Records of a model: what it says of (kind, document), and how much it likes each letter."""

    def of_letters(doc):
        kind_at = dict(zip(doc["letters"], KINDS, strict=True))
        values = [preference(kind_at[x], doc) + y for x, y in zip("abc", liking, strict=True)]
        return [(value - 5, False) for value in values]

    docs = documents.intrasentence_choice(rows("intrasentence"))
    return [measure.choice_record(doc, of_letters(doc)) for doc in docs]


def sentence(kind, doc):
    return doc[f"option_{doc['letters'][KINDS.index(kind)]}"]


def alternating(kind, doc):
    """The stereotype in every other example, and the unrelated sentence never."""
    even = int(doc["example"].split("-")[-1]) % 2 == 0
    return {"stereotype": -0.1 * even, "anti-stereotype": 0.1 * even - 0.1, "unrelated": -0.3}[kind]


def test_a_liking_for_letters_falls_out_and_is_told():
    """Far greater than what the model thinks of the sentences, it adds the same to each over the
    orders. It chooses a every time, behind which each sentence stands in a third of the orders.
    P(a) = e^3 / (e^3 + e^-1 + e^.5) = 0.9088, less a third; e^-2 + e^-6 + e^-4.5 = 0.1489.

    Stereotypes are longer by 3, -4, 1 and 1. The alternating -0.1, 0.1, -0.1 and 0.1 have a slope
    of -0.7 / 26.75 on it, of which 0.25, the mean, is taken off. So a liking for length gives 0."""
    chosen = ("chosen_icat", "chosen_lms", "chosen_ss", "examples")
    for preference, expected in (
        (lambda kind, _: -0.1 * KINDS.index(kind), (0, 100, 100, 0.1, 0.15)),
        (alternating, (100, 100, 50, 0.25 * 0.7 / 26.75, 0.25)),
        (lambda *shown: 0.01 * len(sentence(*shown)), (9.375, 18.75, 75, 0, -0.02375)),
        (lambda kind, _: 0.1 * KINDS.index(kind), (0, 0, 0, -0.1, -0.15)),
        (lambda kind, _: 0.0, (50, 50, 50, 0, 0)),
    ):
        records = answers(preference, (3.0, -1.0, 0.5))
        found = numbers(records, CHOICE, ("icat", "lms", "ss", *JUDGED, *chosen))
        assert found == pytest.approx([*expected, 200 / 3, 200 / 3, 50, 48])
    found = numbers(records, CHOICE, ("letter_preference", "letter_mass"))
    assert found == pytest.approx([90.88 - 33.33, 14.89], abs=0.01)


def test_an_example_without_all_its_orders_is_left_out():
    """A limit of 15 cuts the third in two; two orders of every fourth have no number. An impossible
    letter is a preference; one that is certain in all orders is none."""
    counts = ("examples", "left_out", "unanswered", "lms", "ss", "ties")

    def broken(kind, doc):
        lost = doc["example"].endswith("-0") and doc["letters"][2] == "b" and kind == "unrelated"
        return nan if lost else -KINDS.index(kind)

    records = answers(broken)
    assert numbers(records, CHOICE, counts) == pytest.approx([36, 12, 100 * 2 / 24, 100, 100, 0])
    whole = answers(lambda kind, _: -KINDS.index(kind))
    assert numbers(whole[:15], CHOICE, counts[:3]) == [2, 1, 0]
    impossible = answers(lambda kind, _: 0.0 if kind == "stereotype" else -inf)
    assert numbers(impossible, CHOICE, counts[3:]) == [75, 100, 100]  # the other two are alike
    certain = numbers(answers(lambda *_: 0.0, (0.0, -inf, -inf)), CHOICE, counts)
    assert certain[:3] == [0, 48, 0] and all(map(isnan, certain[3:]))


def test_choices_are_counted_by_term():
    """a: of three choices two make sense, one of these the stereotype: lms 66.7, ss 50. b: one,
    unrelated: lms 0, no ss. Mean lms 33.3, ss 50 of the one term that has it, icat 33.3."""
    more = {"letters": list("abc"), "orders": 1, "letter_mass": 1.0}
    records = [
        {**record(term, *(-1 - 8 * (i != choice) for i in range(3))), "example": i, **more}
        for i, (term, choice) in enumerate((("a", 0), ("a", 1), ("a", 2), ("b", 2)))
    ]
    found = numbers(records, CHOICE, ("chosen_lms", "chosen_ss", "chosen_icat"))
    assert found == pytest.approx([100 / 3, 50, 100 / 3])


def test_the_authors_gpt2_has_the_authors_scores_on_race(authors):
    """Of their predictions, a number for each sentence, their evaluation.py makes lms 89.757, ss
    60.350 and icat 71.177."""
    names = ("dev_rebuilt", "predictions_gpt2")
    dev, gpt2 = (json.loads(authors(f"stereoset/{name}.json").read_text()) for name in names)
    race = [row for row in dev["data"]["intrasentence"] if row["bias_type"] == "race"]
    score = {one["id"]: one["score"] for one in gpt2["intrasentence"]}
    of_text = {
        (r["id"], s["sentence"].strip()): log(score[s["id"]]) for r in race for s in r["sentences"]
    }
    records = [
        measure.record(d, [(of_text[d["example"], s], False, None) for s in d["choices"]])
        for d in documents.intrasentence(race)
    ]
    found = [round(value, 3) for value in numbers(records, per="sentence")]
    assert found == [71.177, 89.757, 60.350] and len(records) == 962
